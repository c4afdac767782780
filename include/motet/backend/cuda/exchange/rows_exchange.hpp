// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/exchange/sample_pieces.hpp>
#include <motet/backend/cuda/kernels/prefix.hpp>
#include <motet/backend/cuda/kernels/row_moves.hpp>
#include <motet/backend/exchange/cut_rows.hpp>
#include <motet/backend/exchange/rows_exchange.hpp>

#include <vector>

// Rows of a batch as they change positions between whole samples and the parts of a context group, on GPUs.
namespace motet::cuda {

using motet::on_whole_samples;
using motet::rows_are_cut;
using motet::rows_of_blocks;
using motet::rows_of_samples;
using motet::rows_to_parts;
using motet::rows_to_samples;

namespace detail {

// Parts lie one behind the other: this counts the rows before each part and sample. It takes one block.
struct part_starts_kernel {
  sequences whole;  // offsets of the GPU
  row_parts cut;
  isize* starts;  // (parts, samples)
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    isize* const scratch = self.template shared<isize>(warp_size);
    isize before = 0;
    const isize all = cut.parts * whole.samples;
    for (isize first = 0; first < all; first += self.threads()) {
      const isize i = first + self.thread();
      isize total = 0;
      const isize here = block_prefix(
          self, i < all ? cut.rows_of(whole.rows_of(i % whole.samples), i / whole.samples) : isize{0}, total,
          scratch);
      if (i < all) starts[i] = before + here;
      before += total;
    }
  }
};
// Each row of whole samples gets its position among the rows sorted by part.
struct part_positions_kernel {
  static constexpr int most_threads = 256;
  sequences whole;  // offsets of the GPU
  row_parts cut;
  isize rows;
  const isize* starts;
  std::int32_t* positions;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.number(); r < rows; r += self.all()) {
      const isize sample = sample_of(whole, r), count = whole.rows_of(sample), at = r - whole.begin(sample);
      const isize number = owner(count, cut.pieces() * cut.parts, at);
      const isize part = number < cut.parts ? number : 2 * cut.parts - 1 - number;
      const isize before = number < cut.parts ? 0 : cut.piece(count, part, 0).size();
      positions[r] = static_cast<std::int32_t>(starts[part * whole.samples + sample] + before + at -
                                               share(count, cut.pieces() * cut.parts, number).begin);
    }
  }
};

// Sorts rows of whole samples by part, and puts them back: where they lie then stands in scratch memory.
class part_order {
 public:
  part_order(context& ctx, const sequences& whole)
      : whole_(whole),
        positions_(ctx.scratch.take<std::int32_t>(round_up(whole.rows(), 2) +
                                                  2 * ctx.shared->cut.parts * whole.samples)) {}

  template <class X, class Y>
  void to_parts(context& ctx, matrix<X> x, matrix<Y> packed) const {
    find(ctx);
    map_rows(ctx, true, x.rows, positions_, 1, nullptr, x, packed);
  }
  template <class X, class Y>
  void to_samples(context& ctx, matrix<X> packed, matrix<Y> y) const {
    find(ctx);
    map_rows(ctx, false, y.rows, positions_, 1, nullptr, packed, y);
  }

 private:
  template <class Context>
  void find(Context& ctx) const {
    const isize rows = whole_.rows();
    if (rows == 0) return;
    const sequences there{whole_.samples, whole_.length, ctx.on->offsets(whole_)};
    const row_parts& cut = ctx.shared->cut;
    auto* const starts = reinterpret_cast<isize*>(positions_ + round_up(rows, 2));
    launch(ctx.stream(), {1, 1024, block_scratch<isize>}, part_starts_kernel{there, cut, starts});
    launch(ctx.stream(), {blocks_for(rows, 256), 256, 0},
           part_positions_kernel{there, cut, rows, starts, positions_});
  }

  const sequences& whole_;
  std::int32_t* positions_;
};

}  // namespace detail

inline detail::part_order order_of_parts(context& ctx, const sequences& whole, isize /*first*/) {
  return {ctx, whole};
}
inline std::vector<isize> host_numbers(const context&, isize count) {
  return std::vector<isize>(as_size(count));
}

}  // namespace motet::cuda
