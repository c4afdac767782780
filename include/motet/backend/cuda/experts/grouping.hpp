// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/prefix.hpp>
#include <motet/backend/cuda/kernels/row_moves.hpp>
#include <motet/nn/core/routing.hpp>

// Choices sorted by what they go to, stably and with the GPU alone: the host never learns how many there are
// of each. It counts on as many positions as there is memory for (grouping::most); how many have a choice
// says starts[keys], on the GPU.

namespace motet::cuda::detail {

// A grouping has memory for up to `most` positions of the choices of up to `rows` rows.
inline grouping take_grouping(context& ctx, isize keys, isize rows, isize top_k, isize most) {
  grouping by;
  by.keys = keys;
  by.starts = ctx.memory.take<isize>(keys + 1);
  by.position = {ctx.memory.take<std::int32_t>(rows * top_k), rows, top_k, top_k};
  by.source = ctx.memory.take<std::int32_t>(most);
  by.most = most;
  return by;
}

// The key of a choice: its expert, among those from `first` on; negative: none.
template <class Real>
struct choice_keys {
  matrix<const choice<Real>> chosen;
  isize first, keys;
  MOTET_HOST_DEVICE int of(isize number) const {
    const auto k = static_cast<std::uint32_t>(chosen.width), at = static_cast<std::uint32_t>(number);
    const choice<Real>& c = chosen.row(static_cast<isize>(at / k))[at % k];
    const isize key = c.expert - first;
    return c.kept && key >= 0 && key < keys ? static_cast<int>(key) : -1;
  }
};

// Choices are cut into tiles. How often each key comes in each:
template <class Real>
struct count_keys_kernel {
  static constexpr int most_threads = 256;
  choice_keys<Real> keys;
  isize count, each;  // choices; of a tile
  int* table;         // (tiles, keys)
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    int* const mine = table + self.block() * keys.keys;
    for (isize k = self.thread(); k < keys.keys; k += self.threads()) mine[k] = 0;
    self.barrier();
    const isize first = self.block() * each, end = first + each < count ? first + each : count;
    for (isize i = first + self.thread(); i < end; i += self.threads())
      if (const int key = keys.of(i); key >= 0) self.atomic_add(mine + key, 1);
  }
};
// The counts of a key become how many there are in the tiles before; a warp has a key. The sums of all tiles
// go to `starts`.
struct sum_tiles_kernel {
  static constexpr int most_threads = 256, at_once = 8;
  isize keys, tiles;
  int* table;
  isize* starts;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize k = self.number() / warp_size; k < keys; k += self.all() / warp_size) {
      int before = 0;
      for (isize first = 0; first < tiles; first += warp_size * at_once) {
        int here[at_once], sum = 0;
        MOTET_UNROLLED
        for (int i = 0; i < at_once; ++i) {
          const isize tile = first + self.lane() * at_once + i;
          here[i] = tile < tiles ? table[tile * keys + k] : 0;
          sum += here[i];
        }
        const int with_mine = warp_prefix(self, sum);
        int at = before + with_mine - sum;
        MOTET_UNROLLED
        for (int i = 0; i < at_once; ++i) {
          const isize tile = first + self.lane() * at_once + i;
          if (tile < tiles) table[tile * keys + k] = at;
          at += here[i];
        }
        before += self.shuffle(with_mine, warp_size - 1);
      }
      if (self.lane() == 0) starts[k] = before;
    }
  }
};
// Counts become the first position of each key. One block.
struct sum_keys_kernel {
  isize keys;
  isize* starts;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    isize* const scratch = self.template shared<isize>(warp_size);
    isize before = 0;
    for (isize first = 0; first <= keys; first += self.threads()) {
      const isize k = first + self.thread();
      isize total = 0;
      const isize at = before + block_prefix(self, k < keys ? starts[k] : isize{0}, total, scratch);
      if (k <= keys) starts[k] = at;
      before += total;
    }
  }
};
// A lane knows how many of the lanes before it have its key, and whether any after it has; nobody asks lanes
// without a key.
struct lane_rank {
  int before;
  bool last;
};
template <class Thread>
MOTET_HOST_DEVICE lane_rank rank_in_warp(Thread& self, int key) {
  lane_rank found{0, true};
  MOTET_UNROLLED
  for (int lane = 0; lane < warp_size; ++lane) {
    const bool same = self.shuffle(key, lane) == key;
    if (same && lane < self.lane()) ++found.before;
    if (same && lane > self.lane()) found.last = false;
  }
  return found;
}
// Each choice gets its position. A block is one warp, which has a tile and takes its choices in order.
template <class Real>
struct sort_choices_kernel {
  static constexpr int most_threads = 32;
  choice_keys<Real> keys;
  isize count, each;
  int* table;
  const isize* starts;
  std::int32_t *position, *source;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    int* const mine = table + self.block() * keys.keys;
    const isize first = self.block() * each, end = first + each < count ? first + each : count;
    for (isize i = first; i < end; i += warp_size) {
      const isize at = i + self.lane();
      const int key = at < end ? keys.of(at) : -1;
      const lane_rank rank = rank_in_warp(self, key);
      const int before = key >= 0 ? mine[key] + rank.before : 0;
      self.barrier();
      if (key >= 0) {
        const auto to = static_cast<std::int32_t>(starts[key] + before);
        position[at] = to;
        source[to] = static_cast<std::int32_t>(at);
        if (rank.last) mine[key] = before + 1;
      } else if (at < end) {
        position[at] = -1;
      }
      self.barrier();
    }
  }
};

// Sorts the choices of `chosen` that are kept and go to one of by.keys experts from `first` on. Takes scratch
// memory by the size of `by`, in a dry run too.
template <class Real>
void sort_choices(context& ctx, matrix<const choice<Real>> chosen, isize first, const grouping& by) {
  const scratch_scope scope(ctx);
  const isize room = by.position.rows * by.position.width, count = chosen.rows * chosen.width;
  // There are so many tiles that all of the GPU sorts choices, but no more than a million counts.
  const auto tiles_of = [&](isize choices) {
    const isize tiles = (choices + 127) / 128, most = (isize{1} << 20) / (by.keys > 0 ? by.keys : 1);
    return tiles < most ? (tiles > 0 ? tiles : 1) : (most > 0 ? most : 1);
  };
  int* const table = ctx.scratch.take<int>(tiles_of(room) * by.keys);  // (tiles, keys)
  if (ctx.measuring()) return;
  const isize tiles = tiles_of(count), each = round_up((count + tiles - 1) / tiles, warp_size);
  const choice_keys<Real> keys{chosen, first, by.keys};
  launch(ctx.stream(), {tiles, 256, 0}, count_keys_kernel<Real>{keys, count, each, table});
  launch(ctx.stream(), {blocks_for(by.keys, 8), 256, 0}, sum_tiles_kernel{by.keys, tiles, table, by.starts});
  launch(ctx.stream(), {1, 1024, block_scratch<isize>}, sum_keys_kernel{by.keys, by.starts});
  launch(ctx.stream(), {count > 0 ? tiles : 0, warp_size, 0},
         sort_choices_kernel<Real>{keys, count, each, table, by.starts, by.position.data, by.source});
}

// Each position gets the row that its choice is of.
template <class X, class Y>
void spread_rows_to(context& ctx, const grouping& by, matrix<X> x, matrix<Y> y) {
  map_rows(ctx, false, y.rows, by.source, static_cast<std::int32_t>(by.position.width), by.starts + by.keys,
           x, y);
}

// y = residual (may be empty) + the sum of what lies at a row's positions, in order, weighed with the gates
// of its choices where they are given. With no positions, row r has row j * y.rows + r of `from` for each of
// `top_k` numbers j.
template <int Each, class Real, class X, class R, class Y>
struct collect_rows_kernel {
  static constexpr int most_threads = 256, at_once = 4;
  row_walk walk;
  int top_k;
  const std::int32_t* positions;
  const choice<Real>* gates;
  const X* from;
  const R* residual;
  Y* y;
  isize from_stride, residual_stride, y_stride;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    using number = arithmetic<X, R, Y, Real>;
    for (isize r = self.number() >> walk.shift; r < walk.rows; r += self.all() >> walk.shift)
      for (isize i = self.number() & ((isize{1} << walk.shift) - 1); i < walk.steps;
           i += isize{1} << walk.shift) {
        number sum[Each] = {};
        if (residual != nullptr) {
          R beside[Each];
          load_each<Each>(residual + r * residual_stride + i * Each, beside);
          MOTET_UNROLLED
          for (int e = 0; e < Each; ++e) sum[e] = static_cast<number>(beside[e]);
        }
        for (int j = 0; j < top_k; j += at_once) {
          // All loads first, so that none waits for the other.
          X some[at_once][Each];
          number scale[at_once];
          bool there[at_once];
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u) {
            there[u] = j + u < top_k;
            if (!there[u]) continue;
            const isize at = positions != nullptr ? static_cast<isize>(positions[r * top_k + j + u])
                                                  : (j + u) * walk.rows + r;
            there[u] = at >= 0;
            if (!there[u]) continue;
            scale[u] = gates != nullptr ? static_cast<number>(gates[r * top_k + j + u].gate) : number(1);
            load_each<Each>(from + at * from_stride + i * Each, some[u]);
          }
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u) {
            if (!there[u]) continue;
            MOTET_UNROLLED
            for (int e = 0; e < Each; ++e) sum[e] += scale[u] * static_cast<number>(some[u][e]);
          }
        }
        Y out[Each];
        MOTET_UNROLLED
        for (int e = 0; e < Each; ++e) out[e] = static_cast<Y>(sum[e]);
        store_each<Each>(y + r * y_stride + i * Each, out);
      }
  }
};

template <class Real, class X, class R, class Y>
void collect_rows(context& ctx, const std::int32_t* positions, isize top_k, matrix<X> from,
                  const choice<Real>* gates, matrix<R> residual, matrix<Y> y) {
  if (y.rows == 0 || y.width == 0) return;
  using element = std::remove_const_t<X>;
  using beside = std::remove_const_t<R>;
  constexpr int each = pack_of<element, beside, Y>();
  const auto run = [&]<int Each>() {
    const row_walk walk(y.rows, y.width / Each);
    launch(ctx.stream(), walk.shape(),
           collect_rows_kernel<Each, Real, element, beside, Y>{walk, static_cast<int>(top_k), positions,
                                                               gates, from.data, residual.data, y.data,
                                                               from.stride, residual.stride, y.stride});
  };
  if (in_pieces<each>(from.data, y.width, from.stride) && in_pieces<each>(y.data, y.width, y.stride) &&
      (!residual || in_pieces<each>(residual.data, y.width, residual.stride)))
    run.template operator()<each>();
  else run.template operator()<1>();
}

}  // namespace motet::cuda::detail
