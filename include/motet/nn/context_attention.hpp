// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/view.hpp>

#include <concepts>

namespace motet {

// How attention meets rows of a sample that lie on several ranks, where context parallelism cuts them.
enum class context_attention : std::uint8_t {
  heads,  // ranks exchange rows for heads, and each computes some heads for all rows: what moves shrinks with the ranks, but each needs a head
  ring,   // keys and values go round: for any number of ranks, and moves little where few heads have keys
};

// What attention over exchanged heads keeps for backward: all rows of the microbatch, with this rank's share of the heads.
template <class Value, class Master>
struct exchanged_heads {
  matrix<Value> qkv;    // (all rows, queries | keys | values); backward overwrites it with its gradient
  matrix<Value> mixed;  // (all rows, heads x head width)
  matrix<Master> lse;   // (all rows, heads)
};

// A net whose samples may be cut says which cut gives all ranks equal work: balanced_rows. A net without attention has nowhere for rows to meet.
template <class Net>
concept supports_context = requires {
  { Net::balanced_rows } -> std::convertible_to<bool>;
};

}  // namespace motet
