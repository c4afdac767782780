// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/play/change_cost.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// Two bytes a parameter, nodes of four devices.
const state_costs costs{2, 100, 10, 50, 3};
double move(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to) {
  return costs.move_seconds(500, from, to, [](std::int32_t device) { return device / 4; });
}
}  // namespace

TEST_CASE("published costs are by devices, up to a most") {
  CHECK(change_costs{10, 40}.seconds(2) == 20);
  CHECK(change_costs{10, 40}.seconds(16) == 40);
}

TEST_CASE("what starts reads its state through storage and the links of its nodes") {
  CHECK(costs.load_seconds(500, 1) == doctest::Approx(3 + 100));  // one link is slower than storage
  CHECK(costs.load_seconds(500, 10) == doctest::Approx(3 + 20));  // ten are not
}

TEST_CASE("what stays on its device does not move, and the busiest link decides") {
  CHECK(move({0, 1}, {0, 1}) == 3);
  // All of the state to another node; within the node half of it, by a device.
  CHECK(move({0, 1}, {4, 5}) == doctest::Approx(3 + 100));
  CHECK(move({0, 1}, {0, 2}) == doctest::Approx(3 + 5));
  // Halved: the second half goes to the first device; doubled, and back, by the same links.
  CHECK(move({0, 1}, {0}) == doctest::Approx(3 + 5));
  CHECK(move({0}, {0, 4}) == doctest::Approx(3 + 50));
  CHECK(move({0, 4}, {0}) == doctest::Approx(3 + 50));
  // Two nodes send at once.
  CHECK(move({0, 4}, {8, 12}) == doctest::Approx(3 + 50));
  CHECK(move({0, 1, 2}, {4, 5}) == doctest::Approx(3 + 100));
}
