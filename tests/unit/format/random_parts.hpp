// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/tensor_slice.hpp>
#include <motet/tensor/random.hpp>

#include <deque>

// Tensors of random shapes whose numbers are all different, cut at random between ranks: into rectangles, and
// these into runs of elements.

struct drawn {
  motet::random_stream draws;
  std::uint64_t at = 0;
  explicit drawn(std::uint64_t seed) : draws(seed, "parts") {}
  motet::isize below(motet::isize bound) {
    return static_cast<motet::isize>(draws.below(at++, static_cast<std::uint32_t>(bound)));
  }
  motet::interval within(motet::interval all) {
    const motet::isize begin = all.begin + below(all.size());
    return {begin, begin + 1 + below(all.end - begin)};
  }
};

struct whole_tensor {
  std::string name;
  std::vector<motet::isize> shape;
  float first = 0;
  motet::rectangle all() const { return motet::matrix_of(shape); }
  float value(motet::isize row, motet::isize column) const {
    return first + static_cast<float>(row * all().columns.size() + column);
  }
};
inline std::vector<whole_tensor> random_tensors(drawn& from, int count, const std::string& suffix = "") {
  std::vector<whole_tensor> out;
  for (int i = 0; i < count; ++i) {
    std::vector<motet::isize> shape;
    for (motet::isize k = from.below(3); k >= 0; --k) shape.push_back(1 + from.below(9));
    out.push_back({"net." + std::to_string(i) + suffix, shape, static_cast<float>(from.below(1000) * 1000)});
  }
  return out;
}

// Slices and the memory behind them.
template <class Number>
struct held_slices {
  std::vector<motet::tensor_slice<Number>> slices;
  std::deque<std::vector<float>> memory;
  held_slices() = default;
  held_slices(held_slices&&) = default;  // a copy would point to the first one's memory
};

inline void cut_further(drawn& from, motet::rectangle of, std::vector<motet::rectangle>& out, int depth) {
  motet::rectangle other = of;
  if (depth == 0) return out.push_back(of);
  if (from.below(2) == 0) other.rows.begin = of.rows.end = of.rows.begin + from.below(of.rows.size() + 1);
  else other.columns.begin = of.columns.end = of.columns.begin + from.below(of.columns.size() + 1);
  if (!of.empty()) cut_further(from, of, out, depth - 1);
  if (!other.empty()) cut_further(from, other, out, depth - 1);
}

// Each element of each tensor once, in one of the parts; some parts may have nothing.
inline std::vector<held_slices<const float>> cut_between(drawn& from, std::span<const whole_tensor> tensors,
                                                         motet::isize parts) {
  std::vector<held_slices<const float>> out(static_cast<std::size_t>(parts));
  for (const whole_tensor& tensor : tensors) {
    std::vector<motet::rectangle> pieces;
    cut_further(from, tensor.all(), pieces, static_cast<int>(from.below(3)));
    for (const motet::rectangle& piece : pieces) {
      for (motet::isize at = 0; at < piece.size();) {
        const motet::isize end = from.below(2) == 0 ? piece.size() : at + 1 + from.below(piece.size() - at);
        auto& part = out[static_cast<std::size_t>(from.below(parts))];
        auto& memory = part.memory.emplace_back();
        for (motet::isize i = at; i < end; ++i)
          memory.push_back(tensor.value(piece.rows.begin + i / piece.columns.size(),
                                        piece.columns.begin + i % piece.columns.size()));
        motet::append_run<const float>(part.slices, tensor.name, tensor.shape, piece, {at, end},
                                       memory.data());
        at = end;
      }
    }
  }
  return out;
}

// Any rectangles and runs of some of the tensors, which may overlap.
inline held_slices<float> drawn_slices(drawn& from, std::span<const whole_tensor> tensors) {
  held_slices<float> out;
  for (const whole_tensor& tensor : tensors) {
    for (motet::isize count = from.below(3); count > 0; --count) {
      const motet::rectangle piece{from.within(tensor.all().rows), from.within(tensor.all().columns)};
      const motet::interval run = from.within({0, piece.size()});
      auto& memory = out.memory.emplace_back(static_cast<std::size_t>(run.size()), -1.0f);
      motet::append_run(out.slices, tensor.name, tensor.shape, piece, run, memory.data());
    }
  }
  return out;
}
// Counts the elements that are not the tensor's.
inline motet::isize wrong_elements(std::span<const whole_tensor> tensors, const held_slices<float>& held) {
  motet::isize wrong = 0;
  for (const auto& slice : held.slices) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(),
                                     [&](const whole_tensor& each) { return each.name == slice.name; });
    const float* at = slice.data;
    for (motet::isize row = slice.covers.rows.begin; row < slice.covers.rows.end; ++row) {
      for (motet::isize column = slice.covers.columns.begin; column < slice.covers.columns.end; ++column)
        wrong += *at++ != tensor->value(row, column) ? 1 : 0;
    }
  }
  return wrong;
}
