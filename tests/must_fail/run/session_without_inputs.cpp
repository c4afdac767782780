// SPDX-License-Identifier: Apache-2.0
// expect: motet: a session lacks a public inputs(batch), what its modules get of a batch [MT-R30].*motet: inputs(batch) of a session returns something else than its modules take, one input for each in the model's order [MT-R30]
#include <motet/run/session_inputs.hpp>

#include <tuple>

struct given {
  int left, right;
};
using inputs = std::tuple<int, int>;

struct says_nothing {};
struct says_one {
  int inputs(const given& batch) const { return batch.left; }
};
struct says_both {
  std::tuple<int, int> inputs(const given& batch) const { return {batch.left, batch.right}; }
};

#ifdef MOTET_BREAK
static_assert(motet::detail::says_inputs<says_nothing, given, inputs>());
static_assert(motet::detail::says_inputs<says_one, given, inputs>());
#else
static_assert(motet::detail::says_inputs<says_both, given, inputs>());
#endif
