// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/require_times.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

module_times talk(std::int32_t tensor) {
  return {"talk", 2, 1e6, tensor, 1, 1, 1e-9, {{{4e6, 8e6, 4e6}, {4e-3, 4e-3, 1e-3}}}};
}
list<module_facts> planned() {
  list<module_facts> out;
  out.push({.name = "glue", .attends = false, .meets = false});
  out.push({.name = "talk", .layers = 2, .key_heads = 4, .from = {0}, .work = 1e6});
  return out;
}
void refused(const module_times& own, const char* code, const char* words, double bytes = 4) {
  machine_profile from;
  from.times.push(own);
  CHECK_THROWS_WITH_AS(require_times_of(from, "p.json", planned(), bytes), doctest::Contains(code), error);
  CHECK_THROWS_WITH_AS(require_times_of(from, "p.json", planned(), bytes), doctest::Contains(words), error);
}

}  // namespace

TEST_CASE("times of other models, and of other numbers, are refused by what differs") {
  machine_profile from;
  from.times.push(talk(2));
  CHECK_NOTHROW(require_times_of(from, "p.json", planned(), 4));
  CHECK_NOTHROW(require_times_of({}, "p.json", planned(), 2));
  module_times other = talk(2);
  other.module = "speak";
  refused(other, "MT-P103", "times[0] of p.json is of speak, wanted one of glue, talk");
  other = talk(2);
  other.layers = 3;
  refused(other, "MT-P103", "is of talk with layers 3, and the module that is planned has 2");
  other = talk(2);
  other.work = 1.1e6;
  refused(other, "MT-P103",
          "with 1100000 multiplications for a sample, and the module that is planned has 1000000");
  refused(talk(2), "MT-P95", "measured with numbers of 4 bytes between layers, and the run has numbers of 2",
          2);
}

TEST_CASE("towers take the pace of their recorded steps where they were not measured alone") {
  const tower_outline of{.name = "talk", .layers = 4, .width = 64, .heads = 4, .tokens = 16};
  const part_work all = work_of_layers(of, 0, 4), half = work_of_layers(of, 0, 2);
  machine_profile from;
  from.times.push(
      {"talk", 4, all.forward_flops / 2, 1, 1, 1, 0, {{{8 * all.forward_flops, 2, 2}, {8, 1, 1}}}});
  const device_facts device;
  training_bytes bytes;
  bytes.activation = 4;
  const part_times counted = times_of_layers(of, 0, 2, 8, {}, device, bytes),
                   seen = times_of_layers(of, 0, 2, 8, {}, device, bytes, &from);
  CHECK(seen.forward == doctest::Approx(8 * half.forward_flops / all.forward_flops));
  CHECK(seen.backward_input == doctest::Approx(8 * half.input_flops / 2));
  CHECK(seen.forward != doctest::Approx(counted.forward));
  model_shape model;
  model.towers.push(of);
  CHECK_NOTHROW(require_times_of(from, "p.json", model));
  // Another model's are not taken, and refused.
  from.times[0].work *= 2;
  CHECK(times_of_layers(of, 0, 2, 8, {}, device, bytes, &from).forward == counted.forward);
  CHECK_THROWS_WITH_AS(require_times_of(from, "p.json", model), doctest::Contains("MT-P103"), error);
  from.times[0].work /= 2;
  bytes.activation = 2;
  CHECK(times_of_layers(of, 0, 2, 8, {}, device, bytes, &from).forward ==
        times_of_layers(of, 0, 2, 8, {}, device, bytes).forward);
}
