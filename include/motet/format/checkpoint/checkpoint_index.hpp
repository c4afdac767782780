// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/checksum.hpp>
#include <motet/format/tensors/safetensors.hpp>
#include <motet/format/tensors/tensor_slice.hpp>
#include <motet/format/text/json_write.hpp>

#include <array>

namespace motet {

// One part wrote a checkpoint of version 1, with whole tensors; several wrote one of version 2, with a piece
// of each tensor for everybody who held some.
inline constexpr int checkpoint_version = 2;

enum class tensor_use : std::uint8_t { weights, optimizer };
inline constexpr tensor_use tensor_uses[] = {tensor_use::weights, tensor_use::optimizer};

struct checkpoint_piece {
  isize part = 0;
  rectangle covers;
  std::vector<std::string> checksums;  // of each block of its bytes
};

struct checkpoint_tensor {
  std::string name;
  std::vector<isize> shape;
  dtype kind = dtype::f32;
  std::vector<checkpoint_piece> pieces;  // each element is in one of them

  isize elements() const { return matrix_of(shape).size(); }
};

// An index has what index.json says. A part that is written says the same of itself alone, until all parts
// are put together.
struct checkpoint_index {
  std::int64_t step = 0;
  std::string model;
  std::string optimizer = "adamw";  // that moved the weights
  json description, state;
  isize parts = 1;
  isize block = 0;  // bytes that one checksum covers; 0: a whole piece
  struct contents {
    std::vector<checkpoint_tensor> tensors;
    // bytes of each part's file; a part that holds nothing has none
    std::vector<std::optional<std::uint64_t>> files;
  };
  std::array<contents, 2> uses;
  json checksums;  // version 1 only: of each tensor

  contents& of(tensor_use use) { return uses[as_size(use)]; }
  const contents& of(tensor_use use) const { return uses[as_size(use)]; }
};

namespace detail {

inline constexpr isize most_parts = 99'999;  // as many digits as the files' names have

inline std::string five_digits(isize number) {
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}
inline std::string part_file(tensor_use use, isize part, isize parts) {
  const std::string stem = use == tensor_use::weights ? "model" : "optimizer";
  return stem + (parts == 1 ? "" : "-" + five_digits(part + 1) + "-of-" + five_digits(parts)) +
         ".safetensors";
}
constexpr std::string_view use_name(tensor_use use) {
  return use == tensor_use::weights ? "weights" : "optimizer";
}

inline std::string interval_text(interval of) { return sentence({of.begin, ":", of.end}); }
inline std::string rectangle_text(std::span<const isize> shape, rectangle covers) {
  return "[" + (shape.size() < 2 ? "" : interval_text(covers.rows) + ", ") + interval_text(covers.columns) +
         "]";
}
constexpr bool is_whole(std::span<const isize> shape, rectangle covers) {
  return covers.size() == matrix_of(shape).size();
}

// A piece is called in its file as Python would write it: "up.weight[0:512, 0:768]". A whole tensor has its
// own name.
inline std::string piece_name(const std::string& name, std::span<const isize> shape, rectangle covers) {
  return is_whole(shape, covers) ? name : name + rectangle_text(shape, covers);
}
inline std::vector<isize> piece_shape(const std::vector<isize>& shape, rectangle covers) {
  if (is_whole(shape, covers)) return shape;
  return shape.size() < 2 ? std::vector<isize>{covers.columns.size()}
                          : std::vector<isize>{covers.rows.size(), covers.columns.size()};
}

// The file of a part says this of itself, so that parts of two checkpoints are not mixed.
inline std::vector<std::pair<std::string, std::string>> origin_of(const checkpoint_index& of, isize part) {
  return {{"model", of.model},
          {"step", std::to_string(of.step)},
          {"part", sentence({part + 1, " of ", of.parts})}};
}

// Calls visit(block, bytes) for the blocks of a piece that hold any of its bytes [begin, end).
template <class Visit>
void each_block(std::span<const std::byte> piece, isize block, isize begin, isize end, Visit&& visit) {
  const auto size = static_cast<isize>(piece.size());
  if (block == 0) block = std::max<isize>(size, 1);
  for (isize k = begin / block; k * block < end; ++k) {
    visit(as_size(k), piece.subspan(as_size(k * block), as_size(std::min(block, size - k * block))));
  }
}

// Empty when each element of the tensor is in exactly one piece, else what is wrong. The pieces lie within
// the tensor.
inline std::string tiling_fault(const checkpoint_tensor& tensor) {
  std::vector<const checkpoint_piece*> order;
  order.reserve(tensor.pieces.size());
  for (const checkpoint_piece& piece : tensor.pieces) order.push_back(&piece);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->covers.rows.begin < b->covers.rows.begin; });
  std::vector<const checkpoint_piece*> open;  // those that reach as far down as where we are
  isize held = 0;
  for (const checkpoint_piece* piece : order) {
    std::erase_if(open,
                  [&](const auto* above) { return above->covers.rows.end <= piece->covers.rows.begin; });
    for (const checkpoint_piece* above : open) {
      const rectangle both = intersection(above->covers, piece->covers);
      if (both.empty()) continue;
      return sentence({"\"", tensor.name, "\" ", shape_text(tensor.shape), ": ",
                       rectangle_text(tensor.shape, both), " is held by part ", above->part + 1,
                       " and by part ", piece->part + 1});
    }
    open.push_back(piece);
    held += piece->covers.size();
  }
  if (held == tensor.elements()) return {};
  return sentence({"\"", tensor.name, "\" ", shape_text(tensor.shape), ": ", tensor.elements() - held, " of ",
                   tensor.elements(), " elements are held by no part"});
}

}  // namespace detail

}  // namespace motet
