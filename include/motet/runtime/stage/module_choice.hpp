// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <vector>

namespace motet {

// A choice is what a program leaves open about a module.
struct module_choice {
  std::vector<isize> layers{};  // of each stage; empty: as even as possible
  // of each stage, whether backward makes again what it needs; empty: none does
  std::vector<std::uint8_t> remade{};
  // of a stage's shards, those that cut the columns of its layers; the others cut the rows of samples
  std::int32_t tensor = 1;
  std::int32_t experts = 1;  // so many replicas in a row share those of its mixtures
  // of rows, each computed while others are exchanged in a tensor group
  std::int32_t pieces = 1;
  bool balanced = true;  // context parts of equal work under a causal mask
  // samples of fewer rows stay whole where ranks cut others; below 0: each step finds its own number
  isize long_rows = 0;
  bool shard_optimizer = false;  // ranks with equal parameters share the optimizer's work and state
  bool shard_gradients = false;  // and keep gradients of no more than that
  bool shard_weights = false;    // and weights
  bool recompute = false;        // its blocks keep only their inputs, and backward makes the rest again
  bool keep_outputs = false;     // those of norms and activations, which backward makes again otherwise
  module_pace pace{};
};

// A rank's seat, with what was chosen of how it shares rows with others.
inline spread_seat seat_with(spread_seat at, const module_choice& chosen) {
  at.balanced = chosen.balanced;
  at.long_rows = chosen.long_rows;
  at.pieces = chosen.pieces;
  return at;
}

}  // namespace motet
