// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/orchestrate.hpp>

#include "unit/plan/disttrain/counted_speech.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {

// A language model almost by itself, of documents among short samples; exchanges of a cut sample take
// `exchanged` bytes each way, those of cut layers more than they save.
counted_graph documents(std::int32_t ranks, motet::isize samples, double exchanged, std::uint64_t seed) {
  counted_graph of =
      counted_speech({.ranks = ranks, .samples = samples, .eye = 1e5, .talk = 1e9, .parameters = 1e5});
  for (counted_cut& cut : of.cuts)
    if (cut.tensor * cut.context > 1)
      for (counted_module& each : cut.modules)
        each.forward_bytes = each.backward_bytes = cut.tensor > 1 ? 1e10 : exchanged;
  const random_stream draw(seed, "documents");
  std::uint64_t at = 0;
  for (step_headers& each : of.steps)
    for (std::int32_t s = 0; s < each.samples; ++s) {
      const motet::isize rows =
          draw.below(at++, 4) == 0 ? 600 + draw.below(at++, 400) : 20 + draw.below(at++, 60);
      const auto n = static_cast<double>(rows);
      each.rows[2 * samples + s] = n;
      each.work[2 * samples + s] = n * (1 + n / 1000) / 2000;  // a sample of 1,000 rows has a work of 1
    }
  return of;
}
plan cut_plan(const counted_graph& of, std::int32_t data, int microbatches) {
  plan out;
  out.cluster = of.shape();
  out.schedule = "1f1b";
  for (motet::isize k = 0; k < 3; ++k) {
    const degrees split = k == 2 ? degrees{.data = data, .context = 2} : degrees{.data = 2 * data};
    out.modules.push(on_ranks(of.facts[k].name, 0, split, k == 2 ? microbatches : 1));
    out.modules.back().group = 1;
  }
  return out;
}

// No part has more rows of a microbatch than if all of its samples were cut and had 1,000.
bool has_room(const counted_graph& of, const plan& how, int long_rows) {
  const sample_split split = how.modules[2].split(of.samples);
  for (const step_headers& each : of.steps)
    for (motet::isize g = 0; g < split.groups; ++g)
      for (motet::isize r = 0; r < split.replicas; ++r) {
        const interval all = split.of(g, r, 0);
        motet::isize rows[2] = {};
        for (motet::isize s = all.begin; s < all.end; ++s) {
          const auto n = static_cast<motet::isize>(each.rows[2 * each.samples + s]);
          const row_parts cut{.parts = 2, .balanced = true};
          if (n < long_rows) rows[2 * (s - all.begin) >= all.size() ? 1 : 0] += n;
          else rows[0] += cut.rows_of(n, 0), rows[1] += cut.rows_of(n, 1);
        }
        if (std::max(rows[0], rows[1]) > 500 * all.size()) return false;
      }
  return true;
}

}  // namespace

TEST_CASE("the rows of the longest sample and what pairs take are read off the headers") {
  const detail::work_of_length found(documents(2, 8, 1e6, 1).steps, 2);
  CHECK(found.row == doctest::Approx(1 / 2000.0));
  CHECK(found.pair == doctest::Approx(1 / 2e6));
  CHECK(found.longest == doctest::Approx(1000));
}

// All thresholds that make a difference, by playing the plan with each.
TEST_CASE("of all numbers of rows the one that is chosen makes the shortest step, or nearly") {
  int kept = 0, mixed = 0, exact = 0, all = 0;
  double worst = 1, worst_of_one = 1;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    const std::int32_t data = seed % 2 == 0 ? 1 : 2;
    const counted_graph of = documents(2 * data, 8, seed % 3 == 0 ? 1e7 : 4e7, seed);
    plan how = cut_plan(of, data, seed % 4 < 2 ? 1 : 2);
    REQUIRE(check_plan(how, of.facts, of.samples).ok());
    const int chosen = long_rows_of(of, how, 2);
    std::set<int> numbers{0};
    for (const step_headers& each : of.steps)
      for (std::int32_t s = 0; s < each.samples; ++s)
        numbers.insert(1 + static_cast<int>(each.rows[2 * each.samples + s]));
    CHECK(numbers.count(chosen) == 1);
    double least = 1e300, own = 0;
    for (const int each : numbers) {
      if (!has_room(of, how, each)) {
        CHECK(each != chosen);
        continue;
      }
      how.modules[2].long_rows = each;
      const double seconds = detail::seconds_of(of, of.mean_loads(), how);
      least = std::min(least, seconds);
      if (each == chosen) own = seconds;
    }
    double& longest = data == 1 ? worst_of_one : worst;
    longest = std::max(longest, own / least);
    ++all;
    exact += own <= least * (1 + 1e-9) ? 1 : 0;
    kept += chosen > 0 ? 1 : 0;
    mixed += chosen > 20 && chosen <= 600 ? 1 : 0;
    CHECK(prove_plan(how, of.facts, of.samples).ok());
  }
  // Of several replicas the rule adds up the longest parts, and a step takes the longest of all.
  CHECK(worst_of_one < 1.001);
  CHECK(worst < 1.15);
  CHECK(exact > all / 2);
  CHECK(kept > all / 2);
  CHECK(mixed > 3);
}

TEST_CASE("a search leaves short samples whole where that is shorter, and finds no longer step for it") {
  int whole = 0;
  for (const double exchanged : {1e6, 1e7, 2e7, 4e7}) {
    CAPTURE(exchanged);
    const counted_graph of = documents(2, 4, exchanged, 5);
    const promised_plans found = orchestrate(of);
    double all_cut = 1e300;
    for (const promised_plan& each : found.plans) {
      if (each.how.modules[2].long_rows == 0) all_cut = std::min(all_cut, each.seconds);
      else CHECK(each.how.modules[2].on.split().context > 1);
    }
    const promised_plan& best = found.plans.front();
    CHECK(best.seconds <= all_cut);
    if (best.how.modules[2].long_rows == 0) continue;
    ++whole;
    CHECK(best.seconds < all_cut);
    CHECK(prove_plan(best.how, of.facts, of.samples).ok());
  }
  CHECK(whole > 0);
}

TEST_CASE("where all samples are alike, and where no part is exchanged dearly, all are cut as before") {
  counted_graph of = counted_speech({.ranks = 2, .samples = 2, .eye = 1e5});
  CHECK(long_rows_of(of, cut_plan(of, 1, 2), 2) == 0);
  plan apart = cut_plan(of, 1, 1);
  apart.modules[2].on = mesh::from(0, {.data = 2});
  CHECK(long_rows_of(of, apart, 2) == 0);
  CHECK(with_long_rows(of, apart) == apart);
}
