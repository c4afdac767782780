// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/rate.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("warm-up rises in a straight line, the cosine ends at the floor") {
  const rate_schedule rate{rate_kind::cosine, 2.0, 4, 24, 0.1};
  CHECK(rate.at(0) == doctest::Approx(0.5));
  CHECK(rate.at(3) == doctest::Approx(2.0));
  CHECK(rate.at(4) == doctest::Approx(2.0));
  CHECK(rate.at(14) == doctest::Approx(2.0 * (0.1 + 0.9 * 0.5)));
  CHECK(rate.at(24) == doctest::Approx(0.2));
  CHECK(rate.at(1000) == doctest::Approx(0.2));
  for (motet::isize step = 4; step < 23; ++step) CHECK(rate.at(step + 1) < rate.at(step));
}

TEST_CASE("a constant rate and runs without steps") {
  const rate_schedule constant{rate_kind::constant, 1.0, 2, 10};
  CHECK(constant.at(0) == doctest::Approx(0.5));
  CHECK(constant.at(500) == 1.0);
  const rate_schedule all_warmup{rate_kind::cosine, 1.0, 10, 10};
  CHECK(all_warmup.at(9) == doctest::Approx(1));
  const rate_schedule none{rate_kind::cosine, 1.0, 0, 0};
  CHECK(std::isfinite(none.at(0)));
}

TEST_CASE("a line falls evenly, and a delay comes before the warm-up") {
  const rate_schedule line{rate_kind::linear, 2.0, 2, 22, 0.5, 10};
  CHECK(line.at(0) == 0);
  CHECK(line.at(9) == 0);
  CHECK(line.at(10) == doctest::Approx(1));
  CHECK(line.at(11) == doctest::Approx(2));
  CHECK(line.at(12) == doctest::Approx(2));
  CHECK(line.at(17) == doctest::Approx(1.5));
  CHECK(line.at(22) == doctest::Approx(1));
  CHECK(line == line);
  CHECK(line != rate_schedule{});
}
