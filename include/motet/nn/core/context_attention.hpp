// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/view.hpp>

#include <concepts>

namespace motet {

// Attention meets rows of a sample that lie on several ranks, where context parallelism cuts them, in one of
// these ways.
enum class context_attention : std::uint8_t {
  // ranks exchange rows for heads, and each computes some heads for all rows: what moves shrinks with the
  // ranks, but each needs a head
  heads,
  ring,  // keys and values go round: for any number of ranks, and moves little where few heads have keys
};

// Attention over heads keeps this of some rows for backward.
template <class Value, class Master>
struct kept_heads {
  matrix<Value> qkv{};    // (rows, queries | keys | values); backward overwrites it with its gradient
  matrix<Value> mixed{};  // (rows, heads x head width)
  matrix<Master> lse{};   // (rows, heads)
};
// Attention over exchanged heads keeps all rows of the samples that are cut, with this rank's share of the
// heads, and those of samples that stay whole here, with all heads.
template <class Value, class Master>
struct exchanged_heads : kept_heads<Value, Master> {
  kept_heads<Value, Master> whole{};
};

// Gradients of queries, keys and values go over them, or into memory of their own where that spares copies.
template <class C, class T>
matrix<T> gradient_room(C& ctx, matrix<T> x) {
  if constexpr (C::spares_passes)
    return {ctx.memory.template take<T>(x.rows * x.width), x.rows, x.width, x.width};
  else return x;
}

// What follows no rows does not run as rows that follow those in a cache.
template <class C, class Run>
void run_apart(C& ctx, Run&& run) {
  if constexpr (requires { ctx.apart(); }) run(ctx.apart());
  else run(ctx);
}

// A net whose samples may be cut says which cut gives all ranks equal work: balanced_rows. A net without
// attention has nowhere for rows to meet.
template <class Net>
concept supports_context = requires {
  { Net::balanced_rows } -> std::convertible_to<bool>;
};

}  // namespace motet
