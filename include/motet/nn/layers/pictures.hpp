// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/operations.hpp>
#include <motet/tensor/packed_pictures.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <vector>

namespace motet {

// A batch of pictures: numbers of one size, (samples, channels, side, side), or packed bytes of any size,
// which are resized when they are read. Those for a net of pictures of any shape are packed, each with a
// grid.
struct pictures {
  const float* pixels = nullptr;
  isize samples = 0;
  packed_pictures packed{};
  // Of pictures with grids, which rows are whose: samples + 1 entries, that of a class token included.
  const isize* row_offsets = nullptr;

  bool are_packed() const { return packed.bytes != nullptr; }
  // Rows of the pictures before this one, where squares have so many each.
  isize rows_before(isize picture, isize of_square) const {
    return row_offsets == nullptr ? picture * of_square : row_offsets[picture];
  }
};

// Patches become rows, whether pictures are numbers or bytes.
template <isize Channels, bool Any_shape = false, class C, class V>
void cut_patches(C& ctx, const sequences& seq, const patch_geometry& geometry, const pictures& batch,
                 matrix<V> y) {
  const isize size = Channels * geometry.side * geometry.side;
  if constexpr (Channels <= packed_pictures::most_channels)
    if (Any_shape || batch.are_packed()) return patches(ctx, seq, geometry, batch.packed, y);
  // (samples, channels x side x side)
  patches(ctx, seq, geometry, matrix<const float>{batch.pixels, batch.samples, size, size}, y);
}

// Puts pictures of any shape together for a net that takes them (.most_patches): each has so many patches
// down and across, and its numbers lie in planes, (channels, rows x patch, columns x patch), picture after
// picture. `numbers_of_patch` are channels x patch x patch, `lead` rows of a class token.
// Asks for: one patch at least in both directions.
// Memory: some numbers for each picture; kept when it is cleared.
// Errors: none of its own.
// Example:
//   pictures wide_and_high(picture_grids& grids, const float* pixels) {
//     grids.clear();
//     grids.add(2, 5);
//     grids.add(7, 1);
//     return grids.with(pixels);  // 17 patches; valid until the next change
//   }
class picture_grids {
 public:
  explicit picture_grids(isize numbers_of_patch, isize lead = 0)
      : size_(numbers_of_patch * static_cast<isize>(sizeof(float))), lead_(lead) {}

  void clear() {
    each_.clear();
    offsets_.assign(1, 0);
  }
  void add(isize rows, isize columns) {
    packed_picture one;
    if (!each_.empty()) one.at = each_.back().at + each_.back().patches() * size_;
    one.rows = static_cast<std::int32_t>(rows);
    one.columns = static_cast<std::int32_t>(columns);
    each_.push_back(one);
    offsets_.push_back(offsets_.back() + lead_ + rows * columns);
  }
  isize count() const { return static_cast<isize>(each_.size()); }
  isize rows_of(isize picture) const { return offsets_[as_size(picture) + 1] - offsets_[as_size(picture)]; }
  pictures with(const float* pixels) const {
    packed_pictures all{reinterpret_cast<const std::uint8_t*>(pixels), each_.data(), each_.data(), {}, {}};
    return {nullptr, count(), all, offsets_.data()};
  }

 private:
  isize size_, lead_;  // bytes of a patch; rows of a picture before its patches
  std::vector<packed_picture> each_;
  std::vector<isize> offsets_{0};
};

}  // namespace motet
