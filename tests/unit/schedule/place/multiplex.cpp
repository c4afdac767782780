// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/place/multiplex.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace motet;

namespace {

// A language model alone, and an encoder of which each rank has a part of every microbatch; `parts` 1: the
// first rank has all of it.
score beside_talk(const score& talk, std::int32_t parts) {
  score out;
  const voice only = talk.voices()[0];
  out.add(only, [&](int s) { return talk.place(only, s); });
  voice eye;
  eye.module = 1;
  eye.microbatches = only.microbatches;
  for (eye.replica = 0; eye.replica < parts; ++eye.replica)
    out.feed(out.add(eye, [&](int) { return eye.replica; }), 0);
  return out;
}
// The language model's cues in their order, and what is put before each forward, and behind each backward.
template <class Before, class Behind>
score inserted(const score& talk, std::int32_t parts, Before before, Behind behind) {
  score out = beside_talk(talk, parts);
  for (std::int32_t r = 0; r < talk.ranks(); ++r) {
    out.rank();
    for (std::int32_t i = talk.begin_of(r); i < talk.end_of(r); ++i) {
      const cue each = talk[i];
      const auto eye = [&](op what, int first, int end) {
        for (int m = first; m < end; ++m) out.play(what, 1 + r, 0, m);
      };
      if (each.what == op::forward && r < parts) before(eye, r, each.microbatch);
      out.play(each.what, 0, each.stage, each.microbatch);
      if (each.what != op::forward && r < parts) behind(eye, r, each.microbatch);
    }
  }
  return out;
}
constexpr auto nothing = [](const auto&, int, int) {};
score multiplexed(const score& talk, std::int32_t parts, std::int32_t ahead = 0) {
  return multiplex(inserted(talk, parts, nothing, nothing), {{0, 1}, {0, ahead}});
}

// A pipeline of so many ranks, on which a forward takes 1 and a backward 2, and an encoder of `work` times as
// much.
struct setting {
  int ranks = 4, microbatches = 16;
  double work = 0;
  score talk() const { return one_f_one_b::write({ranks, microbatches}); }
  double seconds(const score& order, double wire = 0) const {
    const auto parts = static_cast<double>(order.voices().size() - 1);
    cost_table costs;
    costs.wires.inside.latency = wire;
    for (const voice& each : order.voices())
      for (std::int32_t s = 0; s < each.stages; ++s) {
        const double one = each.module == 0 ? 1.0 / each.chunks : work * ranks / parts;
        costs.stages.push({one, one, one});
      }
    return played(order, costs);
  }
  // Each module on ranks of its own, of which the encoder has this share.
  double seconds_apart(double share) const {
    cost_table costs;
    for (int s = 0; s <= ranks; ++s) {
      const double one = s == 0 ? work / share : 1 / (1 - share);
      costs.stages.push({one, one, one});
    }
    return played(one_f_one_b::write({ranks + 1, microbatches}), costs);
  }
  // All of the encoder's forwards first, and all of its backwards last.
  double seconds_first_and_last() const {
    const int all = microbatches;
    return seconds(inserted(
        talk(), ranks, [&](const auto& eye, int, int m) { eye(op::forward, 0, m == 0 ? all : 0); },
        [&](const auto& eye, int, int m) { eye(op::backward, 0, m + 1 == all ? all : 0); }));
  }
  // Each rank's part before its own forward of the microbatch.
  score in_own_turn() const {
    return inserted(
        talk(), ranks, [](const auto& eye, int, int m) { eye(op::forward, m, m + 1); },
        [&](const auto& eye, int r, int m) {
          eye(op::backward, std::max(0, m - r), m + 1 == microbatches ? m + 1 : m + 1 - r);
        });
  }
  static double played(const score& order, const cost_table& costs) {
    timeline when;
    REQUIRE(simulate(compile(order, {messages::in_channels, false, false}), costs, when).ok());
    return when.makespan;
  }
};
// The most parts of the encoder's microbatches that each rank keeps.
std::vector<int> most_kept(const score& order) {
  std::vector<int> most;
  for (std::int32_t r = 0; r < order.ranks(); ++r) {
    most.push_back(0);
    for (std::int32_t i = order.begin_of(r), live = 0; i < order.end_of(r); ++i) {
      if (order[i].voice == 0) continue;
      live += order[i].what == op::forward ? 1 : -1;
      most.back() = std::max(most.back(), live);
    }
  }
  return most;
}

}  // namespace

TEST_CASE(
    "of 1F1B rank s has the forwards of s microbatches more than it begins, and backwards of s fewer than it "
    "ended") {
  for (const int ranks : {1, 2, 3, 5})
    for (const int all : {1, 4, 9})
      for (const int ahead : {0, 1, 3}) {
        CAPTURE(ranks);
        CAPTURE(all);
        CAPTURE(ahead);
        const score talk = one_f_one_b::write({ranks, all});
        const score wanted = inserted(
            talk, ranks,
            [&](const auto& eye, int r, int m) {
              eye(op::forward, m == 0 ? 0 : std::min(all, m + r + ahead), std::min(all, m + r + ahead + 1));
            },
            [&](const auto& eye, int r, int m) {
              eye(op::backward, std::max(0, m - r), m + 1 == all ? all : m + 1 - r);
            });
        CHECK(multiplexed(talk, ranks, ahead) == wanted);
        CHECK(prove(wanted).ok());
      }
}
TEST_CASE("a rank keeps as many parts as ranks and its distance are, whatever the microbatches") {
  for (const int all : {16, 32, 64})
    for (const int ahead : {0, 1, 2, 4}) {
      const std::vector<int> kept = most_kept(multiplexed(one_f_one_b::write({4, all}), 4, ahead));
      for (int r = 0; r < 4; ++r) CHECK(kept[static_cast<std::size_t>(r)] == 4 + r + ahead);
    }
}
TEST_CASE("an interleaved pipeline goes on as by itself, and keeps no more with more microbatches") {
  const auto kept = [](int all) {
    const score order = multiplexed(interleaved::write({4, all, 2}), 4);
    REQUIRE(prove(order).ok());
    const setting of{4, all, .25};
    // Two chunks halve what 1F1B waits for.
    CHECK(of.seconds(order) < of.seconds(multiplexed(of.talk(), 4)));
    return most_kept(order);
  };
  CHECK(kept(16) == kept(64));
}

// MegaScale-Omni's joint pipeline beside what others do with the encoder. The wanted numbers are those of
// another simulation, to a hundredth; times are those of this one.
TEST_CASE("steps are as long against the multiplexed one as another simulation has it") {
  struct row {
    setting of;
    double first_rank, tuned, apart, first_and_last, used;
  };
  const row rows[] = {
      {{4, 16, .1}, 1.19, 1.42, 1.09, 1.01, .87},   {{4, 16, .5}, 1.88, 1.18, 1.19, 1.06, .94},
      {{4, 16, 2}, 2.94, 1.96, 1.22, 1.04, .98},    {{8, 32, .1}, 1.46, 1.42, 1.07, 1.02, .85},
      {{8, 32, .5}, 3.11, 1.17, 1.18, 1.07, .93},   {{8, 32, 2}, 5.53, 1.95, 1.21, 1.05, .98},
      {{16, 64, .25}, 3.51, 1.31, 1.10, 1.04, .88}, {{16, 64, 1}, 8.18, 1.50, 1.20, 1.08, .96}};
  for (const row& each : rows) {
    CAPTURE(each.of.ranks);
    CAPTURE(each.of.work);
    const score talk = each.of.talk();
    const double own = each.of.seconds(multiplexed(talk, each.of.ranks)), r = each.of.work;
    const auto near = [](double got, double wanted) {
      CAPTURE(got);
      CHECK(got == doctest::Approx(wanted).epsilon(.0125));
    };
    near(each.of.seconds(multiplexed(talk, 1)) / own, each.first_rank);
    near(each.of.seconds_apart(1.0 / 3) / own, each.tuned);
    near(each.of.seconds_apart(r / (1 + r)) / own, each.apart);
    near(each.of.seconds_first_and_last() / own, each.first_and_last);
    near(3 * (1 + r) * each.of.microbatches / own, each.used);
  }
}
TEST_CASE("in the turns of its own rank the encoder makes ranks wait for each other, for long or for ever") {
  const setting of{8, 32, .05};
  const score serial = of.in_own_turn();
  CHECK(prove(serial).ok());
  CHECK(of.seconds(serial) > 2.5 * of.seconds(multiplexed(of.talk(), 8)));
  // With its backwards in turn, too, the last rank waits for the first, which waits for the last one's
  // forward.
  const score stuck = inserted(
      of.talk(), 8, [](const auto& eye, int, int m) { eye(op::forward, m, m + 1); },
      [](const auto& eye, int, int m) { eye(op::backward, m, m + 1); });
  CHECK(prove(stuck).why == reason::deadlock);
}
TEST_CASE("over phases of a run the multiplexed step follows the encoder's work, where a split does not") {
  double own = 0, first_rank = 0, apart = 0, fixed = 1e9;
  std::vector<setting> phases;
  for (const double work : {.05, .15, .4, .9, 2.}) phases.push_back({8, 32, work});
  for (const setting& each : phases) {
    own += each.seconds(multiplexed(each.talk(), 8));
    first_rank += each.seconds(multiplexed(each.talk(), 1));
    apart += each.seconds_apart(each.work / (1 + each.work));
  }
  for (double share = .05; share < .9; share += .01) {
    double all = 0;
    for (const setting& each : phases) all += each.seconds_apart(share);
    fixed = std::min(fixed, all);
  }
  CHECK(first_rank / own == doctest::Approx(3.62).epsilon(.01));
  CHECK(apart / own == doctest::Approx(1.16).epsilon(.01));
  CHECK(fixed / own == doctest::Approx(1.48).epsilon(.03));
}
TEST_CASE("one microbatch ahead hides what rows take on their way, and more gains nothing") {
  const setting of{4, 16, .5};
  const auto seconds = [&](std::int32_t ahead, double wire) {
    return of.seconds(multiplexed(of.talk(), 4, ahead), wire);
  };
  CHECK(seconds(0, 0) == seconds(4, 0));
  CHECK(seconds(1, .2) < seconds(0, .2));
  CHECK(seconds(1, .2) == seconds(4, .2));
}
TEST_CASE("pictures of unlike sizes cost little, and looking ahead gains hardly any of that") {
  const setting of{4, 64, .5};
  // Each microbatch has .4, .8, 1.2 or 1.6 times its usual pictures, in an order without a pattern.
  const auto seconds = [&](std::int32_t ahead) {
    const score order = multiplexed(of.talk(), 4, ahead);
    cost_table costs;
    for (isize k = 0; k < order.places().size(); ++k)
      costs.stages.push(k < 4 ? stage_cost{} : stage_cost{.5, .5, .5});
    costs.scale.resize(order.cells(), 1);
    for (isize v = 1; v < order.voices().size(); ++v)
      for (std::int32_t m = 0; m < 64; ++m)
        costs.scale[order.voices()[v].cell(0, m)] = .4 + .4 * ((m * m + m / 3) % 4);
    return setting::played(order, costs);
  };
  const setting even{4, 64, .5};
  const double alike = even.seconds(multiplexed(even.talk(), 4));
  CHECK(seconds(0) < 1.02 * alike);
  for (const int ahead : {1, 2, 4, 8}) {
    CHECK(seconds(ahead) <= seconds(0));
    CHECK(seconds(ahead) > .995 * seconds(0));
  }
}
