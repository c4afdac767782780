// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/step_costs.hpp>

#include <string>
#include <vector>

namespace motet {

TEST_CASE("sections lie inside each other, and equal names in one place are one section") {
  step_costs costs;
  CHECK(costs.begin() == costs.end());
  const std::string copied = "tower";  // another address
  const int tower = costs.inside(-1, "tower"), mlp = costs.inside(tower, "mlp");
  CHECK(costs.inside(-1, copied.c_str()) == tower);
  CHECK(costs.inside(-1, "mlp") != mlp);
  costs.at(mlp).flops += 5;
  costs.at(-1).flops += 2;
  CHECK(costs.path(costs.at(mlp)) == "tower / mlp");
  CHECK(costs.path(costs.at(-1)) == "other");
  CHECK(costs.flops() == 7);
  costs.clear();
  CHECK(costs.begin() == costs.end());
}

TEST_CASE("too many sections share the last") {
  step_costs costs;
  std::vector<std::string> names;
  for (int i = 0; i < step_costs::capacity + 3; ++i) names.push_back(std::to_string(i));
  int last = 0;
  for (const auto& each : names) last = costs.inside(-1, each.c_str());
  CHECK(last == step_costs::capacity - 1);
  CHECK(costs.end() - costs.begin() == step_costs::capacity);
}

}  // namespace motet
