// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_index.hpp>

#include <cstring>
#include <map>

namespace motet::detail {

// Reads slices from the pieces of a checkpoint's folder. Files are mapped when they are needed, and only
// blocks that hold something wanted are looked at, each once. Its errors are MT-R52, or those of the reader
// of safetensors.
class piece_reader {
 public:
  piece_reader(const std::filesystem::path& folder, const checkpoint_index& isize)
      : folder_(folder), index_(isize) {}

  // Checks that the files belong here and that what the slice needs of them is undamaged.
  void check(tensor_use use, const checkpoint_tensor& tensor, const loaded_slice& slice) {
    each_piece(tensor, slice, [&](const checkpoint_piece& piece, const rectangle& both) {
      const std::span<const std::byte> bytes = bytes_of(use, tensor, piece);
      const isize begin = at(piece.covers, both.rows.begin, both.columns.begin),
                  end = at(piece.covers, both.rows.end - 1, both.columns.end);
      std::vector<bool>& good = good_[&piece];
      good.resize(piece.checksums.size());
      each_block(bytes, index_.block, 4 * begin, 4 * end,
                 [&](std::size_t k, std::span<const std::byte> block) {
                   if (!good[k] && checksum_text(checksum(block)) != piece.checksums[k])
                     refuse(use, tensor, piece, "does not have the bytes that were written");
                   good[k] = true;
                 });
    });
  }
  void copy(tensor_use use, const checkpoint_tensor& tensor, const loaded_slice& slice) {
    each_piece(tensor, slice, [&](const checkpoint_piece& piece, const rectangle& both) {
      const std::byte* const from = bytes_of(use, tensor, piece).data();
      for (isize row = both.rows.begin; row < both.rows.end; ++row) {
        std::memcpy(slice.data + at(slice.covers, row, both.columns.begin),
                    from + 4 * at(piece.covers, row, both.columns.begin), as_size(4 * both.columns.size()));
      }
    });
  }

 private:
  static isize at(const rectangle& of, isize row, isize column) {
    return (row - of.rows.begin) * of.columns.size() + column - of.columns.begin;
  }
  template <class Visit>
  static void each_piece(const checkpoint_tensor& tensor, const loaded_slice& slice, Visit&& visit) {
    for (const checkpoint_piece& piece : tensor.pieces) {
      if (const rectangle both = intersection(piece.covers, slice.covers); !both.empty()) visit(piece, both);
    }
  }
  [[noreturn]] void refuse(tensor_use use, const checkpoint_tensor& tensor, const checkpoint_piece& piece,
                           const std::string& why) const {
    fail(checkpoint_damaged, (folder_ / part_file(use, piece.part, index_.parts)).string() + ": tensor \"" +
                                 piece_name(tensor.name, tensor.shape, piece.covers) + "\" " + why);
  }

  const safetensors_file& file_of(tensor_use use, isize part) {
    const std::string name = part_file(use, part, index_.parts);
    const auto found = files_.find(name);
    if (found != files_.end()) return found->second;
    const safetensors_file& file = files_.emplace(name, folder_ / name).first->second;
    // One part wrote no more than other programs do.
    if (index_.block == 0) return file;
    for (const auto& [what, wanted] : origin_of(index_, part)) {
      std::string got = "nothing";
      for (const auto& [key, value] : file.metadata()) {
        if (key == what) got = value;
      }
      if (got != wanted)
        fail(checkpoint_damaged, file.path() + " is of " + what + " " + got + ", wanted " + wanted);
    }
    return file;
  }
  std::span<const std::byte> bytes_of(tensor_use use, const checkpoint_tensor& tensor,
                                      const checkpoint_piece& piece) {
    const stored_tensor* stored =
        file_of(use, piece.part).find(piece_name(tensor.name, tensor.shape, piece.covers));
    const std::vector<isize> shape = piece_shape(tensor.shape, piece.covers);
    if (stored == nullptr) refuse(use, tensor, piece, "is missing");
    if (stored->kind != dtype::f32 || stored->shape != shape) {
      refuse(use, tensor, piece,
             "is " + std::string(name_of(stored->kind)) + " " + shape_text(stored->shape) + ", wanted F32 " +
                 shape_text(shape));
    }
    return stored->bytes;
  }

  const std::filesystem::path& folder_;
  const checkpoint_index& index_;
  std::map<std::string, safetensors_file> files_;
  std::map<const checkpoint_piece*, std::vector<bool>> good_;  // blocks of each piece
};

}  // namespace motet::detail
