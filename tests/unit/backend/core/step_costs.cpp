// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <gpu/roofline.hpp>
#include <motet/backend/core/step_costs.hpp>

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

TEST_CASE("calls of an operation that cost alike are one line of each section that they are made in") {
  step_costs costs;
  const std::string copied = "norm_forward";  // another address
  const int mlp = costs.inside(costs.inside(-1, "tower"), "mlp");
  costs.note(mlp, "norm_forward", 8, 4);
  costs.note(mlp, "linear_forward", 100, 10, flops_of::products);
  costs.note(mlp, copied.c_str(), 8, 4);
  costs.note(-1, "norm_forward", 1, 2);
  costs.note(mlp, "linear_forward", 50, 10, flops_of::products);
  REQUIRE(costs.operations().end() - costs.operations().begin() == 4);
  const operation_cost* const found = costs.operations().begin();
  CHECK(found[0].calls == 2);
  CHECK(found[0].flops == 8);
  CHECK(found[0].bytes == 4);
  CHECK(costs.path(found[0]) == "tower / mlp");
  CHECK(std::string(found[1].name) == "linear_forward");
  CHECK(found[1].kind == flops_of::products);
  CHECK(found[1].calls == 1);
  CHECK(costs.path(found[2]) == "other");
  CHECK(found[3].flops == 50);
  CHECK(costs.at(mlp).flops == 166);
  CHECK(costs.at(mlp).bytes == 28);
  CHECK(costs.flops() == 167);
  CHECK(costs.unlisted() == 0);
  costs.clear();
  CHECK(costs.operations().begin() == costs.operations().end());
}

TEST_CASE("operations beyond the list are counted, and in their section") {
  step_costs costs;
  std::vector<std::string> names;
  for (int i = 0; i < step_costs::most_operations + 3; ++i) names.push_back(std::to_string(i));
  for (const auto& each : names) costs.note(-1, each.c_str(), 1, 2);
  CHECK(costs.operations().end() - costs.operations().begin() == step_costs::most_operations);
  CHECK(costs.unlisted() == 3);
  CHECK(costs.flops() == step_costs::most_operations + 3);
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

TEST_CASE(
    "a table of floors: the longer of FLOPs and bytes, inputs behind the step, and no operation without a "
    "kind") {
  const bench::chip slow{.gemm = 100, .bandwidth = 10, .link = 1, .launch = 0.5};
  step_costs costs;
  const int mlp = costs.inside(-1, "mlp");
  // 4 s by FLOPs, 3 s by bytes
  for (int i = 0; i < 2; ++i) costs.note(mlp, "linear_forward", 400, 30, flops_of::products);
  // FLOPs of elements bind nothing
  costs.note(mlp, "norm_forward", 1e6, 20);
  costs.note(mlp, "adamw", 0, 88);
  costs.note(-1, "bring", 0, 40);
  const bench::step_roofline found("tiny", 8, "fp32", false, 0, slow, costs);
  REQUIRE(found.rows.size() == 4);
  CHECK(found.rows[0].section == "mlp");
  CHECK(found.rows[0].floor == doctest::Approx(2 * 4));
  CHECK(found.rows[0].expected == doctest::Approx(2 * (4 / found.rows[0].family().of_gemm + 0.5)));
  CHECK(found.rows[1].floor == doctest::Approx(2));
  CHECK(found.rows[1].expected == doctest::Approx(2 / found.rows[1].family().of_bandwidth + 0.5));
  CHECK(found.rows[3].floor == 0);
  CHECK(found.rows[3].expected ==
        doctest::Approx(40 - found.rows[0].expected - found.rows[1].expected - found.rows[2].expected));
  CHECK(found.expected() == doctest::Approx(40));
  CHECK(found.floor() == doctest::Approx(8 + 2 + 8.8));
  CHECK(found.launches() == 4);
  CHECK(found.gemm_flops() == 800);

  CHECK(std::string(bench::kind_of_kernel("sum_of_chunks<float, one_group, add_sums<float>>")->name) ==
        "norm_backward_weight");
  CHECK(bench::kind_of_kernel("nvjet_hsh_128x256") == nullptr);
  costs.note(mlp, "fold", 1, 2);
  CHECK_THROWS_WITH(bench::step_roofline("tiny", 8, "fp32", false, 0, slow, costs),
                    "the operation fold has no kind: name it in operation_kinds of bench/gpu/roofline.hpp");
  for (int i = 0; i < step_costs::most_operations; ++i) costs.note(mlp, "zero", 0, i);
  CHECK_THROWS_WITH(bench::step_roofline("tiny", 8, "fp32", false, 0, slow, costs),
                    "5 calls found no place: raise step_costs::most_operations");
}

TEST_CASE("costs of another rank are added, section by section and operation by operation") {
  step_costs one, two;
  const int a = one.inside(-1, "picture"), in_a = one.inside(a, "mlp");
  one.note(in_a, "zero", 1, 2);
  one.at(a).seconds = 3;
  const int other = two.inside(-1, "loss"), b = two.inside(-1, "picture"), in_b = two.inside(b, "mlp");
  two.note(in_b, "zero", 1, 2);
  two.note(in_b, "zero", 1, 4);
  two.at(b).seconds = 4;
  two.at(other).seconds = 5;
  one.add(two);
  const auto seconds = [&](const std::string& path) {
    double sum = 0;
    for (const section_cost& each : one)
      if (one.path(each) == path) sum += each.seconds;
    return sum;
  };
  CHECK(seconds("picture") == 7);
  CHECK(seconds("loss") == 5);
  CHECK(one.flops() == 3);
  long calls = 0;
  double bytes = 0;
  for (const operation_cost& each : one.operations()) {
    CHECK(one.path(each) == "picture / mlp");
    calls += each.calls;
    bytes += static_cast<double>(each.calls) * each.bytes;
  }
  CHECK(calls == 3);
  CHECK(bytes == 8);
}

}  // namespace motet
