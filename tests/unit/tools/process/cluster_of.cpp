// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/cluster_of.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

struct even_device {
  static constexpr bool computes_in_bf16 = true;
  explicit even_device(int) {}
  template <class Value>
  double measure_peak() {
    return 1e9;
  }
};

}  // namespace

TEST_CASE("here is this machine, shared by ranks; all else is a name or a file") {
  CHECK(cluster_of<even_device>("here").device.single_flops == 1e9);
  CHECK(cluster_of<even_device>("here:3").devices() == 3);
  CHECK(cluster_of<even_device>("h100:2") == cluster_named("h100:2"));
  for (const char* const wrong : {"here:", "here:0", "here:4097", "here:2x", "here:-1"})
    CHECK_THROWS_WITH_AS(cluster_of<even_device>(wrong), doctest::Contains("wanted here:RANKS"), error);
  CHECK_THROWS_WITH_AS(cluster_of<even_device>("her"), doctest::Contains("MT-P75"), error);
  CHECK_THROWS_WITH_AS(cluster_of<even_device>("laptip"), doctest::Contains("did you mean laptop"), error);
}
