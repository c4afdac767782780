// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/write/through.hpp>

#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

through_module on(std::initializer_list<std::int32_t> ranks, std::int32_t microbatches,
                  std::initializer_list<std::int32_t> from = {}) {
  through_module made;
  made.microbatches = microbatches;
  for (const std::int32_t rank : ranks) made.ranks.push(rank);
  for (const std::int32_t source : from) made.from.push(source);
  return made;
}
constexpr through_shape chain() {
  through_shape of;
  for (std::int32_t k = 0; k < 3; ++k) {
    through_module made;
    made.ranks.push(k);
    made.microbatches = 4;
    if (k > 0) made.from.push(k - 1);
    made.meets = k == 2;
    of.modules.push(made);
  }
  return of;
}
static_assert(prove(write_through(chain())).ok(), "the compiler proves it");

// A voice for each place, all of them on the ranks that the shape says.
score on_ranks_of(const through_shape& of, std::int32_t ranks) {
  const score seats = write_through(of);
  list<voice_spread> once;
  for (isize v = 0; v < of.modules.size(); ++v) once.push({});
  return placed(seats, once, ranks, [&](std::int32_t v, std::int32_t, std::int32_t, std::int32_t s) {
    return of.modules[v].ranks[s];
  });
}

}  // namespace

TEST_CASE("one module by itself is played as its schedule plays it") {
  for (const int stages : {1, 2, 5})
    for (const int microbatches : {1, 3, 8}) {
      through_shape one;
      one.modules.push({});
      one.modules[0].microbatches = microbatches;
      for (int s = 0; s < stages; ++s) one.modules[0].ranks.push(s);
      const pipeline_shape same{.stages = stages, .microbatches = microbatches};
      CHECK(write_through(one) == one_f_one_b::write(same));
      one.all_first = true;
      CHECK(write_through(one) == gpipe::write(same));
    }
}

TEST_CASE("a rank is ahead by the ranks that rows still come to") {
  // An eye and its glue on one rank, and two stages of a language model.
  through_shape of;
  of.modules.push(on({0}, 8));
  of.modules.push(on({0}, 8, {0}));
  of.modules.push(on({1, 2}, 8, {1}));
  of.modules[2].meets = true;
  const program made = compile(write_through(of));
  CHECK(check(made).ok());
  const list<std::int32_t> kept = live_of_stages(made);
  const std::vector<std::int32_t> wanted{3, 3, 2, 1};
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK_EQ(kept[static_cast<isize>(i)], wanted[i]);
}

TEST_CASE("what is frozen has no backward, and what is fixed no update") {
  through_shape of;
  of.modules.push(on({0}, 2));
  of.modules.push(on({0}, 2, {0}));
  of.modules.push(on({1}, 2, {1}));
  of.modules[0].learns = false;
  of.modules[2].fixed = of.modules[2].meets = true;
  const program made = compile(write_through(of));
  REQUIRE(check(made).ok());
  int backwards[3] = {}, updates[3] = {};
  for (const instruction& it : made.instructions) {
    if (is_backward(it.what)) ++backwards[it.voice];
    if (it.what == op::optimizer_step) ++updates[it.voice];
  }
  CHECK_EQ(backwards[0], 0);
  CHECK_EQ(backwards[1], 2);
  CHECK_EQ(backwards[2], 2);
  CHECK_EQ(updates[0], 0);
  CHECK_EQ(updates[1], 1);
  CHECK_EQ(updates[2], 0);
}

TEST_CASE("modules in a circle and counts of nothing are refused") {
  through_shape circle;
  circle.modules.push(on({0}, 2, {1}));
  circle.modules.push(on({1}, 2, {0}));
  CHECK(check_through(circle).why == reason::feeds_in_a_circle);
  through_shape none;
  none.modules.push(on({0}, 0));
  CHECK(check_through(none).why == reason::no_stages);
  through_shape nowhere_at_all;
  nowhere_at_all.modules.push({});
  CHECK(check_through(nowhere_at_all).why == reason::no_stages);
}

TEST_CASE("chains on any ranks are proven, play to their end, and are read back as they were") {
  const random_stream draw(7, "chains");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<std::int32_t>(draw.below(at++, most)); };
  for (int round = 0; round < 300; ++round) {
    const std::int32_t ranks = 1 + below(5), modules = 1 + below(4);
    const std::int32_t microbatches = 1 + below(6);
    through_shape of{{}, below(3) == 0};
    std::int32_t learning = 0;
    for (std::int32_t k = 0; k < modules; ++k) {
      through_module made;
      made.microbatches = microbatches;
      for (std::int32_t s = 1 + below(3); s > 0; --s)
        made.ranks.push(below(static_cast<std::uint32_t>(ranks)));
      if (k > 0) made.from.push(k - 1);
      const bool frozen = below(3) == 0;
      made.learns = !frozen || learning > 0;
      made.fixed = frozen;
      learning += frozen ? 0 : 1;
      made.meets = k + 1 == modules;
      of.modules.push(made);
    }
    const score order = on_ranks_of(of, ranks);
    CAPTURE(round);
    REQUIRE(prove(order).ok());
    const program made = compile(order);
    const check_result found = check(made);
    REQUIRE(found.ok());
    buffer_counts buffers;
    CHECK(count_buffers(made, buffers).ok());
    timeline times;
    CHECK(simulate(made, even_costs(made, {1, 2, 1}, 1), times).ok());
    CHECK(read_csv(write_csv(made)) == made);
    // Each edge is crossed once each way by a microbatch, where it leads from one rank to another.
    isize wanted = 0, got = 0;
    for (const fed_cell& each : made.feeds) {
      const voice &from = made.voices[each.from], &to = made.voices[each.to];
      if (made.place(from, from.stages - 1) != made.place(to, 0)) wanted += from.learns ? 2 : 1;
    }
    for (const instruction& it : made.instructions) {
      const voice& own = made.voices[std::max(it.voice, 0)];
      got += (it.what == op::send_forward && it.stage + 1 == own.stages) ||
                     (it.what == op::send_backward && it.stage == 0)
                 ? 1
                 : 0;
    }
    CHECK_EQ(got, wanted);
  }
}

TEST_CASE("modules cut unlike feed all that have samples of their own") {
  const random_stream draw(11, "unlike");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<std::int32_t>(draw.below(at++, most)); };
  for (int round = 0; round < 400; ++round) {
    constexpr std::int32_t ranks = 8;
    const std::int32_t modules = 2 + below(3);
    // Often as many samples as none of the modules cuts evenly.
    through_shape of{{}, below(4) == 0, below(3) == 0 ? 0 : 20 + below(30)};
    std::int32_t learning = 0, first = 0, end = 0;  // of the module before
    for (std::int32_t k = 0; k < modules; ++k) {
      const std::int32_t replicas = 1 + below(4), microbatches = 1 + below(5), stages = 1 + below(2),
                         base = below(static_cast<std::uint32_t>(ranks - replicas * stages + 1));
      const bool frozen = below(3) == 0;
      const auto begin = static_cast<std::int32_t>(of.modules.size());
      for (std::int32_t r = 0; r < replicas; ++r) {
        through_module made;
        made.module = k;
        made.replica = r;
        made.replicas = replicas;
        made.microbatches = microbatches;
        for (std::int32_t s = 0; s < stages; ++s) made.ranks.push(base + r * stages + s);
        for (std::int32_t source = first; source < end; ++source) made.from.push(source);
        made.learns = !frozen || learning > 0;
        made.fixed = frozen;
        made.meets = k + 1 == modules;
        of.modules.push(made);
      }
      learning += frozen ? 0 : 1;
      first = begin;
      end = begin + replicas;
    }
    CAPTURE(round);
    REQUIRE(check_through(of).ok());
    const score seats = write_through(of);
    REQUIRE(prove(seats).ok());
    const score order = on_ranks_of(of, ranks);
    REQUIRE(prove(order).ok());
    const program made = compile(order);
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) CHECK(check(made, how).ok());
    buffer_counts buffers;
    REQUIRE(count_buffers(made, buffers).ok());
    timeline times;
    CHECK(simulate(made, even_costs(made, {1, 2, 1}, 1), times).ok());
    CHECK(read_csv(write_csv(made)) == made);
    CHECK(read_csv(write_csv(made, {.form = csv_form::everything})) == made);
    // Every sample is fed once: what two modules have in common tiles both.
    const motet::isize samples = of.whole();
    CHECK(samples >= of.samples);
    for (const through_module& to : of.modules)
      for (std::int32_t n = 0; n < to.microbatches && !to.from.empty(); ++n) {
        motet::isize covered = 0;
        for (const std::int32_t source : to.from) {
          const through_module& from = of.modules[source];
          for (std::int32_t m = 0; m < from.microbatches; ++m)
            for (const fed_cell& each : seats.feeds()) {
              if (each.from != source || each.from_microbatch != m || &of.modules[each.to] != &to ||
                  each.to_microbatch != n)
                continue;
              covered +=
                  intersection(from.parts(samples).of(m, from.replica), to.parts(samples).of(n, to.replica))
                      .size();
            }
        }
        CHECK_EQ(covered, to.parts(samples).of(n, to.replica).size());
      }
  }
}

TEST_CASE("those before a module with an order of its own are ahead as far as its first stage asks") {
  const random_stream draw(13, "orders");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<std::int32_t>(draw.below(at++, most)); };
  struct numbers {
    const char* name;
    int devices, chunks;
  };
  for (const auto& [name, devices, chunks] : {numbers{"interleaved", 2, 2},
                                              {"interleaved", 4, 3},
                                              {"zb_h1", 4, 1},
                                              {"zb_h2", 3, 1},
                                              {"zb_v", 3, 2},
                                              {"v_half", 3, 2},
                                              {"v_min", 4, 2},
                                              {"zb_auto", 3, 1},
                                              {"dualpipe_v", 3, 2},
                                              {"1f1b", 3, 1}})
    for (int round = 0; round < 12; ++round) {
      CAPTURE(name);
      CAPTURE(round);
      const int microbatches = devices * (2 + below(3));
      through_shape of;
      of.last =
          joined(write_schedule(name, {.stages = devices, .microbatches = microbatches, .chunks = chunks}),
                 microbatches);
      // An eye in replicas, its glue, and as many replicas of what has the order.
      const std::int32_t eyes = 1 + below(3), talks = 1 + below(2);
      of.samples = 2 * microbatches + below(9);
      for (std::int32_t r = 0; r < eyes; ++r) {
        of.modules.push(on({r}, 2));
        of.modules[r].module = 0;
        of.modules[r].replica = r;
        of.modules[r].replicas = eyes;
        of.modules[r].learns = false;
      }
      const std::int32_t parts = 1 + below(9), glue = eyes;
      of.modules.push(on({eyes - 1}, parts));
      of.modules[glue].module = 1;
      for (std::int32_t r = 0; r < eyes; ++r) of.modules[glue].from.push(r);
      for (std::int32_t r = 0; r < talks; ++r) {
        through_module made = on({}, microbatches, {glue});
        for (int s = 0; s < devices * chunks; ++s)
          made.ranks.push(eyes + r * devices + of.last.place(of.last.voices()[0], s));
        made.module = 2;
        made.replica = r;
        made.replicas = talks;
        made.meets = true;
        made.sums_each = talks > 1 && round % 2 == 0;
        of.modules.push(made);
      }
      REQUIRE(check_through(of).ok());
      const score order = write_through(of);
      REQUIRE(prove(order).ok());
      // Ranks that hold several of these follow its times.
      CHECK(cue_times(order).ok());
      // Each device of it plays what its schedule says.
      const voice& talk = order.voices().back();
      for (std::int32_t d = 0; d < devices; ++d) {
        const std::int32_t seat = order.place(talk, 0) - of.last.place(of.last.voices()[0], 0) + d;
        REQUIRE_EQ(order.end_of(seat) - order.begin_of(seat), of.last.end_of(d) - of.last.begin_of(d));
      }
      const program made = compile(on_ranks_of(of, eyes + talks * devices));
      for (const delivery how : {delivery::buffered, delivery::rendezvous}) CHECK(check(made, how).ok());
      buffer_counts buffers;
      CHECK(count_buffers(made, buffers).ok());
      timeline times;
      CHECK(simulate(made, even_costs(made, {1, 2, 1}, 1), times).ok());
      // A module that goes before keeps no more of its microbatches than there are.
      CHECK(live_of_stages(made)[glue] <= parts);
    }
}

TEST_CASE("an encoder's microbatch for four of the language model's is one forward and one backward") {
  through_shape of;
  of.modules.push(on({0}, 2));
  of.modules.push(on({1}, 8, {0}));
  of.modules[1].meets = true;
  const program made = compile(write_through(of));
  REQUIRE(check(made).ok());
  CHECK_EQ(made.role(0).size(), 2 * 2 + 2 * 4 * 2 + 1);
  // It keeps two of its microbatches: one that gradients come for, and the next.
  CHECK_EQ(live_of_stages(made)[0], 2);
  CHECK_EQ(live_of_stages(made)[1], 1);
}

TEST_CASE("an edge's message that is dropped, doubled or swapped is refused") {
  through_shape of;
  of.modules.push(on({0}, 3));
  of.modules.push(on({1}, 3, {0}));
  of.modules[1].meets = true;
  const program whole = compile(write_through(of));
  REQUIRE(check(whole).ok());
  for (std::int32_t i = 0; i < whole.instructions.size(); ++i) {
    const instruction& it = whole.instructions[i];
    if (!is_transfer(it.what)) continue;
    for (const bool twice : {false, true}) {
      program broken = whole;
      broken.instructions = {};
      for (std::int32_t k = 0; k < whole.instructions.size(); ++k) {
        if (k != i || twice) broken.instructions.push(whole.instructions[k]);
        if (k == i && twice) broken.instructions.push(whole.instructions[k]);
      }
      for (std::int32_t r = 0; r < broken.starts.size(); ++r)
        if (broken.starts[r] > i) broken.starts[r] += twice ? 1 : -1;
      CHECK_FALSE(check(broken).ok());
    }
    program other = whole;
    other.instructions[i].microbatch = (it.microbatch + 1) % 3;
    CHECK_FALSE(check(other).ok());
  }
  program lost = whole;
  lost.feeds = {};
  CHECK_FALSE(check(lost).ok());
}
