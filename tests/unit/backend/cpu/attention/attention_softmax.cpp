// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/attention/attention_softmax.hpp>

#include <cmath>
#include <vector>

namespace {

using motet::isize;

static_assert(motet::cpu::visible_columns{3, 1}.of(0, 10) == 3);
static_assert(motet::cpu::visible_columns{-2, 1}.of(1, 10) == 0);
static_assert(motet::cpu::visible_columns{3, 1}.of(20, 10) == 10);

TEST_CASE("softmax over tiles is the softmax over the whole row") {
  const isize m = 3, n = 24, stride = 32;
  const double scale = 0.7;
  std::vector<double> scores(static_cast<std::size_t>(2 * m * stride), 0.0);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = std::sin(static_cast<double>(i)) * 5;
  const std::vector<double> before = scores;
  std::vector<double> peak(8, -INFINITY), sum(8, 0.0), fade(8, 0.0), faded(8, 1.0);
  double* tiles[2] = {scores.data(), scores.data() + m * stride};
  for (double* tile : tiles) {
    motet::cpu::tiles::softmax<double>(m, n, {n, 0}, scale, tile, stride, peak.data(), sum.data(),
                                       fade.data());
    if (tile == tiles[1])
      for (isize i = 0; i < m; ++i) faded[static_cast<std::size_t>(i)] = fade[static_cast<std::size_t>(i)];
  }
  for (isize i = 0; i < m; ++i) {
    double total = 0;
    for (int t = 0; t < 2; ++t)
      for (isize j = 0; j < n; ++j)
        total += std::exp2(scale * before[static_cast<std::size_t>(t * m * stride + i * stride + j)]);
    for (int t = 0; t < 2; ++t)
      for (isize j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(t * m * stride + i * stride + j);
        const double got =
            scores[at] * (t == 0 ? faded[static_cast<std::size_t>(i)] : 1) / sum[static_cast<std::size_t>(i)];
        CHECK(got == doctest::Approx(std::exp2(scale * before[at]) / total).epsilon(1e-9));
      }
  }
}

TEST_CASE("what a row may not see has no share") {
  const isize m = 2, n = 16;
  std::vector<float> s(static_cast<std::size_t>(m * n), 1.0f), peak(8, -INFINITY), sum(8, 0.0f),
      fade(8, 0.0f);
  motet::cpu::tiles::softmax<float>(m, n, {3, 2}, 1.0f, s.data(), n, peak.data(), sum.data(), fade.data());
  CHECK(sum[0] == doctest::Approx(3));
  CHECK(sum[1] == doctest::Approx(5));
  CHECK(s[2] == doctest::Approx(1));
  CHECK(s[3] == 0.0f);
  CHECK(s[static_cast<std::size_t>(n) + 5] == 0.0f);
}

}  // namespace
