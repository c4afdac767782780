// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/initialise.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("weights start as their parameters say, whatever stands beside them") {
  parameter_list list;
  list.matrix("a", 30, 100, {fill::normal, 0.5f});
  list.vector("gain", 5, {fill::ones, 0});
  list.vector("scale", 1, {fill::constant, 2.5f});
  list.vector("bias", 5, {});
  std::vector<float> all(static_cast<std::size_t>(list.used()), 7);
  initialise<float>(list.items(), 1, all.data(), list.used());
  const auto at = [&](int which, motet::index i) { return all[static_cast<std::size_t>(list.items()[static_cast<std::size_t>(which)].offset + i)]; };
  double sum = 0, squares = 0;
  for (motet::index i = 0; i < 3000; ++i)
    sum += static_cast<double>(at(0, i)), squares += static_cast<double>(at(0, i)) * static_cast<double>(at(0, i));
  CHECK(std::abs(sum / 3000) < 0.05);
  CHECK(std::sqrt(squares / 3000) == doctest::Approx(0.5).epsilon(0.05));
  CHECK(at(1, 4) == 1);
  CHECK(at(2, 0) == 2.5f);
  CHECK(at(3, 0) == 0);
  CHECK(all[static_cast<std::size_t>(list.items()[1].offset + 5)] == 0);  // a gap

  // Another place in memory, the same numbers; another name or seed, others.
  parameter_list moved;
  moved.vector("first", 40, {fill::ones, 0});
  moved.matrix("a", 30, 100, {fill::normal, 0.5f});
  std::vector<float> again(static_cast<std::size_t>(moved.used()));
  initialise<float>(moved.items(), 1, again.data(), moved.used());
  const auto offset = static_cast<std::size_t>(moved.items()[1].offset);
  CHECK(std::equal(again.begin() + static_cast<std::ptrdiff_t>(offset), again.begin() + static_cast<std::ptrdiff_t>(offset) + 3000, all.begin()));
  initialise<float>(moved.items(), 2, again.data(), moved.used());
  CHECK(again[offset] != all[0]);
}
