// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/step_shares.hpp>

#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/gpipe.hpp>

#include <doctest/doctest.h>

using namespace motet;
using counts = list<motet::isize>;

namespace {

// Module 0: two replicas of two stages, on the ranks 0, 1 and 2, 3; module 1 on rank 4.
program towers() {
  const score one = joined(beside(gpipe::write({2, 2}), gpipe::write({1, 2})), 1);
  return compile(placed(
      one, {{2, 1}, {1, 1}}, 5,
      [](std::int32_t v, std::int32_t r, std::int32_t, std::int32_t s) { return v == 0 ? 2 * r + s : 4; }));
}
constexpr std::string_view names[] = {"picture", "caption"};

// The seconds of other processes come by their sum.
struct others {
  std::vector<double> found;
  int asked = 0;
  void sum(double* numbers, motet::isize count) {
    ++asked;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      numbers[i] += i < found.size() ? found[i] : 0;
  }
};
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const error& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("shares change every so many steps, by what all ranks measured") {
  const program of = towers();
  REQUIRE(of.places.size() == 5);
  step_shares shares(of, splits_of(of, 16), names,
                     {.every = 2, .most = 1.5, .step = 1, .smoothing = 0, .worth = 0});
  CHECK(shares.of(0) == counts{8, 8});
  CHECK(shares.of(1) == counts{16});
  REQUIRE(shares.clock() != nullptr);
  // Places: both stages of replica 0, both of replica 1, module 1. The second stage of replica 0 is
  // elsewhere, and three times as slow.
  others ranks{{0, 6, 0, 0, 0}};
  for (int k = 0; k < 2; ++k) {
    for (const int place : {0, 2, 3, 4}) shares.clock()[place] += 1;
    const bool moved = shares.end_step(ranks);
    CHECK(moved == (k == 1));
    CHECK(ranks.asked == k);
  }
  CHECK(shares.of(0) == counts{4, 12});
  CHECK(shares.splits()[0].of(0, 1, 0).begin == 4);
  // It begins at zero again, and seconds that shares explain change nothing.
  for (int place = 0; place < 5; ++place) CHECK(shares.clock()[place] == 0);
  ranks.found = {0, 2 * 1.5, 0, 0, 0};
  for (int k = 0; k < 2; ++k) {
    shares.clock()[0] += 0.5;
    for (const int place : {2, 3}) shares.clock()[place] += 1.5;
    shares.clock()[4] += 1;
    CHECK(!shares.end_step(ranks));
  }
  CHECK(ranks.asked == 2);
}

TEST_CASE("without `every` nothing is measured, and nobody is asked") {
  const program of = towers();
  step_shares shares(of, splits_of(of, 16), names, {});
  others ranks;
  CHECK(shares.clock() == nullptr);
  for (int k = 0; k < 5; ++k) CHECK(!shares.end_step(ranks));
  CHECK(ranks.asked == 0);
}

TEST_CASE("by hand: what was measured before does not count for the new shares") {
  const program of = towers();
  step_shares shares(of, splits_of(of, 16), names,
                     {.every = 1, .most = 1.5, .step = 1, .smoothing = 0, .worth = 0});
  for (int place = 0; place < 5; ++place) shares.clock()[place] = 1;
  shares.set(0, {5, 11});
  CHECK(shares.of(0) == counts{5, 11});
  for (int place = 0; place < 5; ++place) CHECK(shares.clock()[place] == 0);
  CHECK(
      refusal([&] {
        shares.set(0, {3, 13});
      }).find("shares of picture are 3, 13; its 2 replicas share 16 samples of a group, each has 2 to 12") !=
      std::string::npos);
  CHECK(refusal([&] { shares.set(0, {}); }).find("shares of picture are none") != std::string::npos);
  CHECK(refusal([&] { shares.set(1, {15}); }).find("its 1 replicas share 16 samples of a group") !=
        std::string::npos);
  CHECK(refusal([&] { shares.set(-1, {15}); }).find("resplit: module is -1, must be one of 2") !=
        std::string::npos);
  CHECK(shares.of(0) == counts{5, 11});
}

TEST_CASE("options out of range are refused, one sentence for each") {
  const auto made = [](const resplit_options& how) { return refusal([&] { step_shares::checked(how); }); };
  CHECK(made({}) == "nothing was refused");
  CHECK(made({.every = 1, .most = 1.25}) == "nothing was refused");
  CHECK(made({.every = -2}).find("MT-R02") != std::string::npos);
  CHECK(made({.every = -2}).find("resplit: every is -2, must be a number of steps") != std::string::npos);
  CHECK(made({.every = 0, .most = 0.5}).find("most is 0.500000, must be 1 or more") != std::string::npos);
  CHECK(made({.every = 3, .most = 1}).find("must be above 1 where shares move") != std::string::npos);
  CHECK(made({.every = 3, .most = 2, .step = 0}).find("step is 0.000000, must be above 0") !=
        std::string::npos);
  CHECK(made({.every = 3, .most = 2, .step = 1, .smoothing = 1})
            .find("smoothing is 1.000000, must be 0 or more, and below 1") != std::string::npos);
  CHECK(made({.every = 3, .most = 2, .step = 1, .smoothing = 0, .worth = -1}).find("worth is -1.000000") !=
        std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(made({.every = 0, .most = nan}).find("most is") != std::string::npos);
  CHECK(run_identity::differences(
            {step_shares::identity_of({.every = 3}), step_shares::identity_of({.every = 4})})
            .find("the resplit is every 3") == 0);
}
