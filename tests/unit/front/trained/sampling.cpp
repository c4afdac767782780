// SPDX-License-Identifier: Apache-2.0
#include <motet/front/trained/sampling.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <set>

using namespace motet;

namespace {

std::int32_t chosen(const std::vector<float>& logits, const saying& how, motet::isize before = 0) {
  token_choice choice;
  return choice.of(std::span<const float>(logits), how, before);
}
// Each token is chosen so often in many draws.
std::vector<double> shares(const std::vector<float>& logits, const saying& how) {
  std::vector<double> out(logits.size());
  constexpr int draws = 20000;
  token_choice choice;
  for (int i = 0; i < draws; ++i)
    out[static_cast<std::size_t>(choice.of(std::span<const float>(logits), how, i))] += 1.0 / draws;
  return out;
}

}  // namespace

TEST_CASE("without a temperature the likeliest token is chosen, the first of equals") {
  CHECK(chosen({1, 3, 2, 3}, {}) == 1);
  CHECK(chosen({-5}, {.temperature = 2}) == 0);
  CHECK(chosen({1, 2, 3}, {.temperature = 5, .top_k = 1}) == 2);
  CHECK(chosen({1, 2, 3}, {.temperature = 1e-6f}) == 2);
}

TEST_CASE("tokens are drawn by their probabilities, with what is cut off left out") {
  const std::vector<float> logits{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
  const auto near = [](double share) { return doctest::Approx(share).epsilon(0.05); };
  auto got = shares(logits, {.temperature = 1});
  CHECK(got[0] == near(0.1));
  CHECK(got[1] == near(0.4));
  CHECK(got[2] == near(0.2));
  got = shares(logits, {.temperature = 0.5f});  // squares
  CHECK(got[1] == near(0.16 / 0.30));
  got = shares(logits, {.temperature = 1, .top_k = 2});
  CHECK(got[0] == 0);
  CHECK(got[2] == 0);
  CHECK(got[1] == near(4.0 / 7));
  got = shares(logits, {.temperature = 1, .top_p = 0.65f});  // 0.4 and 0.3 have it together
  CHECK(got[0] == 0);
  CHECK(got[2] == 0);
  CHECK(got[3] == near(3.0 / 7));
  got = shares(logits, {.temperature = 1, .top_p = 1e-6f});
  CHECK(got[1] == doctest::Approx(1));
}

TEST_CASE("a seed and a place say which token is drawn") {
  const std::vector<float> logits(50, 0.0f);
  std::set<std::int32_t> seen;
  for (motet::isize place = 0; place < 20; ++place) {
    const std::int32_t token = chosen(logits, {.temperature = 1, .seed = 9}, place);
    CHECK(token == chosen(logits, {.temperature = 1, .seed = 9}, place));
    seen.insert(token);
  }
  CHECK(seen.size() > 5);
  int differ = 0;
  for (motet::isize place = 0; place < 20; ++place)
    differ += chosen(logits, {.temperature = 1, .seed = 9}, place) !=
              chosen(logits, {.temperature = 1, .seed = 10}, place);
  CHECK(differ > 10);
}

TEST_CASE("bad options and logits are refused") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(check_saying({.temperature = -1}), doctest::Contains("[MT-R17]"), error);
  CHECK_THROWS_WITH_AS(check_saying({.temperature = none}), doctest::Contains("temperature"), error);
  CHECK_THROWS_WITH_AS(check_saying({.top_p = 0}), doctest::Contains("top_p 0"), error);
  CHECK_THROWS_WITH_AS(check_saying({.top_p = none}), doctest::Contains("top_p"), error);
  CHECK_THROWS_WITH_AS(check_saying({.top_k = -2}), doctest::Contains("top_k -2"), error);
  CHECK_THROWS_WITH_AS(check_saying({.most = -1}), doctest::Contains("most -1"), error);
  CHECK_NOTHROW(check_saying({.times = {.first = 5, .words = 4}}));
  CHECK_THROWS_WITH_AS(check_saying({.times = {.first = 5, .words = 5}}),
                       doctest::Contains("times from token 5 on, words below 5; wanted words before times"),
                       error);
  CHECK_THROWS_WITH_AS(check_saying({.times = {.first = 5, .words = -1}}), doctest::Contains("[MT-R17]"),
                       error);
  CHECK_THROWS_WITH_AS(check_saying({.times = {.latest_begin = -1}}),
                       doctest::Contains("times.latest_begin -1"), error);
  CHECK_THROWS_WITH_AS(chosen({1, none}, {}), doctest::Contains("token 1 has"), error);
  CHECK_THROWS_WITH_AS(chosen({std::numeric_limits<float>::infinity()}, {}), doctest::Contains("[MT-R18]"),
                       error);
}
