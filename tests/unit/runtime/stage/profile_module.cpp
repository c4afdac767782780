// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/profile_module.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/model/module.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/describe/tower_of.hpp>
#include <motet/runtime/stage/stage_work.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4}>;
using eye = vit<vit_config{
    .image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 4, .embedding = 4, .pool = pool_kind::mean}>;
profile_options quick(std::vector<std::int32_t> degrees, std::vector<motet::isize> samples) {
  return {degrees, samples, 1, 0};
}

template <class Module>
module_profile measured(const profile_options& how) {
  return profile_module<Module, cpu::context, fp32>(tower_of<Module>(), how);
}

template <class Net>
double flops_of_parts(motet::isize samples, std::int32_t degree) {
  silent_group others(degree, 0);
  replica_microbatches<Net> parts({samples, 1, 1, 1}, 0, {degree, 0}, any_group(others));
  const random_input<Net> input(samples);
  parts.cut(input.all());
  const tensor_cut cut{degree, 0};
  const double blocks = static_cast<double>(Net::body::count);
  return detail::timed_part<tower_part::before, Net, cpu::context, fp32>(parts, cut).flops() +
         blocks * detail::timed_part<tower_part::block, Net, cpu::context, fp32>(parts, cut).flops() +
         detail::timed_part<tower_part::behind, Net, cpu::context, fp32>(parts, cut).flops();
}
template <class Net>
double flops_of_stage(motet::isize samples, std::int32_t degree) {
  silent_group others(degree, 0);
  const replica_microbatches<Net> parts({samples, 1, 1, 1}, 0, {degree, 0}, any_group(others));
  stage_position at;
  at.range = Net::whole;
  at.cut = {degree, 0};
  const stage_work found = work_of_stage(table_of_net<Net, cpu::context, fp32>, at, parts, {degree, 0});
  return found.forward + found.backward_input + found.backward_weight;
}

}  // namespace

TEST_CASE("the parts that are timed do the work of a stage") {
  for (const std::int32_t degree : {1, 2}) {
    CHECK(flops_of_parts<ear>(6, degree) == doctest::Approx(flops_of_stage<ear>(6, degree)).epsilon(1e-3));
    CHECK(flops_of_parts<eye>(5, degree) == doctest::Approx(flops_of_stage<eye>(5, degree)).epsilon(1e-3));
  }
  CHECK(flops_of_parts<ear>(6, 2) < 0.65 * flops_of_parts<ear>(6, 1));
}

TEST_CASE("every part of every point takes time") {
  const module_profile found = measured<module<"ear", ear>>(quick({2, 1}, {4, 2}));
  CHECK(found.of == tower_of<module<"ear", ear>>());
  REQUIRE(found.points.size() == 4);
  const std::pair<int, double> wanted[] = {{1, 2}, {1, 4}, {2, 2}, {2, 4}};
  for (motet::isize i = 0; i < 4; ++i) {
    const profile_point& at = found.points[i];
    CHECK(at.tensor == wanted[i].first);
    CHECK(at.samples == wanted[i].second);
    for (const tower_part which : {tower_part::before, tower_part::block, tower_part::behind}) {
      CHECK(at.of(which).forward > 0);
      CHECK(at.of(which).backward() > 0);
      CHECK(at.of(which).backward_input >= 0);
      CHECK(at.of(which).backward_weight >= 0);
      CHECK(at.of(which).forward < 1);
    }
  }
}

TEST_CASE("more samples than one tensor group shares, and fewer") {
  const module_profile found = measured<module<"eye", eye>>(quick({4}, {1, 9}));
  REQUIRE(found.points.size() == 2);
  CHECK(found.points[0].block.forward > 0);
}

TEST_CASE("what is frozen has no backward") {
  const module_profile found = measured<module<"eye", frozen<eye>>>(quick({1}, {2}));
  CHECK(found.of.frozen);
  CHECK(found.points[0].block.forward > 0);
  CHECK(found.points[0].behind.forward > 0);
  CHECK(found.points[0].block.backward() + found.points[0].before.backward() +
            found.points[0].behind.backward() ==
        0);
}

TEST_CASE("numbers of two bytes") {
  const module_profile found = profile_module<module<"ear", ear>, cpu::context, mixed_bf16>(
      tower_of<module<"ear", ear>>(), quick({2}, {3}));
  CHECK(found.points[0].block.backward() > 0);
}

TEST_CASE("degrees that a layer cannot be cut by, and no samples, are refused") {
  CHECK_THROWS_WITH_AS((measured<module<"ear", ear>>(quick({3}, {2}))), doctest::Contains("MT-S09"), error);
  CHECK_THROWS_WITH_AS((measured<module<"ear", ear>>(quick({0}, {2}))), doctest::Contains("ear over 0 ranks"),
                       error);
  CHECK_THROWS_WITH_AS((measured<module<"ear", ear>>(quick({1}, {0}))), doctest::Contains("MT-R02"), error);
}
