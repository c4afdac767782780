// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/program_order.hpp>

#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace motet;

namespace {

// Each module has a first rank, ranks of a pipeline with so many stages each, replicas and microbatches.
struct placed {
  int first, stages, data, parts, chunks = 1;
};
// A chain of modules whose places all take as much for a unit of work.
struct chain {
  program of;
  program_samples samples;
  place_clock clock;
  program_order orders;
  chain(const chain&) = delete;
  chain(std::int32_t ranks, std::initializer_list<placed> modules, motet::isize count,
        motet::isize together = 0)
      : of(written(ranks, modules, count)),
        samples(of, splits_of(modules, count), false, together),
        clock(samples, list<stage_cost>(of.places.size(), stage_cost{1, 1, 1})),
        orders(samples, clock) {}

  static program written(std::int32_t ranks, std::initializer_list<placed> modules, motet::isize count) {
    plan how;
    how.cluster.ranks = ranks;
    how.schedule = "1f1b";
    list<module_facts> facts;
    std::string name = "a";
    for (const placed& each : modules) {
      module_plan own =
          on_ranks(label(name), each.first, {.stages = each.stages, .data = each.data}, each.parts);
      own.group = 1;
      own.chunks = each.chunks;
      if (each.chunks > 1) how.schedule = "interleaved";
      how.modules.push(own);
      module_facts known;
      known.name = label(name);
      known.layers = 8;
      known.meets = &each + 1 == modules.end();
      if (name[0] > 'a') known.from.push(static_cast<std::int32_t>(name[0] - 'b'));
      facts.push(known);
      ++name[0];
    }
    return compile(require_proven(how, facts, count).order);
  }
  static list<sample_split> splits_of(std::initializer_list<placed> modules, motet::isize count) {
    list<sample_split> out;
    for (const placed& each : modules) out.push({count, each.parts, each.data, 1, {}});
    return out;
  }
};
// Modules' work is drawn apart, log-normal.
step_headers drawn(std::int32_t modules, motet::isize count, std::uint64_t seed, double sigma = 0.6) {
  const random_stream draw(seed, "samples");
  step_headers out;
  out.samples = static_cast<std::int32_t>(count);
  for (std::int32_t m = 0; m < modules; ++m)
    out.modules.push(label(std::string(1, static_cast<char>('a' + m))));
  for (motet::isize k = 0; k < modules * count; ++k) {
    out.work.push(std::exp(sigma * draw.normal(static_cast<std::uint64_t>(k))));
    out.rows.push(out.work.back());
  }
  return out;
}
bool is_permutation(const sample_order& order, motet::isize count) {
  sample_order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return sorted == in_turn(static_cast<std::int32_t>(count));
}
// Ranks in groups of so many, and how many groups that makes.
struct grouped {
  std::int32_t ranks;
  std::initializer_list<placed> modules;
  motet::isize count, together, groups;
};
const step_questions ranks_alone{true, false}, slots_alone{false, true};

}  // namespace

TEST_CASE("each sample is there once, and no order is longer than as listed, in any plan") {
  const chain chains[] = {{1, {{0, 1, 1, 1}}, 6},
                          {4, {{0, 1, 4, 1}}, 30},
                          {2, {{0, 2, 1, 6}}, 12},
                          {4, {{0, 1, 2, 4}, {2, 1, 2, 4}}, 16},
                          {4, {{0, 1, 3, 2}, {3, 1, 1, 4}}, 24},
                          {3, {{0, 1, 1, 2}, {1, 2, 1, 4}}, 16},
                          {2, {{0, 1, 2, 1}, {0, 2, 1, 5}}, 10},
                          {2, {{0, 2, 1, 8, 2}}, 16},
                          {4, {{0, 1, 2, 4}, {2, 1, 2, 2}}, 16}};
  for (const chain& each : chains) {
    CAPTURE(&each - chains);
    const auto modules = static_cast<std::int32_t>(each.samples.modules());
    const motet::isize count = each.samples.blocks().back().places.end;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const step_headers of = drawn(modules, count, seed);
      const ordered_step listed = each.orders.as_listed(of);
      CHECK_EQ(listed.order, in_turn(static_cast<std::int32_t>(count)));
      for (const step_questions& asked : {step_questions{}, ranks_alone, slots_alone}) {
        const ordered_step found = each.orders.find(of, asked);
        CHECK(is_permutation(found.order, count));
        CHECK(found.seconds <= listed.seconds);
        CHECK_EQ(found.seconds, each.orders.judged(of, found.order).seconds);
        CHECK(found.uneven >= 1 - 1e-12);
      }
      const ordered_step none = each.orders.find(of, {false, false});
      CHECK_EQ(none.order, listed.order);
    }
  }
}

TEST_CASE("turns alone leave together what is listed together") {
  const chain of(2, {{0, 2, 1, 6}}, 12);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const ordered_step found = of.orders.find(drawn(1, 12, seed), slots_alone);
    for (motet::isize k = 0; k < 12; k += 2) {
      CHECK_EQ(found.order[k] % 2, 0);
      CHECK_EQ(found.order[k + 1], found.order[k] + 1);
    }
  }
}

TEST_CASE("on replicas and pipelines most of what unlike samples cost is gained back") {
  struct row {
    chain of;
    double most;  // of the time as listed, mean of draws
  };
  const row rows[] = {{{4, {{0, 1, 4, 1}}, 32}, 0.88},
                      {{4, {{0, 1, 2, 6}, {2, 1, 2, 6}}, 24}, 0.88},
                      {{4, {{0, 1, 3, 2}, {3, 1, 1, 6}}, 24}, 0.95}};
  for (const row& each : rows) {
    CAPTURE(&each - rows);
    const motet::isize count = each.of.samples.blocks().back().places.end;
    double share = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const step_headers of = drawn(static_cast<std::int32_t>(each.of.samples.modules()), count, seed);
      share += each.of.orders.find(of).seconds / each.of.orders.as_listed(of).seconds / 20;
    }
    CHECK(share < each.most);
  }
}

TEST_CASE("where rows cross between replicas, few samples are evener than in one order for all modules") {
  const chain tied(4, {{0, 1, 2, 2}, {2, 1, 2, 2}}, 16), apart(4, {{0, 1, 2, 4}, {2, 1, 2, 2}}, 16);
  double one = 0, each = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const step_headers of = drawn(2, 16, seed);
    one += tied.orders.find(of).seconds;
    each += apart.orders.find(of).seconds;
  }
  MESSAGE("over one order: ", each / one);
  CHECK(each < 0.97 * one);
}

TEST_CASE("interleaved chunks are filled as their own clock has it, before anything is swapped") {
  const chain of(4, {{0, 4, 1, 16, 2}}, 16);
  double listed = 0, filled = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const step_headers costs = drawn(1, 16, seed);
    listed += of.orders.as_listed(costs).seconds;
    filled += of.orders.find(costs, slots_alone, {.tries = 0}).seconds;
  }
  MESSAGE("over as listed: ", filled / listed);
  CHECK(filled < 0.905 * listed);  // the order for 1F1B takes 0.912
}

TEST_CASE("on replicas alone the order found is within a fiftieth of the best there is") {
  const chain of(2, {{0, 1, 2, 1}}, 8);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const step_headers each = drawn(1, 8, seed);
    double best = 1e9;
    for (unsigned chosen = 0; chosen < 256; ++chosen) {
      if (__builtin_popcount(chosen) != 4) continue;
      double own = 0, rest = 0;
      for (std::int32_t s = 0; s < 8; ++s) ((chosen >> s & 1) != 0 ? own : rest) += each.work_of(0, s);
      best = std::min(best, 3 * std::max(own, rest));
    }
    const double found = of.orders.find(each).seconds;
    CHECK(found >= best * (1 - 1e-12));
    CHECK(found <= best * 1.02);
  }
}

TEST_CASE("heavy samples go to the microbatches of a step in which its pipeline has room for them") {
  // An eye before a language model; a third of the samples has an eye's work eight times as large.
  const chain of(2, {{0, 1, 1, 4}, {1, 1, 1, 4}}, 8);
  double listed = 0, turned = 0, moved = 0, best = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    step_headers each = drawn(2, 8, seed, 0.4);
    for (motet::isize k = 0; k < 8; ++k)
      if (random_stream(seed, "giants").below(static_cast<std::uint64_t>(k), 3) == 0) each.work[k] *= 8;
    const double found = of.orders.find(each).seconds, as_listed = of.orders.as_listed(each).seconds;
    // All ways to have two samples in each microbatch, in all turns.
    double least = as_listed;
    sample_order tried = in_turn(8);
    do {
      bool counts = true;
      for (motet::isize k = 0; k < 8; k += 2) counts = counts && tried[k] < tried[k + 1];
      if (counts) least = std::min(least, of.orders.judged(each, tried).seconds);
    } while (std::next_permutation(tried.begin(), tried.end()));
    CHECK(found <= as_listed);
    CHECK(found >= least * (1 - 1e-12));
    CHECK(found <= 1.05 * least);
    listed += as_listed, moved += found, best += least;
    turned += of.orders.find(each, slots_alone).seconds;
  }
  MESSAGE("over as listed: turns ", turned / listed, ", samples too ", moved / listed, ", best ",
          best / listed);
  CHECK(moved < turned);
  CHECK(moved < 0.98 * listed);
  CHECK(moved < 1.005 * best);
}

TEST_CASE("samples stay in the group that a loss compares") {
  plan how;
  how.cluster.ranks = 2;
  list<module_facts> facts;
  for (const char* const name : {"left", "right"}) {
    module_plan own = on_ranks(name, 0, {.data = 2}, 4);
    own.group = 2;
    how.modules.push(own);
    module_facts known;
    known.name = name;
    facts.push(known);
  }
  const program of = compile(require_proven(how, facts, 16).order);
  const program_samples samples(of, {sample_split{16, 2, 2, 2, {}}, sample_split{16, 2, 2, 2, {}}}, true);
  const place_clock clock(samples, list<stage_cost>(of.places.size(), stage_cost{1, 1, 1}));
  const program_order orders(samples, clock);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const ordered_step found = orders.find(drawn(2, 16, seed));
    CHECK(is_permutation(found.order, 16));
    for (motet::isize k = 0; k < 16; ++k) CHECK_EQ(found.order[k] / 8, k / 8);
  }
}

TEST_CASE("no sample leaves its group of ranks, and what a group finds follows from its own headers alone") {
  const grouped rows[] = {{8, {{0, 1, 8, 1}}, 48, 2, 4},
                          {8, {{0, 1, 8, 1}}, 48, 3, 3},
                          {8, {{0, 1, 8, 2}}, 48, 1, 8},
                          // Replicas of two modules on other ranks: a node has two of each.
                          {8, {{0, 1, 4, 2}, {4, 1, 4, 2}}, 32, 2, 2},
                          {8, {{0, 1, 4, 2}, {4, 1, 4, 2}}, 32, 8, 1},
                          // Two pipelines whose stages are on other nodes; and four replicas before two.
                          {4, {{0, 2, 2, 4}}, 16, 1, 2},
                          {6, {{0, 1, 4, 1}, {4, 1, 2, 2}}, 24, 1, 2},
                          // Each replica of the first feeds all of the second, so that all are one group.
                          {4, {{0, 1, 2, 6}, {2, 1, 2, 3}}, 24, 1, 1}};
  double all_listed = 0, all_found = 0;
  for (const grouped& each : rows) {
    CAPTURE(&each - rows);
    const chain of(each.ranks, each.modules, each.count, each.together);
    REQUIRE_EQ(of.samples.groups(), each.groups);
    list<std::int32_t> group;
    for (motet::isize b = 0; b < of.samples.blocks().size(); ++b)
      group.resize(of.samples.blocks()[b].places.end, of.samples.group_of(b));
    const auto modules = static_cast<std::int32_t>(of.samples.modules());
    constexpr swap_limits few{.tries = 24};
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const step_headers headers = drawn(modules, each.count, seed);
      const step_questions asked = seed == 1 ? step_questions{} : ranks_alone;
      const ordered_step found = of.orders.find(headers, asked, few);
      CHECK(is_permutation(found.order, each.count));
      // Microbatches of all replicas meet in the loss, so a group may wait for others that it did not know.
      CHECK(found.seconds <= of.orders.as_listed(headers).seconds * 1.1);
      all_listed += of.orders.as_listed(headers).seconds;
      all_found += found.seconds;
      for (motet::isize p = 0; p < found.order.size(); ++p) CHECK_EQ(group[p], group[found.order[p]]);
      CHECK_EQ(of.orders.find(headers, asked, few).order, found.order);
      // The headers of other groups are others, and the first group finds what it found.
      step_headers others = drawn(modules, each.count, seed + 100);
      for (motet::isize k = 0; k < headers.work.size(); ++k)
        if (group[k % each.count] == 0) others.work[k] = headers.work[k];
      const sample_order again = of.orders.find(others, asked, few).order;
      for (motet::isize p = 0; p < again.size(); ++p)
        if (group[p] == 0) CHECK_EQ(again[p], found.order[p]);
    }
  }
  MESSAGE("over as listed: " << all_found / all_listed);
  CHECK(all_found < 0.9 * all_listed);
}

TEST_CASE("a group of all ranks finds what is found without groups, and where each is one nothing moves") {
  const chain all(4, {{0, 1, 4, 1}}, 24), of_all(4, {{0, 1, 4, 1}}, 24, 4), alone(4, {{0, 1, 4, 1}}, 24, 1),
      pairs(4, {{0, 1, 4, 1}}, 24, 2);
  double whole = 0, paired = 0, listed = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const step_headers headers = drawn(1, 24, seed);
    const ordered_step found = all.orders.find(headers);
    CHECK_EQ(of_all.orders.find(headers).order, found.order);
    const sample_order own = alone.orders.find(headers).order;
    for (motet::isize p = 0; p < own.size(); ++p) CHECK_EQ(own[p] / 6, p / 6);
    whole += found.uneven;
    paired += pairs.orders.find(headers).uneven;
    listed += all.orders.as_listed(headers).uneven;
  }
  CHECK(whole < paired);
  CHECK(paired < listed);
}
