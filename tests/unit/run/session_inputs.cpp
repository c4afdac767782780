// SPDX-License-Identifier: Apache-2.0
#include <motet/run/session_inputs.hpp>

#include <doctest/doctest.h>

#include <tuple>
#include <utility>

namespace {

struct given {
  int left, right;
};
struct says_pair {
  std::pair<int, int> inputs(const given& batch) const { return {batch.left, batch.right}; }
};

}  // namespace

TEST_CASE("inputs that become what the modules take are enough") {
  CHECK(motet::detail::says_inputs<says_pair, given, std::tuple<int, int>>());
}
