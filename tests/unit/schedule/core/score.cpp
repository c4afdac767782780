// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/score.hpp>

#include "schedule_laws.hpp"

using namespace motet;

namespace {
score one_voice(int stages, int microbatches) {
  score made;
  voice of;
  of.stages = stages;
  of.microbatches = microbatches;
  made.add(of, [](int stage) { return stage; });
  return made;
}
}  // namespace

TEST_CASE("a cue goes into a number and back, up to the largest") {
  laws::dice draw(1);
  score made;
  made.rank();
  std::vector<std::array<int, 4>> put;
  for (int i = 0; i < 500; ++i) {
    const bool extreme = i < 2;
    const int what = i % 6, v = extreme ? static_cast<int>(most_voices) - 1 : draw.below(most_voices),
              s = extreme ? (1 << 20) - 1 : draw.below(1 << 20),
              m = extreme ? (1 << 20) - 1 : draw.below(1 << 20);
    made.play(static_cast<op>(what), v, s, m);
    put.push_back({what, v, s, m});
  }
  for (int i = 0; i < 500; ++i) {
    const cue it = made[i];
    CHECK(std::array<int, 4>{static_cast<int>(it.what), it.voice, it.stage, it.microbatch} ==
          put[static_cast<std::size_t>(i)]);
    CHECK_FALSE(it.paired);
    CHECK_FALSE(it.aside);
  }
}

TEST_CASE("what is negative is no cue that anyone could play") {
  for (const std::array<int, 3> where : {std::array{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}) {
    score made = one_voice(1, 1);
    made.rank();
    made.play(op::forward, where[0], where[1], where[2]);
    CHECK(prove(made).why == reason::not_its_stage);
  }
}

TEST_CASE("pairs, joins and joins aside") {
  score made = one_voice(2, 4);
  made.rank();
  made.play_pair(op::forward, 0, 2, op::backward, 1, 3);
  made.join(5, 6);
  made.join(7, 8, true);
  CHECK(made[0].paired);
  CHECK(made[0].what == op::forward);
  CHECK_FALSE(made[1].paired);
  CHECK((made[1].what == op::backward && made[1].stage == 1 && made[1].microbatch == 3));
  CHECK((made[2].what == op::join && made[2].voice == 5 && made[2].microbatch == 6 && !made[2].aside));
  CHECK((made[3].what == op::join && made[3].voice == 7 && made[3].microbatch == 8 && made[3].aside));
  made.pair_with_next();
  CHECK(made[3].paired);
}

TEST_CASE("voices get their places and cells one behind the other") {
  score made;
  voice of;
  of.stages = 3;
  of.microbatches = 4;
  CHECK(made.add(of, [](int stage) { return 2 - stage; }) == 0);
  of.stages = 2;
  of.join = 1;
  CHECK(made.add(of, [](int stage) { return 5 + stage; }) == 1);
  CHECK(made.voices()[1].first_place == 3);
  CHECK(made.voices()[1].first_cell == 12);
  CHECK(made.cells() == 20);
  CHECK(made.joins() == 2);
  CHECK(made.places() == list<std::int32_t>{2, 1, 0, 5, 6});
  CHECK(made.place(made.voices()[1], 1) == 6);
}

TEST_CASE("ranks begin where rank() was called") {
  score made = one_voice(2, 2);
  CHECK(made.ranks() == 0);
  made.rank();
  made.play(op::forward, 0, 0, 0);
  made.play(op::forward, 0, 0, 1);
  made.rank();
  made.rank();
  made.play(op::backward, 0, 1, 0);
  CHECK(made.ranks() == 3);
  CHECK(made.begin_of(0) == 0);
  CHECK(made.end_of(0) == 2);
  CHECK(made.begin_of(1) == made.end_of(1));
  CHECK(made.end_of(2) == 3);
  score same = made;
  CHECK(same == made);
  same.pair_with_next();
  CHECK_FALSE(same == made);
}
