// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>

// Kernels that need all of a row before they write any of it. A warp has a row, or, where it is wide, a
// block; each thread has every so manieth run of N neighbours, and keeps them in registers between the two,
// so that a row is read once. Rows wider than that are read again, from the cache at best.

namespace motet::cuda {

// The runs of this thread. Runs: how many it keeps, 0 for rows of any width.
template <int N, int Runs>
struct row_part {
  int me, size;
  isize width;
  // Calls work(run's number, its column).
  template <class Work>
  MOTET_HOST_DEVICE void each(Work&& work) const {
    if constexpr (Runs > 0) {
      MOTET_UNROLLED
      for (int k = 0; k < Runs; ++k) {
        const isize column = static_cast<isize>(k * size + me) * N;
        if (column < width) work(k, column);
      }
    } else {
      for (isize column = static_cast<isize>(me) * N; column < width; column += static_cast<isize>(size) * N)
        work(0, column);
    }
  }
};

// This thread's runs of a row, from registers or, where none are kept, from memory each time.
template <class T, int N, int Runs, class X>
class held_row {
 public:
  MOTET_HOST_DEVICE held_row(const row_part<N, Runs>& part, const X* from) : from_(from) {
    if constexpr (Runs > 0) part.each([&](int k, isize column) { kept_[k] = load_run<T, N>(from + column); });
  }
  MOTET_HOST_DEVICE run<T, N> at(int k, isize column) const {
    if constexpr (Runs > 0) return kept_[k];
    else return load_run<T, N>(from_ + column);
  }

 private:
  const X* from_;
  run<T, N> kept_[Runs > 0 ? Runs : 1];
};

// Walks over rows: work(row, part) for each row of this warp or block.
template <int N, int Runs, bool Block, class Thread, class Work>
MOTET_HOST_DEVICE void for_rows(Thread& self, isize rows, isize width, Work&& work) {
  if constexpr (Block) {
    const row_part<N, Runs> part{self.thread(), self.threads(), width};
    for (isize r = self.block(); r < rows; r += self.blocks()) work(r, part);
  } else {
    const row_part<N, Runs> part{self.lane(), warp_size, width};
    for (isize r = self.block() * self.warps() + self.warp(); r < rows; r += self.blocks() * self.warps())
      work(r, part);
  }
}

// Sums over all who have a part of the row, on each of them. `scratch`: shared, 32 numbers for each sum; not
// needed by a warp.
template <bool Block, int Count, class Thread, class T>
MOTET_HOST_DEVICE void row_sums(Thread& self, T (&values)[Count], T* scratch) {
  MOTET_UNROLLED
  for (int s = 0; s < Count; ++s) values[s] = warp_sum(self, values[s]);
  if constexpr (Block) {
    if (self.warps() == 1) return;
    self.barrier();  // the scratch may still be read from before
    if (self.lane() == 0)
      for (int s = 0; s < Count; ++s) scratch[s * warp_size + self.warp()] = values[s];
    self.barrier();
    MOTET_UNROLLED
    for (int s = 0; s < Count; ++s)
      values[s] = warp_sum(self, self.lane() < self.warps() ? scratch[s * warp_size + self.lane()] : T(0));
  }
}

template <int N, int Runs, bool Block>
struct row_shape {
  static constexpr int size = N, runs = Runs;
  static constexpr bool block = Block;
  grid over;
};

// Calls run(row_shape) with what suits rows of this width, where all may be moved in runs of Size, or not.
// Sums: how many numbers row_sums sums at a time.
template <int Size, class T, class Run>
void for_row_shape(isize rows, isize width, bool packed, int sums, Run&& run) {
  const isize shared = sums * block_scratch<T>;
  const auto block_of = [&](isize each) {
    return static_cast<int>(std::min<isize>(512, round_up((width + each - 1) / each, warp_size)));
  };
  if (rows == 0 || width == 0) return;
  // A float of 32 kept ones is one register; most rows of nets are no wider than 1024.
  if (packed && width <= 16 * warp_size)
    return run(row_shape<Size, 16 / Size, false>{{blocks_for(rows, 8), 256, 0}});
  if (packed && width <= 32 * warp_size)
    return run(row_shape<Size, 32 / Size, false>{{blocks_for(rows, 8), 256, 0}});
  if (packed && width <= 16 * 512)
    return run(row_shape<Size, 16 / Size, true>{{blocks_for(rows, 1), block_of(16), shared}});
  if (packed) return run(row_shape<Size, 0, true>{{blocks_for(rows, 1), 512, shared}});
  run(row_shape<1, 0, true>{{blocks_for(rows, 1), std::min(256, block_of(1)), shared}});
}

}  // namespace motet::cuda
