// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/contrast.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

matrix<const float> rows(const std::vector<float>& of, isize width) {
  return {of.data(), static_cast<isize>(of.size()) / width, width, width};
}

}  // namespace

TEST_CASE("of pairs that say the same, all answers are as likely") {
  const std::vector<float> same(5 * 4, 0.5f);
  CHECK(info_nce_of<float>(rows(same, 4), rows(same, 4), 10) == doctest::Approx(std::log(5.0)));
  // log(1 + e^-z) for the own one, log(1 + e^z) for the four others
  const double z = 10 * 1.0 - 3;
  CHECK(pairwise_sigmoid_of<float>(rows(same, 4), rows(same, 4), 10, -3) ==
        doctest::Approx(std::log1p(std::exp(-z)) + 4 * std::log1p(std::exp(z))));
}

TEST_CASE("rows and columns count alike, and a large scale does not overflow") {
  const std::vector<float> pictures{1, 0, 0, 1}, captions{1, 0, 1, 0};
  // Logits: s s / 0 0, so rows say ln 2 twice, columns ln(1 + e^-s) and s + ln(1 + e^-s).
  for (const double s : {2.0, 1000.0})
    CHECK(info_nce_of<float>(rows(pictures, 2), rows(captions, 2), s) ==
          doctest::Approx((2 * std::log(2.0) + s + 2 * std::log1p(std::exp(-s))) / 4));
  const std::vector<float> apart{1, 0, 0, 1};
  CHECK(info_nce_of<float>(rows(apart, 2), rows(apart, 2), 1000) == doctest::Approx(0));
  CHECK(pairwise_sigmoid_of<float>(rows(apart, 2), rows(apart, 2), 1000, 0) ==
        doctest::Approx(std::log(2.0)));
  CHECK(std::isfinite(pairwise_sigmoid_of<float>(rows(pictures, 2), rows(captions, 2), 1e6, 0)));
}

TEST_CASE("without pairs there is nothing to lose") {
  const matrix<const float> none{nullptr, 0, 4, 4};
  CHECK(info_nce_of<float>(none, none, 10) == 0);
  CHECK(pairwise_sigmoid_of<float>(none, none, 10, 0) == 0);
}
