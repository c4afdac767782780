// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/training_bytes.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("usual numbers are those of single precision with two moments") {
  constexpr training_bytes usual;
  static_assert(usual.weight + usual.gradient + usual.state == 16);
  static_assert(usual.activation == 2);
  static_assert(usual.kept == 1 && usual.uncut == 0);
}

TEST_CASE("every number counts") {
  double training_bytes::*const fields[] = {&training_bytes::weight,  &training_bytes::gradient,
                                            &training_bytes::state,   &training_bytes::activation,
                                            &training_bytes::feature, &training_bytes::kept,
                                            &training_bytes::uncut};
  CHECK(sizeof(fields) / sizeof(fields[0]) * sizeof(double) == sizeof(training_bytes));
  for (double training_bytes::*const each : fields) {
    training_bytes other;
    other.*each += 0.5;
    CHECK_FALSE(other == training_bytes{});
  }
}
