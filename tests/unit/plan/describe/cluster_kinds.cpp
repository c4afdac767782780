// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const cluster_facts mixed = cluster_named("h100:2+a100:3+v100:1+a100:2");

double product_rate(const device_facts& of, double side) {
  return of.half_flops * of.products.of(side, side);
}

}  // namespace

TEST_CASE("some kinds of a cluster are a cluster of one kind") {
  CHECK(mixed.kinds() == 3);
  cluster_facts wanted = *find_cluster("a100");
  wanted.nodes = 5;
  wanted.name = mixed.name;
  CHECK(of_kinds(mixed, 2) == wanted);
  CHECK(of_kinds(mixed, 7).nodes == 8);
  CHECK(of_kinds(mixed, 5).nodes == 3);
  for (const char* const name : {"h100:3", "v100"})
    CHECK(as_one_kind(cluster_named(name)) == cluster_named(name));
}

TEST_CASE(
    "as one kind no device is faster than the slowest, nor slower than the fastest, nor has more room") {
  const cluster_facts slow = as_one_kind(mixed), fast = of_kinds(mixed, 7, of_unlike::fastest),
                      mean = of_kinds(mixed, 7, of_unlike::mean);
  for (std::int32_t node = 0; node < mixed.nodes; ++node) {
    const node_run own = mixed.run(node);
    CHECK(slow.device.memory_bytes <= own.device.memory_bytes);
    CHECK(fast.device.memory_bytes >= own.device.memory_bytes);
    CHECK(slow.device.bytes_per_second <= own.device.bytes_per_second);
    CHECK(slow.device.launch_seconds >= own.device.launch_seconds);
    for (const double side : {1.0, 64.0, 300.0, 1e4, 1e9}) {
      CHECK(product_rate(slow.device, side) <= product_rate(own.device, side) * (1 + 1e-12));
      CHECK(product_rate(fast.device, side) >= product_rate(own.device, side) * (1 - 1e-12));
    }
    CHECK(slow.between.latency >= own.between.latency);
    CHECK(slow.between.bytes_per_second <= own.between.bytes_per_second);
    CHECK(fast.inside.bytes_per_second >= own.inside.bytes_per_second);
  }
  // Two nodes of 989, five of 312 and one of 125 TFLOP/s.
  CHECK(mean.device.half_flops == doctest::Approx((2 * 989e12 + 5 * 312e12 + 125e12) / 8));
}

TEST_CASE("0 bytes a second stand for no limit") {
  const detail::kind_merger slowest(of_unlike::slowest, 0.5), fastest(of_unlike::fastest, 0.5);
  CHECK(slowest.unlimited(0, 5) == 5);
  CHECK(fastest.unlimited(0, 5) == 0);
  CHECK(slowest.unlimited(3, 5) == 3);
  CHECK(fastest.unlimited(3, 5) == 5);
}

TEST_CASE("ranks have kinds and room") {
  CHECK(kinds_of({0, 15}, mixed) == 1);
  CHECK(kinds_of({15, 16}, mixed) == 3);
  CHECK(kinds_of({40, 63}, mixed) == 6);
  CHECK(kinds_of({40, 63}, *find_cluster("h100")) == 1);
  CHECK(room_of(40, mixed) == find_cluster("v100")->device.memory_bytes);
  CHECK(room_of(63, mixed) == find_cluster("a100")->device.memory_bytes);
}
