// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

namespace motet::detail {

// The one thing that a session of one's own must say, as nobody else can: what the modules get of a batch.
// Given: a batch as the data have it. Inputs: what the modules take.
template <class Own, class Given, class Inputs>
consteval bool says_inputs() {
  constexpr bool says = requires(Own& own, const Given& batch) { own.inputs(batch); };
  static_assert(says,
                "motet: a session lacks a public inputs(batch), what its modules get of a batch [MT-R30]");
  if constexpr (says)
    static_assert(
        std::is_convertible_v<decltype(std::declval<Own&>().inputs(std::declval<const Given&>())), Inputs>,
        "motet: inputs(batch) of a session returns something else than its modules take, one input for each "
        "in "
        "the model's order [MT-R30]");
  return true;
}

}  // namespace motet::detail
