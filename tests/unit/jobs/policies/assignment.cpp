// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/policies/assignment.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace motet;

namespace {
assignment_problem drawn(std::uint64_t seed, std::size_t count, bool needed) {
  const random_stream chance(seed, "assignment");
  std::uint64_t at = 0;
  assignment_problem out;
  out.limits = {4, 6};
  out.most_changes = 2;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<assignment_choice> own;
    for (std::int32_t r = 0; r < 2; ++r)
      for (const double amount : {1.0, 2.0, 4.0}) {
        const double value = static_cast<double>(chance.uniform(at++)) * (1 + amount);
        own.push_back({value, r, amount, chance.below(at++, 3) == 0});
      }
    out.choices.push_back(own);
    out.needed.push_back(needed && i == 0 ? 1 : 0);
  }
  return out;
}
// All combinations.
double best_of(const assignment_problem& of) {
  double best = -1;
  std::vector<double> used(3, 0);
  const std::function<void(std::size_t, double)> go = [&](std::size_t who, double value) {
    if (used[0] > 4 || used[1] > 6 || used[2] > 2) return;
    if (who == of.choices.size()) {
      best = std::max(best, value);
      return;
    }
    if (of.needed[who] == 0) go(who + 1, value);
    for (const assignment_choice& each : of.choices[who]) {
      used[as_size(each.resource)] += each.amount, used[2] += each.changes ? 1 : 0;
      go(who + 1, value + each.value);
      used[as_size(each.resource)] -= each.amount, used[2] -= each.changes ? 1 : 0;
    }
  };
  go(0, 0);
  return best;
}
}  // namespace

TEST_CASE("answers keep all limits, and lie between the best answer and the bound") {
  double found = 0, most = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const assignment_problem of = drawn(seed, 5, seed % 2 == 0);
    const double best = best_of(of);
    assignment_solver solver;
    const assignment_answer got = solver.solve(of);
    CAPTURE(seed);
    REQUIRE(got.feasible);
    CHECK(got.bound >= best - 1e-9);
    CHECK(got.value <= best + 1e-9);
    CHECK((of.needed[0] == 0 || got.chosen[0] >= 0));
    double used[3] = {}, value = 0;
    for (std::size_t i = 0; i < of.choices.size(); ++i) {
      if (got.chosen[i] < 0) continue;
      const assignment_choice& each = of.choices[i][as_size(got.chosen[i])];
      used[each.resource] += each.amount, used[2] += each.changes ? 1 : 0, value += each.value;
    }
    CHECK(value == doctest::Approx(got.value));
    CHECK((used[0] <= 4 && used[1] <= 6 && used[2] <= 2));
    found += got.value, most += best;
  }
  CHECK(found > 0.95 * most);
}

TEST_CASE("gaps are small where many are alike, and smaller where the prices are known already") {
  assignment_problem of;
  of.limits = {160, 160, 40};
  const random_stream chance(3, "alike");
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<assignment_choice> own;
    for (std::int32_t r = 0; r < 3; ++r)
      for (const double amount : {1.0, 2.0, 4.0, 8.0})
        own.push_back({(1 + chance.below(i, 3)) * std::sqrt(amount) * (1 + 0.5 * r), r, amount});
    of.choices.push_back(own);
  }
  assignment_solver solver;
  const assignment_answer first = solver.solve(of), again = solver.solve(of, first.chosen);
  CHECK(first.gap() < 0.01);
  CHECK(again.gap() <= first.gap());
  CHECK(again.value >= first.value);
}

TEST_CASE("what cannot be is said, and a start is kept where nothing better is found") {
  assignment_problem of;
  of.limits = {1};
  of.choices = {{{1, 0, 1}}, {{1, 0, 1}}};
  of.needed = {1, 1};
  assignment_solver solver;
  CHECK_FALSE(solver.solve(of).feasible);
  of.needed = {0, 1};
  const assignment_answer got = solver.solve(of, {-1, 0});
  CHECK(got.feasible);
  CHECK(got.chosen[1] == 0);
  CHECK(got.gap() < 1e-6);
}
