// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/plan/quotas/quota_curve.hpp>

using namespace motet;

namespace {

// Milliseconds on an H100 with 132 multiprocessors, as published with github.com/simon-mo/green-ctx.
struct published_kernel {
  const char* name;
  std::vector<quota_point> points;
  double most_off;  // of the fitted line
};
const published_kernel published[] = {
    {"product, 4096 rows",
     {{8, 16.18}, {16, 8.05}, {32, 5.31}, {48, 3.19}, {64, 2.31}, {96, 1.54}, {128, 1.25}, {132, 1.29}},
     0.08},
    {"product, 16384 rows",
     {{8, 32.9}, {16, 16.3}, {32, 8.2}, {48, 5.45}, {64, 4.20}, {96, 3.06}, {132, 2.70}},
     0.06},
    {"attention, 8192 rows", {{8, 45.0}, {16, 22.6}, {32, 11.3}, {64, 5.69}, {96, 3.92}, {132, 2.89}}, 0.02},
    {"norm, 131072 rows",
     {{8, 7.72}, {16, 3.96}, {32, 2.03}, {48, 1.58}, {64, 1.47}, {96, 1.50}, {128, 1.50}, {132, 1.50}},
     0.03},
};

}  // namespace

TEST_CASE("a line up to a knee tells published times of kernels with fewer multiprocessors") {
  for (const published_kernel& each : published) {
    CAPTURE(each.name);
    const quota_fit found = fit_quotas(each.points);
    MESSAGE(each.name << ": off by " << 100 * found.error << " %, knee " << found.line.knee);
    CHECK(found.error < each.most_off);
  }
  // What memory holds up stops before half of the chip, products do not.
  CHECK(fit_quotas(published[3].points).line.knee <= 64);
  CHECK(fit_quotas(published[3].points).line.knee >= 32);
  CHECK((fit_quotas(published[0].points).line.knee == 0 || fit_quotas(published[0].points).line.knee >= 96));
}
TEST_CASE("three measured quotas tell the others: straight in one over the quota") {
  for (const published_kernel& each : published) {
    measured_class made{.samples = {1}, .quotas = {}, .points = {}};
    for (const quota_point& point : each.points)
      if (point.quota == 8 || point.quota == 132 || point.quota == (each.points.size() == 6 ? 64 : 48))
        made.quotas.push_back(point.quota), made.points.push_back(point.seconds);
    REQUIRE(made.quotas.size() == 3);
    double off = 0;
    for (const quota_point& point : each.points)
      off += std::fabs(made.seconds(1, point.quota) / point.seconds - 1) /
             static_cast<double>(each.points.size());
    CAPTURE(each.name);
    MESSAGE(each.name << ": off by " << 100 * off << " %");
    CHECK(off < 0.11);
    CHECK(made.seconds(1, 200) == made.seconds(1, 132));
  }
}
TEST_CASE("points are met, samples are straight between them, and a curve is the sum of its classes") {
  const measured_class made{
      .samples = {10, 20, 40}, .quotas = {8, 48, 132}, .points = {6, 2, 1, 10, 4, 2, 18, 8, 4}};
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t q = 0; q < 3; ++q)
      CHECK(made.seconds(made.samples[n], made.quotas[q]) == doctest::Approx(made.points[3 * n + q]));
  CHECK(made.seconds(30, 48) == doctest::Approx(6));
  CHECK(made.seconds(60, 48) == doctest::Approx(12));
  // Half way in 1/q between 1/8 and 1/48.
  CHECK(made.seconds(10, 1 / (0.5 / 8 + 0.5 / 48)) == doctest::Approx(4));
  const kernel_class computed{.lines = {{.fixed = 1, .scaled_each = 20, .knee = 64}, {.fixed = 3}}};
  CHECK(computed.seconds(1, 132) == 3);
  CHECK(computed.seconds(64, 64) == 21);
  CHECK(computed.seconds(64, 132) == 21);
  CHECK(phase_curve{.classes = {computed}, .measured = {made}}.seconds(10, 8) == doctest::Approx(26 + 6));
  // What was fitted of exact points is their line.
  const quota_fit exact = fit_quotas({{8, 5}, {16, 3}, {32, 2}});
  CHECK(exact.error < 1e-9);
  CHECK(exact.line.fixed == doctest::Approx(1));
  CHECK(exact.line.scaled == doctest::Approx(32));
}
