// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>

// Sums over all that an operation touches: each block adds up its part, in double, and one block the parts,
// in their order. Nothing is added by atomics, so the same work gives the same bits.

namespace motet::cuda {

// Each block has room for a sum. It lasts, so that sums over flat buffers need no forecast; the next one
// begins when this one is done, as streams do.
struct partial_sums {
  static constexpr isize most = 1024;
  buffer<double> of{most};
  explicit partial_sums(engine&) {}
};

// Blocks found Count numbers each, whose sums are multiplied by a number: the first becomes a loss, the
// others are added to gradients of the loss's numbers.
template <class M, int Count>
struct settle_sums {
  static constexpr int most_threads = 1024;
  const double* parts;  // (count, Count)
  isize count;
  double by;
  double* to;
  M* gradients[Count];  // the first has no meaning; others may be none
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    double* const scratch = self.template shared<double>(warp_size);
    MOTET_UNROLLED
    for (int n = 0; n < Count; ++n) {
      double sum = 0;
      for (isize p = self.thread(); p < count; p += self.threads()) sum += parts[p * Count + n];
      sum = block_sum(self, sum, scratch) * by;
      if (self.thread() != 0) continue;
      if (n == 0) *to = sum;
      else if (gradients[n] != nullptr) *gradients[n] += static_cast<M>(sum);
    }
  }
};

// Its work is small beside what found the parts, but it is a kernel.
inline void note_settled(context& ctx) {
  ctx.note("settle_sums", 0, static_cast<double>(partial_sums::most) * static_cast<double>(sizeof(double)));
}
template <int Count, class M>
void settle(context& ctx, const settle_sums<M, Count>& sums) {
  int threads = warp_size;  // no more than there is work for
  while (threads < sums.most_threads && threads < sums.count) threads *= 2;
  launch(ctx.stream(), {1, threads, block_scratch<double>}, sums);
}
void add_up(auto& ctx, const double* parts, isize count, double by, const real& to) {
  settle(ctx, settle_sums<double, 1>{parts, count, by, to.at(), {nullptr}});
}

}  // namespace motet::cuda
