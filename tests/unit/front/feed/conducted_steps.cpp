// SPDX-License-Identifier: Apache-2.0
// labels: threads
// Whatever score a conductor picks for a step, a plan learns what it learns by one.
#include <motet/front/feed/conducted_steps.hpp>

#include "deviation.hpp"
#include "unit/plan/last_first.hpp"
#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <thread>

using namespace motet;

namespace {

using fed_speech = small_fed_speech<>;
constexpr motet::isize samples = 12;

// Texts, some with several pictures and some with none, in another mixture in each step.
struct fed_text {
  small_seen_text data;
  std::vector<motet::isize> rows;
  explicit fed_text(std::uint64_t seed) : data(samples, seed) {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  }
  fed_speech::batch get() const {
    const pictured_tokens all = data.get();
    return {seen_pictures{all.seen, samples, all.picture_offsets},
            placed_tokens{all, rows.data(), all.places}};
  }
};
launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}
// The language model has two stages behind the eye's rank, and six microbatches.
plan apart(const char* schedule, int eye_data = 1) {
  plan out;
  out.cluster.ranks = 2 + eye_data;
  out.schedule = schedule;
  for (const char* const name : {"eye", "glue", "talk"}) {
    const bool last = name[0] == 't';
    out.modules.push(on_ranks(name, last ? eye_data : 0,
                              last ? degrees{.stages = 2} : degrees{.data = eye_data},
                              last || eye_data == 1 ? 6 : 3));
    out.modules[out.modules.size() - 1].group = 1;
  }
  return out;
}

struct seen {
  std::vector<double> losses, norms;
  std::vector<float> weights;
  std::vector<std::int32_t> played;
};
template <class Step>
seen steps_of(trainer<fed_speech>& train, std::uint64_t count, Step&& step) {
  seen out;
  std::vector<fed_text> data;
  for (std::uint64_t k = 0; k <= count; ++k) data.emplace_back(1 + k);
  for (std::size_t k = 0; k < count; ++k) {
    const step_result found = step(data[k].get(), data[k + 1].get());
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
    out.played.push_back(found.score);
  }
  out.weights = train.weights();
  return out;
}
seen conducted(const launched_world& world, const plan& how, const conduct_options& by, std::uint64_t count,
               bool expects = false) {
  trainer<fed_speech> train(world, how, {.batch = samples, .conduct = true});
  conducted_steps steps(train, samples, by);
  return steps_of(train, count, [&](const auto& batch, const auto& next) {
    if (expects) steps.expect(next);
    const step_result done = steps.step(batch, 1e-3);
    CHECK(steps.told().score == done.score);
    return done;
  });
}
std::size_t different(const std::vector<std::int32_t>& played) {
  return std::set(played.begin(), played.end()).size();
}
// Picks by nothing but the rows of a step.
std::int32_t by_rows(const coming_step& next) {
  double rows = 0;
  for (const double each : next.of.rows) rows += each;
  return static_cast<std::int32_t>(static_cast<motet::isize>(rows) % next.scores.size());
}

}  // namespace

TEST_CASE("whatever scores a conductor picks, losses, gradients and weights are those of one rank") {
  const launched_world world = alone();
  trainer<fed_speech> one(world, {.batch = samples});
  const seen want = steps_of(one, 6, [&](const auto& batch, const auto&) { return one.step(batch, 1e-3); });
  const conduct_options all[] = {
      {.by = by_rows, .every = 1}, {.by = shortest_by_simulation{.margin = 0}, .every = 0}, {}};
  for (const plan& how : {apart("1f1b"), apart("gpipe", 2)})
    for (const conduct_options& by : all) {
      CAPTURE(&by - all);
      const seen got = conducted(world, how, by, 6, &by != all);
      if (&by == all) CHECK(different(got.played) > 1);
      CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
      CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
      CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
    }
}

TEST_CASE("scores and orders are found together, and losses, gradients and weights are those of one rank") {
  const launched_world world = alone();
  trainer<fed_speech> one(world, {.batch = samples});
  const seen want = steps_of(one, 6, [&](const auto& batch, const auto&) { return one.step(batch, 1e-3); });
  trainer<fed_speech> train(world, apart("1f1b"), {.batch = samples, .conduct = true});
  conducted_steps steps(train, samples, {.by = by_rows, .every = 1, .orders = {}});
  int ordered = 0;
  const seen got = steps_of(train, 6, [&](const auto& batch, const auto& next) {
    steps.expect(next);
    const step_result done = steps.step(batch, 1e-3);
    CHECK(steps.told().score == done.score);
    CHECK(steps.ordered().seconds == steps.told().seconds);
    ordered += steps.ordered().seconds < steps.ordered().listed_seconds ? 1 : 0;
    return done;
  });
  CHECK(different(got.played) > 1);
  CHECK(ordered > 1);
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}

TEST_CASE("the score of an expected batch is picked beside the step before it, and is the same score") {
  const launched_world world = alone();
  const conduct_options counted{.by = by_rows, .every = 0};
  const seen now = conducted(world, apart("1f1b"), counted, 4),
             ahead = conducted(world, apart("1f1b"), counted, 4, true);
  CHECK(now.played == ahead.played);
  CHECK(now.losses == ahead.losses);
  CHECK(now.weights == ahead.weights);

  struct asked {
    std::thread::id who;
    std::int32_t playing;
  };
  std::vector<asked> heard;
  trainer<fed_speech> train(world, apart("1f1b"), {.batch = samples, .conduct = true});
  conducted_steps steps(train, samples, {.by = [&](const coming_step& next) {
                          heard.push_back({std::this_thread::get_id(), next.playing});
                          return static_cast<std::int32_t>(heard.size() % 2);
                        }});
  const fed_text first(1), second(2), third(3);
  steps.expect(second.get());
  steps.step(first.get(), 1e-3);
  steps.expect(first.get());
  steps.step(second.get(), 1e-3);
  // Another batch came than was expected: its score is picked when it is there.
  steps.step(third.get(), 1e-3);
  const auto here = std::this_thread::get_id();
  REQUIRE(heard.size() == 4);
  CHECK(heard[0].who == here);
  CHECK(heard[1].who != here);
  CHECK(heard[2].who != here);
  CHECK(heard[3].who == here);
  // Each was told what played before it.
  CHECK(heard[0].playing == 0);
  CHECK(heard[1].playing == 1);
  CHECK(heard[2].playing == 0);
  CHECK(heard[3].playing == 0);
}

TEST_CASE("a trainer names its scores, and a plan with one is played by that one") {
  const launched_world world = alone();
  trainer<fed_speech> several(world, apart("1f1b"), {.batch = samples, .conduct = true});
  CHECK(several.scores().names.front() == "1f1b");
  CHECK(several.scores().names.size() > 1);
  CHECK(several.order(1).voices.size() == several.order().voices.size());
  trainer<fed_speech> single(world, apart("1f1b"), {.batch = samples});
  CHECK(single.scores().names == std::vector<std::string>{"1f1b"});
  conducted_steps steps(single, samples, {.by = [](const coming_step&) { return 7; }});
  const fed_text data(1);
  CHECK(steps.step(data.get(), 1e-3).score == 0);
  // Several, and a conductor that picks none of them.
  conducted_steps wrong(several, samples, {.by = [](const coming_step&) { return 7; }});
  CHECK_THROWS_WITH_AS(wrong.step(data.get(), 1e-3), doctest::Contains("score 7 was picked, there are"),
                       error);
}

TEST_CASE("a schedule of a program's own takes turns with the plan's, or is refused with why") {
  const launched_world world = alone();
  trainer<fed_speech> one(world, {.batch = samples});
  const seen want = steps_of(one, 3, [&](const auto& batch, const auto&) { return one.step(batch, 1e-3); });
  trainer<fed_speech> train(world, apart("1f1b"), {.batch = samples, .own_scores = {last_first<>{}}});
  CHECK(train.scores().names[1] == "last_first");
  CHECK(train.scores().names.size() > 2);
  // It plays the first and the third step.
  conducted_steps steps(train, samples, {.by = [](const coming_step& next) { return 1 - next.playing; }});
  const seen got =
      steps_of(train, 3, [&](const auto& batch, const auto&) { return steps.step(batch, 1e-3); });
  CHECK(got.played == std::vector<std::int32_t>{1, 0, 1});
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
  const auto refused = [&](const named_schedule& given, const char* what) {
    CHECK_THROWS_WITH_AS(
        (trainer<fed_speech>(world, apart("1f1b"), {.batch = samples, .own_scores = {given}})),
        doctest::Contains(what), error);
  };
  refused(last_first<flaw::turned>{}, "last_first: voice 2 has 2 as the rank of a stage, wanted 1");
  refused(last_first<flaw::turned>{}, "[MT-R75]");
  refused(last_first<flaw::losses>{}, "talk: last_first writes 6 losses of its own, wanted 0");
}

TEST_CASE("where ranks may hold so many bytes, scores that may want more stay out") {
  const launched_world world = alone();
  const auto with = [&](motet::isize most) {
    return trainer<fed_speech>(world, apart("1f1b"),
                               {.batch = samples, .rooms = {.by_rows = true, .most = most}, .conduct = true})
        .scores();
  };
  const score_names free = with(motet::isize{1} << 40), tight = with(1);
  CHECK(std::count(free.names.begin(), free.names.end(), "gpipe") == 1);
  CHECK(tight.names.front() == "1f1b");
  CHECK(std::count(tight.names.begin(), tight.names.end(), "gpipe") == 0);
  CHECK(std::any_of(tight.left_out.begin(), tight.left_out.end(), [](const std::string& each) {
    return each.starts_with("gpipe: a rank may need ") && each.ends_with("and may hold 1 (rooms.most)");
  }));
}

TEST_CASE("steps are told by the clock once some were recorded") {
  const launched_world world = alone();
  trainer<fed_speech> train(world, apart("1f1b"), {.batch = samples, .conduct = true});
  conducted_steps steps(train, samples, {.every = 1});
  for (std::uint64_t k = 0; k < 5; ++k) {
    const fed_text data(20 + k);
    const step_result found = steps.step(data.get(), 1e-3);
    const conduct_told& told = steps.told();
    CHECK(told.measured == (k > 2));
    CHECK(told.seconds > 0);
    CHECK(told.planned_seconds > 0);
    CHECK(told.waited_seconds >= told.search_seconds);
    if (told.measured) CHECK(told.seconds < 1000 * found.seconds);
  }
}
