// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/tower_times.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/quotas/quotas_of_towers.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace motet;

namespace {

template <class Call>
std::string thrown(Call&& call) {
  try {
    call();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("with all multiprocessors a tower takes what estimates of plans say") {
  const cluster_facts on = cluster_named("h100:1x4");
  for (const char* const name : {"b16", "clip-1.1b", "three-towers", "locked-1.1b"}) {
    const model_shape model = find_model(name)->make();
    const quota_question asked = quotas_of_towers(model, on, 64);
    REQUIRE(static_cast<isize>(asked.modules.size()) == model.towers.size());
    for (isize k = 0; k < model.towers.size(); ++k) {
      for (const double samples : {1.0, 16.0, 300.0}) {
        CAPTURE(name);
        CAPTURE(k);
        CAPTURE(samples);
        const tower_outline& tower = model.towers[k];
        const part_times wanted = times_of_layers(tower, 0, tower.layers, samples, {}, on.device, on.bytes);
        const quota_module& found = asked.modules[as_size(k)];
        CHECK(found.forward.seconds(samples, 132) == doctest::Approx(wanted.forward).epsilon(1e-6));
        CHECK(found.backward.seconds(samples, 132) == doctest::Approx(wanted.backward()).epsilon(1e-6));
        CHECK(found.forward.seconds(samples, 64) >= found.forward.seconds(samples, 72));
      }
    }
  }
}
TEST_CASE("a layer on 64 of 132 multiprocessors is slower about as published") {
  // A layer of a language model of 8 billion parameters, one row a sample, without attention, forward.
  tower_outline layer{
      .name = "layer", .layers = 1, .width = 4096, .heads = 32, .key_heads = 8, .hidden = 14336};
  layer.gated = layer.rms = true;
  layer.positions = false;
  const cluster_facts h100 = cluster_named("h100");
  const quota_module made = quota_module_of(layer, h100.device, multiprocessors_of(h100.device), h100.bytes);
  const struct {
    double rows, slower;
  } published[] = {{128, 1.24},  {256, 1.46},  {512, 1.53}, {1024, 1.61},
                   {2048, 1.79}, {4096, 1.79}, {8192, 1.93}};
  double worst = 0;
  for (const auto& each : published) {
    const double found = made.forward.seconds(each.rows, 64) / made.forward.seconds(each.rows, 132);
    MESSAGE(each.rows << " rows: " << found << ", published " << each.slower);
    worst = std::fmax(worst, std::fabs(found / each.slower - 1));
  }
  CHECK(worst < 0.1);
}
TEST_CASE("devices whose shares nobody measured are refused") {
  const model_shape model = find_model("b16")->make();
  const std::string other = thrown([&] { quotas_of_towers(model, cluster_named("v100:1"), 64); });
  CHECK(other.find("MT-P100") != other.npos);
  CHECK(other.find("V100-SXM2-16GB, wanted one of H100 and H200") != other.npos);
  const std::string many = thrown([&] { quotas_of_towers(model, cluster_named("h100:16"), 64); });
  CHECK(many.find("MT-P101") != many.npos);
  CHECK(many.find("128 devices, wanted 1 to 64") != many.npos);
}
