// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention.hpp>
#include <motet/backend/cuda/exchange/rows_exchange.hpp>
#include <motet/backend/exchange/context_ring.hpp>

#include <cmath>
#include <deque>
#include <vector>

// The parts of ring attention besides the ring say which queries meet a member's keys, and how results for
// some of the keys become those for all.

namespace motet::cuda::detail {

// Offsets of samples that live as long as their copies on the GPU; equal ones are the same.
class offset_pool {
 public:
  offset_pool() = default;
  explicit offset_pool(engine&) {}
  const isize* keep(std::vector<isize> offsets, std::uint64_t epoch) {
    if (epoch != epoch_) all_.clear();
    epoch_ = epoch;
    for (const auto& each : all_)
      if (each == offsets) return each.data();
    return all_.emplace_back(std::move(offsets)).data();
  }

 private:
  std::deque<std::vector<isize>> all_;
  std::uint64_t epoch_ = 0;
};

// The queries and the keys that meet in a step are samples of their own: all rows of a part, or one piece of
// each sample.
enum class ring_rows : std::uint8_t { none, all, first, second };

struct attention_ring : context_ring {
  context& ctx;
  attention_shape shape;
  offset_pool own_pool;  // of a dry run

  attention_ring(context& of, const attention_shape& heads)
      : context_ring(*of.shared), ctx(of), shape(heads) {}

  // Under a causal mask all that a member sees of another one's keys it sees in full, and of its own, one
  // piece behind the other, what a triangle shows.
  struct meeting {
    ring_rows queries, keys;
    mask_kind mask;
  };
  meeting with(isize part) const {
    if (shape.mask == mask_kind::full) return {ring_rows::all, ring_rows::all, mask_kind::full};
    if (part == me) return {ring_rows::all, ring_rows::all, mask_kind::causal};
    if (!is.cut.balanced)
      return {part < me ? ring_rows::all : ring_rows::none, ring_rows::all, mask_kind::full};
    if (part < me) return {ring_rows::all, ring_rows::first, mask_kind::full};
    return {ring_rows::second, ring_rows::all, mask_kind::full};
  }
  sequences rows(isize part, ring_rows which) {
    const auto count = [&](isize rows) {
      return which == ring_rows::all ? is.cut.rows_of(rows, part)
                                     : is.cut.piece(rows, part, which == ring_rows::first ? 0 : 1).size();
    };
    if (is.whole.offsets == nullptr) return {is.whole.samples, count(is.whole.length), nullptr};
    std::vector<isize> offsets{0};
    for (isize s = 0; s < is.whole.samples; ++s)
      offsets.push_back(offsets.back() + count(is.whole.rows_of(s)));
    offset_pool& pool = ctx.on != nullptr ? ctx.on->part<offset_pool>() : own_pool;
    return {is.whole.samples, 1, pool.keep(std::move(offsets), ctx.on != nullptr ? ctx.on->forgotten() : 0)};
  }
  sequences on_gpu(const sequences& of) const { return {of.samples, of.length, ctx.on->offsets(of)}; }
};

// Each row of a piece of the samples gets its row of the whole part.
struct piece_positions_kernel {
  sequences piece, part, whole;  // offsets of the GPU
  row_parts cut;
  isize number;
  bool second;
  isize rows;
  std::int32_t* positions;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.number(); r < rows; r += self.all()) {
      const isize sample = sample_of(piece, r),
                  before = second ? cut.piece(whole.rows_of(sample), number, 0).size() : 0;
      positions[r] = static_cast<std::int32_t>(part.begin(sample) + before + r - piece.begin(sample));
    }
  }
};

// The result says where the rows of `which` lie among those of a part; null where they are all of them.
template <class Ring>
const std::int32_t* find_piece_rows(Ring& ring, isize part, ring_rows which, std::int32_t* positions) {
  if (which == ring_rows::all) return nullptr;
  const sequences piece = ring.rows(part, which), all = ring.rows(part, ring_rows::all);
  const isize rows = piece.rows();
  launch(ring.ctx.stream(), {blocks_for(rows, 256), 256, 0},
         piece_positions_kernel{ring.on_gpu(piece), ring.on_gpu(all), ring.on_gpu(ring.is.whole), ring.is.cut,
                                part, which == ring_rows::second, rows, positions});
  return positions;
}

// The weights say how results for some keys count beside those found before; lse becomes that of both.
// Samples without such keys change nothing.
template <class Number>
struct ring_weights_kernel {
  sequences queries, keys;        // offsets of the GPU
  const std::int32_t* positions;  // of queries among those of the part; none: as they are
  isize rows, heads;
  bool first;
  const Number* found;                // (rows, heads), lse for these keys
  Number *lse, *old_weight, *weight;  // (rows of the part, heads), (rows, heads), likewise
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < rows * heads; i += self.all()) {
      const isize r = i / heads,
                  to = (positions == nullptr ? r : static_cast<isize>(positions[r])) * heads + i % heads;
      const bool blind = keys.rows_of(sample_of(queries, r)) == 0;
      if (first) {
        lse[to] = blind ? -static_cast<Number>(HUGE_VAL) : found[i];
        old_weight[i] = 0;
        weight[i] = blind ? Number(0) : Number(1);
      } else if (blind) {
        old_weight[i] = 1;
        weight[i] = 0;
      } else {
        const Number old = lse[to], here = found[i], most = old > here ? old : here;
        const Number both = most + std::log(std::exp(old - most) + std::exp(here - most));
        lse[to] = both;
        old_weight[i] = std::exp(old - both);
        weight[i] = std::exp(here - both);
      }
    }
  }
};
// sum = old weight * sum + weight * found, of each row and head; bound by memory.
template <class T, class Number>
struct ring_combine_kernel {
  static constexpr int most_threads = 256;
  const std::int32_t* positions;
  row_walk walk;  // over (rows x heads, head width)
  isize heads;
  bool first;
  const T* found;
  Number* sum;  // (rows of the part, heads, head width)
  const Number *old_weight, *weight;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number() >> walk.shift; i < walk.rows; i += self.all() >> walk.shift) {
      const isize r = i / heads,
                  to = (positions == nullptr ? r : static_cast<isize>(positions[r])) * heads + i % heads;
      const Number before = old_weight[i], now = weight[i];
      for (isize c = self.number() & ((isize{1} << walk.shift) - 1); c < walk.steps;
           c += isize{1} << walk.shift) {
        Number& at = sum[to * walk.steps + c];
        const Number here = now == 0 ? Number(0) : now * static_cast<Number>(found[i * walk.steps + c]);
        at = first ? here : before * at + here;
      }
    }
  }
};
// to.row(position) += from.row(r)
template <class T, class Number>
struct ring_add_kernel {
  static constexpr int most_threads = 256;
  const std::int32_t* positions;
  row_walk walk;
  const T* from;
  Number* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.number() >> walk.shift; r < walk.rows; r += self.all() >> walk.shift) {
      const isize position = positions == nullptr ? r : static_cast<isize>(positions[r]);
      for (isize c = self.number() & ((isize{1} << walk.shift) - 1); c < walk.steps;
           c += isize{1} << walk.shift)
        to[position * walk.steps + c] += static_cast<Number>(from[r * walk.steps + c]);
    }
  }
};
template <class T, class Number>
void add_at(context& ctx, const std::int32_t* positions, matrix<T> from, Number* to) {
  const row_walk walk(from.rows, from.width);
  launch(ctx.stream(), walk.shape(), ring_add_kernel<T, Number>{positions, walk, from.data, to});
}
// The rows at these positions, or all as they are.
template <class X, class Y>
void rows_at(context& ctx, const std::int32_t* positions, matrix<X> x, matrix<Y> y) {
  if (positions == nullptr) convert_rows(ctx, x, y);
  else map_rows(ctx, false, y.rows, positions, 1, nullptr, x, y);
}

// Nothing that is done until the end of the scope is noted.
class unnoted_scope {
 public:
  explicit unnoted_scope(context& ctx) : ctx_(ctx), costs_(std::exchange(ctx.costs, nullptr)) {}
  unnoted_scope(const unnoted_scope&) = delete;
  unnoted_scope& operator=(const unnoted_scope&) = delete;
  ~unnoted_scope() { ctx_.costs = costs_; }

 private:
  context& ctx_;
  profile* costs_;
};

}  // namespace motet::cuda::detail
