// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/count_step.hpp>

#include <unit/runtime/small_model.hpp>

#include "single_rank.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace motet;
using idx = motet::isize;

namespace {

std::map<std::string, double> flops_by_section(const step_costs& costs) {
  std::map<std::string, double> out;
  for (const section_cost& each : costs) {
    std::string path = costs.path(each);
    out[path.substr(0, path.find(' '))] += each.flops;
  }
  return out;
}

}  // namespace

TEST_CASE("a counted step is what a step does, section by section") {
  constexpr idx samples = 6;
  single_rank<small_model, fp32> train(samples, 1);
  const std::vector<float> pixels(samples * 3 * 64);
  const std::vector<std::int32_t> ids(samples * 6);
  const step_costs step =
      train.costs({pictures{pixels.data(), samples}, tokens{ids.data(), {samples, 6, nullptr}}});
  const auto& table = table_of_model<small_model, cpu::context, fp32>;
  const step_costs counted = count_step(table, samples);
  const auto found = flops_by_section(counted), wanted = flops_by_section(step);
  for (const char* const name : {"picture", "caption", "loss"}) {
    CHECK(found.at(name) > 0);
    CHECK(found.at(name) == wanted.at(name));
  }
  // A sum of squares, and AdamW.
  CHECK(found.at("optimizer") == 14.0 * static_cast<double>(small_model::trainable_size));

  // Shorter captions are less work, as a step of them says.
  const small_batch data(samples);
  const auto whole = data.get();
  const step_costs shorter = count_step(table, samples, inputs_of<small_model>(whole));
  CHECK(flops_by_section(shorter).at("picture") == found.at("picture"));
  CHECK(flops_by_section(shorter).at("caption") < found.at("caption"));
  CHECK(shorter.flops() - flops_by_section(shorter).at("optimizer") ==
        doctest::Approx(train.costs(whole).flops()));
}

TEST_CASE("a frozen module runs forward alone") {
  using still = model<join<info_nce, motet::module<"picture", frozen<small_picture::net>>, small_caption>>;
  const auto all = flops_by_section(count_step(table_of_model<small_model, cpu::context, fp32>, 4)),
             some = flops_by_section(count_step(table_of_model<still, cpu::context, fp32>, 4));
  CHECK(some.at("picture") < 0.4 * all.at("picture"));
  CHECK(some.at("caption") == all.at("caption"));
  CHECK(some.at("optimizer") < all.at("optimizer"));
}
