// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/files/cluster_json.hpp>
#include <motet/tools/process/this_machine.hpp>

#include <doctest/doctest.h>

using namespace motet;
using doctest::Approx;

namespace {

// A device that knows how fast it is.
struct even_device {
  static constexpr bool computes_in_bf16 = true;
  explicit even_device(int count) { CHECK(count == 1); }
  template <class Value>
  double measure_peak() const {
    return std::is_same_v<Value, float> ? 1e9 : 2e9;
  }
};

}  // namespace

TEST_CASE("this machine is a cluster of one node that a file can hold") {
  const cluster_facts here = this_machine<even_device>();
  CHECK(here.nodes == 1);
  CHECK(here.devices() >= 1);
  CHECK(here.device.single_flops == 1e9);
  CHECK(here.device.half_flops == 2e9);
  CHECK(here.device.memory_bytes > 1e6);
  CHECK(here.inside.bytes_per_second > 1e6);
  CHECK(here.device.bytes_per_second == 2 * here.inside.bytes_per_second);
  CHECK(parse_cluster(format_cluster(here), "here") == here);
  const cluster_facts many = this_machine<even_device>(4 * here.devices());
  CHECK(many.devices() == 4 * here.devices());
  CHECK(many.device.single_flops == 0.25e9);
  CHECK(many.device.memory_bytes == Approx(here.device.memory_bytes / 4));
}

TEST_CASE("more ranks share processors and memory, fewer share the memory") {
  cluster_facts four;
  four.devices_per_node = 4;
  four.device = {"core", 2e9, 1e9, 8e9, 20e9, {}};
  four.inside = {5e-6, 10e9};
  CHECK(shared_by(four, 4) == four);
  const cluster_facts many = shared_by(four, 16), two = shared_by(four, 2);
  CHECK(many.devices() == 16);
  CHECK(many.device == device_facts{"core", 0.5e9, 0.25e9, 2e9, 5e9, {}});
  CHECK(many.inside == wire{5e-6, 2.5e9});
  CHECK(two.device == device_facts{"core", 2e9, 1e9, 16e9, 20e9, {}});
  CHECK(two.inside == four.inside);
}
