// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/prefix.hpp>
#include <motet/backend/cuda/row_moves.hpp>
#include <motet/backend/cuda/sample_pieces.hpp>
#include <motet/backend/spread.hpp>

#include <cassert>
#include <vector>

// Rows change between whole samples, each on one member of the context group, and parts of all samples, on every member. Each element moves once;
// either way is the other's transpose.

namespace motet::cuda {
namespace detail {

// Of each part, one behind the other, and each sample: how many rows lie before it. One block.
struct part_starts_kernel {
  sequences whole;  // offsets of the GPU
  row_parts cut;
  index* starts;  // (parts, samples)
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    index* const scratch = self.template shared<index>(warp_size);
    index before = 0;
    const index all = cut.parts * whole.samples;
    for (index first = 0; first < all; first += self.threads()) {
      const index i = first + self.thread();
      index total = 0;
      const index here = block_prefix(self, i < all ? cut.rows_of(whole.rows_of(i % whole.samples), i / whole.samples) : index{0}, total, scratch);
      if (i < all) starts[i] = before + here;
      before += total;
    }
  }
};
// Of each row of whole samples: its place among the rows sorted by part.
struct part_places_kernel {
  static constexpr int most_threads = 256;
  sequences whole;  // offsets of the GPU
  row_parts cut;
  index rows;
  const index* starts;
  std::int32_t* places;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (index r = self.number(); r < rows; r += self.all()) {
      const index sample = sample_of(whole, r), count = whole.rows_of(sample), at = r - whole.begin(sample);
      const index number = owner(count, cut.pieces() * cut.parts, at);
      const index part = number < cut.parts ? number : 2 * cut.parts - 1 - number;
      const index before = number < cut.parts ? 0 : cut.piece(count, part, 0).size();
      places[r] =
          static_cast<std::int32_t>(starts[part * whole.samples + sample] + before + at - share(count, cut.pieces() * cut.parts, number).begin);
    }
  }
};

// Where the rows of whole samples lie when they are sorted by part, in scratch memory.
inline std::int32_t* take_part_places(context& ctx, const sequences& whole) {
  return ctx.scratch.take<std::int32_t>(round_up(whole.rows(), 2) + 2 * ctx.shared->cut.parts * whole.samples);
}
template <class Context>
void find_part_places(Context& ctx, const sequences& whole, std::int32_t* places) {
  const index rows = whole.rows();
  if (rows == 0) return;
  const sequences there{whole.samples, whole.length, ctx.on->offsets(whole)};
  auto* const starts = reinterpret_cast<index*>(places + round_up(rows, 2));
  launch(ctx.stream(), {1, 1024, block_scratch<index>}, part_starts_kernel{there, ctx.shared->cut, starts});
  launch(ctx.stream(), {blocks_for(rows, 256), 256, 0}, part_places_kernel{there, ctx.shared->cut, rows, starts, places});
}

// The bytes that go each way between the order of samples, by part, and the order of parts, by who has the samples.
struct exchange_counts {
  std::vector<index> by_part, by_owner;
};
inline exchange_counts count_exchange(const context& ctx, index row_bytes) {
  const spread& is = *ctx.shared;
  exchange_counts counts;
  for (index m = 0; m < is.context.size(); ++m) {
    const interval theirs = share(is.own.samples, is.context.size(), m);
    counts.by_part.push_back(is.cut.rows_of(is.mine, m) * row_bytes);
    counts.by_owner.push_back((is.own.begin(theirs.end) - is.own.begin(theirs.begin)) * row_bytes);
  }
  return counts;
}

}  // namespace detail

// Whether attention must look for rows on other ranks.
inline bool rows_are_cut(const context& ctx) { return ctx.shared != nullptr && !ctx.shared->context.alone(); }
// What blocks work on, and what embedding and head do.
inline const sequences& rows_of_blocks(const context& ctx) { return ctx.shared->own; }
inline const sequences& rows_of_samples(const context& ctx) { return ctx.shared->mine; }

// Until the end of the scope this rank has whole samples, and no rows elsewhere.
class whole_samples_scope {
 public:
  explicit whole_samples_scope(context& ctx) : ctx_(ctx), outer_(ctx.shared) {
    if (rows_are_cut(ctx)) ctx.shared = outer_->ends;
  }
  whole_samples_scope(const whole_samples_scope&) = delete;
  whole_samples_scope& operator=(const whole_samples_scope&) = delete;
  ~whole_samples_scope() { ctx_.shared = outer_; }

 private:
  context& ctx_;
  const spread* outer_;
};
inline whole_samples_scope on_whole_samples(context& ctx) { return whole_samples_scope(ctx); }

// y (the rows of blocks) = x (whole samples), in other hands.
template <class X, class Y>
void rows_to_parts(context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const section_scope section(ctx, "exchange rows");
  ctx.note(0, motet::detail::bytes_in(x) + motet::detail::bytes_in(y));
  const spread& is = *ctx.shared;
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.take<Y>(x.rows * x.width), x.rows, x.width, x.width};  // by part
  std::int32_t* const places = detail::take_part_places(ctx, is.mine);
  if (!ctx.measuring()) {
    assert(y.stride == y.width && x.rows == is.mine.rows() && y.rows == is.own.rows());
    detail::find_part_places(ctx, is.mine, places);
    detail::map_rows(ctx, true, x.rows, places, 1, nullptr, x, packed);
    const auto counts = detail::count_exchange(ctx, x.width * static_cast<index>(sizeof(Y)));
    is.context.all_to_all(reinterpret_cast<const std::byte*>(packed.data), counts.by_part, reinterpret_cast<std::byte*>(y.data), counts.by_owner);
  }
  release(ctx, mark);
}

// The way back: y (whole samples) = x (the rows of blocks).
template <class X, class Y>
void rows_to_samples(context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const section_scope section(ctx, "exchange rows");
  ctx.note(0, motet::detail::bytes_in(x) + motet::detail::bytes_in(y));
  const spread& is = *ctx.shared;
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.take<Y>(y.rows * y.width), y.rows, y.width, y.width};  // by part
  std::int32_t* const places = detail::take_part_places(ctx, is.mine);
  if (!ctx.measuring()) {
    assert(x.stride == x.width && y.rows == is.mine.rows() && x.rows == is.own.rows());
    const auto counts = detail::count_exchange(ctx, x.width * static_cast<index>(sizeof(Y)));
    is.context.all_to_all(reinterpret_cast<const std::byte*>(x.data), counts.by_owner, reinterpret_cast<std::byte*>(packed.data), counts.by_part);
    detail::find_part_places(ctx, is.mine, places);
    detail::map_rows(ctx, false, y.rows, places, 1, nullptr, packed, y);
  }
  release(ctx, mark);
}

}  // namespace motet::cuda
