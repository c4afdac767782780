// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/connect_edges.hpp>

#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include "unit/runtime/small_edges.hpp"
#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

using namespace motet;

namespace {

// A stage was told these.
struct told_rows {
  struct piece {
    bool behind;
    std::int32_t microbatch;
    row_piece<told_rows> made;
  };
  std::vector<piece> pieces;
  told_rows* after = nullptr;
  void connect(told_rows& next) { after = &next; }
  void connect(bool behind, std::int32_t m, const row_piece<told_rows>& made) {
    pieces.push_back({behind, m, made});
  }
};
struct told_stage {
  struct place {
    std::int32_t rank = 0;
  };
  told_rows own;
  place where;
  told_rows& rows() { return own; }
  const place& at() const { return where; }
};
struct told_voice {
  std::int32_t voice = 0;
  struct held_one {
    std::unique_ptr<told_stage> stage;
  };
  std::vector<held_one> held;
};

// small_fan with the language model on rank 1 and all else on rank 0, each module with two microbatches.
program two_ranks() {
  through_shape of;
  for (std::int32_t k = 0; k < 5; ++k) {
    through_module made;
    made.microbatches = 2;
    made.module = k;
    made.meets = k == 4;
    made.learns = k != 3;
    made.ranks.push(k == 4 ? 1 : 0);
    of.modules.push(made);
  }
  for (const edge_ends& each : small_fan::edges)
    of.modules[static_cast<motet::isize>(each.to)].from.push(static_cast<std::int32_t>(each.from));
  return compile(write_through(of));
}

// The eye and the glue cut the samples of a step so, and the language model so.
struct part_counts {
  int data, tensor, context, parts;
  degrees split() const { return {.data = data, .context = context, .tensor = tensor}; }
};
plan feeding(const part_counts& from, const part_counts& to, bool balanced) {
  plan out;
  out.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "talk"}) {
    const bool last = name[0] == 't';
    module_plan own = on_ranks(name, last ? static_cast<std::int32_t>(from.split().size()) : 0,
                               (last ? to : from).split(), (last ? to : from).parts);
    own.group = 1;
    own.balanced = balanced;
    out.modules.push(own);
  }
  out.cluster.ranks = static_cast<std::int32_t>(from.split().size() + to.split().size());
  return out;
}

using fed = small_fed_speech<>;
constexpr motet::isize all_samples = 13;
struct fed_step {
  small_seen_text data{all_samples, 3};
  std::vector<motet::isize> rows;
  placed_tokens words;
  fed_step() {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
    words = {data.get(), rows.data(), data.places.data()};
  }
};

// Each row that the language model reads crosses once, to the rank that has its place, and both ends of each
// message count the same rows.
void check_crossings(const part_counts& from, const part_counts& to, bool balanced) {
  const plan how = feeding(from, to, balanced);
  score order;
  REQUIRE(write_plan(how, facts_of<fed>(), order, all_samples).ok());
  const program of = compile(order);
  const stage_groups groups(of, {from.tensor, from.tensor, to.tensor});
  const list<sample_split> splits = splits_of(of, all_samples);
  std::vector<told_voice> voices;
  for (std::int32_t v = 0; v < of.voices.size(); ++v) {
    told_voice& own = voices.emplace_back();
    own.voice = v;
    own.held.emplace_back().stage = std::make_unique<told_stage>();
    own.held[0].stage->where.rank = of.place(of.voices[v], 0);
  }
  const fed_step step;
  const void* const inputs[] = {nullptr, nullptr, &step.words};
  using talk = fed::module_at<2>::net;
  std::vector<module_choice> choices(3);
  for (module_choice& each : choices) each.balanced = balanced;
  connect_edges(outline_of_model<fed>, of, groups, splits, choices, inputs, voices);
  CHECK_EQ(sorts_rows(outline_of_model<fed>, groups, of, 1, true), to.context > 1);
  CHECK_FALSE(sorts_rows(outline_of_model<fed>, groups, of, 0, true));
  CHECK_FALSE(sorts_rows(outline_of_model<fed>, groups, of, 2, false));

  std::vector<int> crossed(step.data.places.size(), 0);
  motet::isize bytes = 0, wanted = 0;
  for (std::int32_t v = 0; v < of.voices.size(); ++v) {
    if (of.voices[v].module != 2) continue;
    const voice& sings = of.voices[v];
    spread_seat seat = seat_of(sings, groups);
    seat.balanced = balanced;
    replica_microbatches<talk> parts(splits[2], sings.replica, seat,
                                     any_group(to.tensor, static_cast<int>(seat.tensor_member)),
                                     any_group(to.context, static_cast<int>(seat.context_member)));
    parts.cut(step.words);
    for (const auto& taken : voices[static_cast<std::size_t>(v)].held[0].stage->own.pieces) {
      motet::isize sent = 0;
      for (std::size_t g = 0; g < voices.size(); ++g)
        for (const auto& given : voices[g].held[0].stage->own.pieces) {
          if (of.voices[static_cast<motet::isize>(g)].module != 1 || !given.behind) continue;
          if (given.made.microbatch != taken.microbatch || given.microbatch != taken.made.microbatch ||
              given.made.part != taken.made.their_part || given.made.their_part != taken.made.part)
            continue;
          if (given.made.samples.begin != taken.made.samples.begin ||
              given.made.samples.end != taken.made.samples.end)
            continue;
          const auto add = [&](motet::isize sample, motet::isize first, motet::isize count) {
            sent += count;
            for (motet::isize r = first; r < first + count; ++r)
              ++crossed[static_cast<std::size_t>(step.rows[static_cast<std::size_t>(sample)] + r)];
          };
          const crossing_rows& crossing = given.made.crossing;
          if (crossing.cuts() && crossing.taken.part == seat.context_member)
            crossing.each(true, given.made.samples, add);
          else if (!crossing.cuts())
            for (motet::isize s = given.made.samples.begin; s < given.made.samples.end; ++s)
              add(s, 0, step.words.rows_that_enter().rows_of(s));
        }
      const interval got =
          numbers_taken(outline_of_net<talk>, parts, taken.microbatch, taken.made.samples, 0);
      CHECK_EQ(got.size(), sent * talk::takes_rows);
      bytes += got.size() * 4;
    }
  }
  for (std::size_t r = 0; r < crossed.size(); ++r) {
    const bool reads = step.data.places[r] >= 0 || to.context == 1;
    CHECK_EQ(crossed[r], reads ? 1 : 0);
    wanted += reads ? talk::takes_rows * 4 : 0;
  }
  CHECK_EQ(bytes, wanted);
}

// The eye is cut so, by context perhaps, and the glue so. Each rank of the eye gives its own rows, and both
// ends of a message have the same rows of the same samples, in one order.
void check_given_parts(const part_counts& from, const part_counts& to, bool balanced) {
  plan how = feeding(to, to, false);
  how.modules[0].on = mesh::from(0, from.split());
  how.modules[0].microbatches = from.parts;
  how.modules[0].balanced = balanced;
  how.modules[1].on = mesh::from(0, to.split());
  how.modules[2].on = mesh::from(0, to.split());
  how.cluster.ranks = static_cast<std::int32_t>(std::max(from.split().size(), to.split().size()));
  score order;
  REQUIRE(write_plan(how, facts_of<fed>(), order, all_samples).ok());
  const program of = compile(order);
  const stage_groups groups(of, {from.tensor, to.tensor, to.tensor});
  const list<sample_split> splits = splits_of(of, all_samples);
  const fed_samples between = fed_samples_of(outline_of_model<fed>, of, groups, splits);
  const fed_step step;
  const auto seen = step.data.get();
  const seen_pictures pictures{seen.seen, all_samples, seen.picture_offsets};
  const void* const inputs[] = {&pictures, nullptr, nullptr};
  std::vector<module_choice> choices(3);
  choices[0].balanced = balanced;
  CHECK_EQ(sorts_rows(outline_of_model<fed>, groups, of, 1, false), from.context > 1);
  std::vector<int> crossed(step.data.places.size(), 0);
  between.each_piece([&](const cell_seat& giver, const cell_seat& taker, int, int, interval some) {
    if (of.voices[giver.voice].module != 0) return;
    const crossing_rows crossing = crossing_between(outline_of_model<fed>, groups, of.voices[giver.voice],
                                                    of.voices[taker.voice], choices, inputs);
    CHECK_EQ(crossing.sorted(false), from.context > 1);
    CHECK_FALSE(crossing.sorted(true));
    std::vector<motet::isize> given;
    crossing.each(true, some, [&](motet::isize sample, motet::isize at, motet::isize count) {
      // Row `at` of the giver's part of the sample's pictures, five rows each.
      const row_parts cut{from.context, balanced};
      const motet::isize own = cut.rows_of(5, crossing.given.part);
      for (motet::isize k = at; k < at + count; ++k)
        given.push_back(
            step.rows[static_cast<std::size_t>(sample)] +
            (crossing.given.is_part() ? k / own * 5 + cut.position(5, crossing.given.part, k % own) : k));
    });
    std::size_t next = 0;
    if (crossing.cuts())
      crossing.each(false, some, [&](motet::isize sample, motet::isize at, motet::isize count) {
        for (motet::isize k = at; k < at + count; ++k, ++next) {
          REQUIRE(next < given.size());
          CHECK_EQ(given[next], step.rows[static_cast<std::size_t>(sample)] + k);
          ++crossed[static_cast<std::size_t>(given[next])];
        }
      });
    CHECK_EQ(next, crossing.cuts() ? given.size() : 0);
  });
  for (const int each : crossed) CHECK_EQ(each, from.context > 1 ? 1 : 0);
}

}  // namespace

TEST_CASE("ranks that cut an encoder's samples each give their own rows, each of them once") {
  constexpr part_counts cases[][2] = {{{1, 1, 2, 2}, {1, 1, 1, 2}},
                                      {{1, 1, 3, 5}, {2, 1, 1, 3}},
                                      {{1, 2, 2, 1}, {3, 1, 1, 2}},
                                      {{2, 1, 4, 1}, {1, 1, 1, 7}}};
  for (const auto& each : cases)
    for (const bool balanced : {false, true}) check_given_parts(each[0], each[1], balanced);
}
TEST_CASE("each row of an edge crosses once, to the rank that has its place") {
  constexpr part_counts one{1, 1, 1, 2};
  constexpr part_counts cases[][2] = {{one, {1, 1, 4, 2}},          {{2, 2, 1, 2}, {1, 1, 4, 1}},
                                      {{3, 1, 1, 1}, {2, 1, 2, 2}}, {{1, 1, 1, 5}, {1, 2, 2, 3}},
                                      {one, {3, 1, 1, 1}},          {{1, 2, 1, 3}, {1, 1, 3, 7}}};
  for (const auto& each : cases)
    for (const bool balanced : {false, true}) {
      CAPTURE(each[1].context);
      check_crossings(each[0], each[1], balanced);
    }
}

TEST_CASE("each end of an edge knows the other, and which of the edges there it is") {
  const program of = two_ranks();
  const stage_groups groups(of, {1, 1, 1, 1, 1});
  const list<sample_split> splits = splits_of(of, 8);
  std::vector<told_voice> voices;
  for (std::int32_t v = 0; v < 5; ++v) {
    told_voice& own = voices.emplace_back();
    own.voice = v;
    own.held.emplace_back().stage = std::make_unique<told_stage>();
    own.held[0].stage->where.rank = v == 4 ? 1 : 0;
  }
  const std::vector<const void*> inputs(5);
  connect_edges(outline_of_model<small_fan>, of, groups, splits, {}, inputs.data(), voices);
  const auto of_voice = [&](std::size_t v) -> told_rows& { return voices[v].held[0].stage->own; };
  // The eye feeds the glue and the lens, here.
  REQUIRE_EQ(of_voice(0).pieces.size(), 4u);
  for (const auto& each : of_voice(0).pieces) {
    CHECK(each.behind);
    CHECK(each.made.here == &of_voice(each.made.door == 0 ? 1 : 2));
    CHECK_EQ(each.made.their_part, 0);
    CHECK_EQ(each.made.samples.begin, each.microbatch * 4);
    CHECK_EQ(each.made.samples.size(), 4);
  }
  // The language model is fed by the glue, the ear, which takes no gradients, and the lens, from elsewhere.
  REQUIRE_EQ(of_voice(4).pieces.size(), 6u);
  std::array<int, 3> met{};
  for (const auto& each : of_voice(4).pieces) {
    CHECK_FALSE(each.behind);
    CHECK(each.made.here == nullptr);
    CHECK_EQ(each.made.learns, each.made.door != 1);
    ++met[static_cast<std::size_t>(each.made.door)];
  }
  CHECK(met == std::array{2, 2, 2});
  for (auto& each : voices) CHECK(each.held[0].stage->own.after == nullptr);
}
