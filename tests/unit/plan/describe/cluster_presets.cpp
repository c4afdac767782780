// SPDX-License-Identifier: Apache-2.0
#include "fuzz/cluster_targets.hpp"
#include "fuzz/mutate.hpp"

#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;
using doctest::Approx;

namespace {

void check_refused(const char* text, const std::string& code, const std::string& says) {
  CAPTURE(std::string(text));
  std::string said;
  try {
    static_cast<void>(cluster_named(text));
  } catch (const error& problem) {
    said = problem.what();
    CHECK(problem.code() == code);
  }
  CAPTURE(said);
  CHECK(said.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE(
    "every known cluster has a name of its own, all its rates, and wires in the order that machines have "
    "them") {
  std::set<std::string> names;
  for (const cluster_facts& each : known_clusters) {
    CAPTURE(std::string(each.name.view()));
    CHECK(names.insert(std::string(each.name.view())).second);
    CHECK(find_cluster(each.name.view()) == &each);
    CHECK(cluster_named(each.name.view()) == each);
    CHECK(each.device.name.view().size() > 3);
    CHECK(each.device.half_flops >= each.device.single_flops);
    CHECK(each.device.single_flops > each.device.bytes_per_second);
    CHECK(each.device.memory_bytes >= 1 << 30);
    CHECK((each.device.products.best > 0 && each.device.products.best <= 1));
    CHECK(each.device.bytes_per_second > each.inside.bytes_per_second);
    CHECK(each.inside.latency < each.between.latency);
    CHECK(each.inside.bytes_per_second > each.between.bytes_per_second / each.devices_per_node);
    // Devices may share a way out, and then one alone has more than its part of it.
    CHECK(each.of_device <= each.between.bytes_per_second);
  }
  CHECK(find_cluster("V100") == nullptr);
  CHECK(find_cluster("v100:8") == nullptr);
  CHECK(find_cluster("") == nullptr);
}

TEST_CASE("v100 is the cluster of the paper: 64 devices of 16 GB") {
  constexpr const cluster_facts* paper = find_cluster("v100");
  static_assert(paper->nodes == 8 && paper->devices_per_node == 8);
  CHECK(paper->device.half_flops == 125e12);
  CHECK(paper->device.single_flops == 15.7e12);
  CHECK(paper->device.bytes_per_second == 900e9);
  CHECK(paper->device.memory_bytes < 16.0 * (1 << 30));
  CHECK(paper->device.memory_bytes > 14.0 * (1 << 30));
  // Six links of 25 GB/s, of which collectives reach four fifths.
  CHECK(paper->inside.bytes_per_second == Approx(0.8 * 6 * 25e9));
  // Eight devices share a way out that is far narrower.
  CHECK(paper->between.bytes_per_second < paper->inside.bytes_per_second / 8);
  CHECK(find_cluster("h200")->device.memory_bytes > 1.7 * find_cluster("h100")->device.memory_bytes);
}

TEST_CASE("16 bytes a parameter everywhere but on v100, where the published runs had less than 10") {
  const auto sum = [](const training_bytes& of) { return of.weight + of.gradient + of.state; };
  for (const cluster_facts& each : known_clusters) {
    CAPTURE(each.name.view());
    if (each.name == "v100") {
      CHECK(sum(each.bytes) < 10);
      CHECK(each.bytes.kept > 1);
      CHECK(each.bytes.activation == 2);
      CHECK(each.bytes.feature == 4);
      // 1.52 billion parameters, and some samples beside them.
      CHECK(1.52e9 * sum(each.bytes) < 0.8 * each.device.memory_bytes);
    } else {
      CHECK(each.bytes == training_bytes{});
    }
  }
  CHECK(cluster_named("v100:2x4").bytes == find_cluster("v100")->bytes);
}

TEST_CASE("a name with a size is the same machine, smaller or larger") {
  cluster_facts wanted = *find_cluster("h100");
  wanted.nodes = 512;
  CHECK(cluster_named("h100:512") == wanted);
  wanted.nodes = 3;
  wanted.devices_per_node = 4;
  CHECK(cluster_named("h100:3x4") == wanted);
  CHECK(cluster_named("a100:1048576x1").devices() == 1 << 20);
  CHECK(cluster_named("laptop:1x2").devices() == 2);
}

TEST_CASE("other names and sizes are refused") {
  check_refused("v101", "MT-P75",
                "got \"v101\", wanted one of v100, a100, h100, h200, a800-96, a800-1296, laptop, or a file");
  check_refused("", "MT-P75", "got \"\", wanted one of");
  check_refused(" v100", "MT-P75", "wanted one of");
  check_refused(":4", "MT-P75", "wanted one of");
  for (const char* text :
       {"v100:", "v100:0", "v100:-1", "v100:+1", "v100: 1", "v100:1x", "v100:1x0", "v100:x8", "v100:1x8x2",
        "v100:1X8", "v100:8 ", "v100:1e3", "v100:99999999999", "v100:1x99999999999"})
    check_refused(text, "MT-P76", "got \"" + std::string(text) + "\", wanted numbers of at least 1");
  check_refused("v100:1048577", "MT-P76", "v100:1048577 are 8388616 devices, wanted at most 1048576");
  check_refused("v100:2147483647x2147483647", "MT-P76", "are 4611686014132420609 devices");
}

TEST_CASE("damaged names are refused or name a cluster") {
  const std::vector<std::string> seeds{"v100:12x34", "h200:4096", "a100", "laptop:1x8", "h100:131072x8"};
  int counts[2] = {};
  for (std::uint64_t n = 0; n < 5000; ++n) ++counts[fuzz_cluster_name(mutated(seeds, n))];
  CHECK(counts[0] > 1000);
  CHECK(counts[1] > 100);
}
