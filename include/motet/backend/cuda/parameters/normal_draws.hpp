// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/transfer.hpp>
#include <motet/tensor/near_normal.hpp>

#include <algorithm>
#include <vector>

namespace motet::cuda {

namespace detail {

// A kernel notes draws that only the host can make: how many there were, and which, as far as there is room.
struct doubtful_draws {
  static constexpr isize most = 1023;
  unsigned long long count = 0;
  unsigned long long at[most] = {};
};
class doubtful_room {
 public:
  explicit doubtful_room(engine&) : there_(1), here_(1) {}
  doubtful_draws* there() const { return there_.data(); }
  // The host waits for the stream's kernels to read what they noted.
  const doubtful_draws& read(context& ctx) {
    // There are seldom more than a few, so the count and the first ones come at once.
    constexpr isize first = 64 * sizeof(unsigned long long);
    const auto bring = [&](isize from, isize bytes) {
      download(ctx, reinterpret_cast<const std::byte*>(there_.data()) + from,
               reinterpret_cast<std::byte*>(here_.data()) + from, bytes);
    };
    bring(0, first);
    if (here_[0].count >= 64) bring(first, static_cast<isize>(sizeof(doubtful_draws)) - first);
    return here_[0];
  }

 private:
  buffer<doubtful_draws> there_;
  pinned_buffer<doubtful_draws> here_;
};

// Rows of `to` in turn by the blocks, blocks of draws (two numbers each) by the threads.
template <class T>
struct normal_rows {
  random_stream draws;
  // of the drawn tensor: the first element, its rows' width; all numbers that are made
  isize first, width, count;
  float scale;
  matrix<T> to;
  doubtful_draws* doubtful;
  isize most;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = self.block(); r < to.rows; r += self.blocks()) {
      const isize left = count - r * to.width, columns = left < to.width ? left : to.width;
      const isize begin = first + r * width, end = begin + columns;
      for (isize block = begin / 2 + self.thread(); 2 * block < end; block += self.threads()) {
        const auto words = draws.block(static_cast<std::uint64_t>(block));
        put(self, r, 2 * block, begin, end, words.at[0], words.at[1]);
        put(self, r, 2 * block + 1, begin, end, words.at[2], words.at[3]);
      }
    }
  }

 private:
  template <class Thread>
  MOTET_HOST_DEVICE void put(Thread& self, isize r, isize element, isize begin, isize end, std::uint32_t a,
                             std::uint32_t b) const {
    if (element < begin || element >= end) return;
    const near_normal found = normal_near(a, b);
    const isize at = r * to.width + element - begin;
    to.row(r)[element - begin] = static_cast<T>(static_cast<float>(found.value) * scale);
    if (found.certain()) return;
    const auto number = static_cast<isize>(self.atomic_add(&doubtful->count, 1ull));
    if (number < most) doubtful->at[number] = static_cast<unsigned long long>(at);
  }
};

// As draw_normals(), with room for `most` that are in doubt; of more the host makes all.
template <class T>
void draw_normals_noting(context& ctx, const random_stream& draws, isize first, isize width, float scale,
                         matrix<T> to, isize most) {
  const isize count = to.rows * to.width;
  if (ctx.measuring() || count <= 0) return;
  // A tensor that lies in one piece is cut into rows that keep all multiprocessors equally busy.
  constexpr isize piece = 4096;
  if (to.width == width && to.stride == width)
    to = {to.data, (count + piece - 1) / piece, piece, piece}, width = piece;
  auto& room = ctx.on->part<doubtful_room>();
  check(cudaMemsetAsync(room.there(), 0, sizeof(unsigned long long), ctx.stream()), "cudaMemsetAsync");
  launch(ctx.stream(), {blocks_for(to.rows, 1), 256, 0},
         normal_rows<T>{draws, first, width, count, scale, to, room.there(), most});
  const doubtful_draws& found = room.read(ctx);
  const auto exact = [&](isize r, isize c) {
    return static_cast<T>(
        static_cast<float>(draws.normal(static_cast<std::uint64_t>(first + r * width + c))) * scale);
  };
  if (const auto noted = static_cast<isize>(found.count); noted <= most) {
    for (isize i = 0; i < noted; ++i) {
      const isize r = static_cast<isize>(found.at[i]) / to.width,
                  c = static_cast<isize>(found.at[i]) % to.width;
      const T value = exact(r, c);
      upload(ctx, &value, to.row(r) + c, 1);
    }
    return;
  }
  std::vector<T> row(as_size(to.width));
  for (isize r = 0; r < to.rows; ++r) {
    const isize columns = std::min(to.width, count - r * to.width);
    for (isize c = 0; c < columns; ++c) row[as_size(c)] = exact(r, c);
    upload(ctx, static_cast<const T*>(row.data()), to.row(r), columns);
  }
}

}  // namespace detail

// to(r, c) = draws.normal(first + r * width + c) as a float, times scale: the same bits as on the CPU. The
// few draws of which the last bit is in doubt are made by the host, which waits for that. Floor: `to` is
// written once; a draw takes some 80 instructions, 30 of them on doubles.
template <class T>
void draw_normals(context& ctx, const random_stream& draws, isize first, isize width, float scale,
                  matrix<T> to) {
  detail::draw_normals_noting(ctx, draws, first, width, scale, to, detail::doubtful_draws::most);
}

}  // namespace motet::cuda
