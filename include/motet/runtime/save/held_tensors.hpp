// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/tensor_slice.hpp>
#include <motet/runtime/gradients/parameter_piece.hpp>

namespace motet {

// Slices of tensors that a rank reads or writes. The moments of a tensor have its name with .m and .v, its
// average with .ema.
template <class Number>
struct held_tensors {
  std::vector<tensor_slice<Number>> weights, moments;
};

inline std::vector<isize> shape_of(const parameter& of) {
  return of.vector ? std::vector<isize>{of.width} : std::vector<isize>{of.rows, of.width};
}

// Appends what of these parameters lies in the elements `which` of a flat buffer, of which the first lies at
// `data`: the interval may cut rows, and a rank may hold several blocks of a parameter.
template <class Number>
void append_held(std::vector<tensor_slice<Number>>& out, std::span<const parameter> parameters,
                 interval which, Number* data, const char* suffix = "") {
  for (const parameter& each : parameters) {
    const std::vector<isize> shape = shape_of(each);
    for (const parameter_slice& block : each.slices()) {
      const interval run = intersection({block.offset, block.offset + block.size()}, which);
      if (run.size() == 0) continue;
      append_run(out, each.name + suffix, shape, {block.rows, block.columns},
                 {run.begin - block.offset, run.end - block.offset}, data + (run.begin - which.begin));
    }
  }
}

// Appends what a rank keeps for the updates of the elements `which`, which it updates together.
template <class Number>
void append_state(std::vector<tensor_slice<Number>>& out, const parameter_piece<float>& piece,
                  const owned_elements& own, interval which) {
  const isize from = which.begin - own.at.begin;
  const auto append = [&](Number* data, isize at, const char* suffix) {
    if (data != nullptr && at >= 0)
      append_held<Number>(out, piece.parameters, which, data + at + from, suffix);
  };
  append(piece.first, own.moments, ".m");
  append(piece.second, own.seconds, ".v");
  append(piece.average, own.moments, ".ema");
}

// Likewise of the weights of a piece, all that are here.
inline void append_weights(std::vector<tensor_slice<float>>& out, std::span<const parameter> parameters,
                           const parameter_piece<float>& piece, const char* suffix = "") {
  if (!piece.shares_only) return append_held(out, parameters, {0, piece.size}, piece.weights, suffix);
  for (const owned_elements& each : piece.share->owned)
    append_held(out, parameters, each.at, piece.weight(each, each.at.begin), suffix);
}

// All that a rank holds of a piece, for reading.
inline void append_held(held_tensors<float>& out, const parameter_piece<float>& piece) {
  append_weights(out.weights, piece.parameters, piece);
  if (piece.first == nullptr) return;
  const owned_elements all{{0, piece.size}, 0, 0};
  for (const owned_elements& own :
       piece.share != nullptr ? std::span(piece.share->owned) : std::span(&all, 1))
    append_state(out.moments, piece, own, own.at);
}

// A rank writes of a piece what it counts as its own, so that all ranks together write each element once.
inline void append_written(held_tensors<const float>& out, const parameter_piece<float>& piece) {
  const interval all{0, piece.size};
  for (const interval counted :
       piece.share != nullptr ? std::span(piece.share->counted) : std::span(&all, 1)) {
    if (!piece.shares_only)
      append_held<const float>(out.weights, piece.parameters, counted, piece.weights + counted.begin);
    if (piece.first == nullptr) continue;
    // Runs that are updated next to each other may be counted together, and their moments lie apart.
    const owned_elements whole{all, 0, 0};
    for (const owned_elements& own :
         piece.share != nullptr ? std::span(piece.share->owned) : std::span(&whole, 1)) {
      const interval both = intersection(own.at, counted);
      if (both.size() <= 0) continue;
      if (piece.shares_only)
        append_held<const float>(out.weights, piece.parameters, both, piece.weight(own, both.begin));
      append_state<const float>(out.moments, piece, own, both);
    }
  }
}

}  // namespace motet
