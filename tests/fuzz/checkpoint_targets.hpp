// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_index_json.hpp>
#include <motet/format/text/json_read.hpp>

#include <cstdlib>

// Any JSON is refused, or is an index whose pieces lie within their tensors and in files that a checkpoint
// can have, and that is the same after writing and reading again. The seal is left out: it would stop every
// change. Aborts when that does not hold; returns whether it was read.
inline bool fuzz_checkpoint_index(std::string_view bytes) {
  using namespace motet;
  checkpoint_index read;
  json whole;
  try {
    whole = read_json(bytes);
    read = read_checkpoint_index(whole);
  } catch (const error& refused) {
    const std::string_view code = refused.code();
    if (!code.starts_with("MT-F0") && code != "MT-R52") std::abort();
    return false;
  }
  if (read.parts < 1) std::abort();
  for (const tensor_use use : tensor_uses) {
    if (std::ssize(read.of(use).files) != read.parts) std::abort();
    for (const checkpoint_tensor& tensor : read.of(use).tensors) {
      const rectangle all = matrix_of(tensor.shape);
      for (const checkpoint_piece& piece : tensor.pieces) {
        if (piece.covers.empty() || intersection(piece.covers, all).size() != piece.covers.size())
          std::abort();
        if (piece.part < 0 || piece.part >= read.parts ||
            !read.of(use).files[static_cast<std::size_t>(piece.part)])
          std::abort();
      }
      static_cast<void>(detail::tiling_fault(tensor));
    }
  }
  if (whole.at("version").integer() == 1) return true;
  const std::string again = write_checkpoint_index(read, 0);
  const json written = read_json(again);
  if (!detail::seal_holds(written) || write_checkpoint_index(read_checkpoint_index(written), 0) != again)
    std::abort();
  return true;
}
