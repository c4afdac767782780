// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/losses/cross_entropy.hpp>

namespace motet::cuda {

namespace detail {

// A block for each row at a time. Floor: logits are read once.
template <class L, class S, int N>
struct row_losses {
  static constexpr int most_threads = class_rows<L, N>::threads;
  class_rows<L, N> of;
  z_loss z;
  S* losses;
  isize losses_stride;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    using number = arithmetic<L>;
    number* const scratch = self.template shared<number>(warp_size);
    for (isize row = self.block(); row < of.rows; row += self.blocks()) {
      S found(0);
      if (of.targets[row] >= 0) {
        const class_sums<number> all = of.sums(self, row, scratch);
        const number log_sum = std::log(all.sum);
        // Differences first, as large logits may lie close together.
        found = static_cast<S>(log_sum + (all.peak - all.matched) + z.of(all.peak + log_sum));
      }
      if (self.thread() == 0) losses[row * losses_stride] = found;
    }
  }
};

// A block for each row at a time reads it for the sum, and once more, backwards, as the end is still in the
// L2 cache, for the gradients.
template <class L, class S, class D, int N>
struct row_slopes {
  static constexpr int most_threads = class_rows<L, N>::threads;
  class_rows<L, N> of;
  z_loss z;
  const S* slopes;
  isize slopes_stride;
  D* to;
  isize stride;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    using number = arithmetic<L>;
    number* const scratch = self.template shared<number>(warp_size);
    const isize runs = of.width / N;
    for (isize row = self.block(); row < of.rows; row += self.blocks()) {
      const isize target = of.targets[row];
      const bool counts = target >= 0;
      class_sums<number> all{};
      if (counts) all = of.sums(self, row, scratch);
      const number slope = counts ? static_cast<number>(slopes[row * slopes_stride]) : number(0),
                   part = counts ? slope * z.times(all.peak + std::log(all.sum)) / all.sum : number(0);
      for (isize i = runs - 1 - self.thread(); i >= 0; i -= self.threads()) {
        run<number, N> x{};
        if (counts) {
          x = load_run<number, N>(of.logits + row * of.stride + i * N);
          MOTET_UNROLLED
          for (int e = 0; e < N; ++e)
            x.of[e] = std::exp(x.of[e] - all.peak) * part - (i * N + e == target ? slope : number(0));
        }
        store_run(to + row * stride + i * N, x);
      }
    }
  }
};

// Samples have few losses, so one block adds them up.
template <class S>
struct add_losses {
  static constexpr int most_threads = 256;
  matrix<const S> losses;
  matrix<S> slopes;
  double* to;
  double weight;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    double* const scratch = self.template shared<double>(warp_size);
    const isize all = losses.rows * losses.width;
    double sum = 0;
    for (isize i = self.thread(); i < all; i += self.threads()) {
      const isize row = i / losses.width, column = i % losses.width;
      sum += static_cast<double>(losses.row(row)[column]);
      if (slopes.data != nullptr) slopes.row(row)[column] = static_cast<S>(weight);
    }
    sum = block_sum(self, sum, scratch);
    if (self.thread() == 0) *to = weight * sum;
  }
};

}  // namespace detail

// Softmax cross-entropy of each row by itself: the logarithm of the sum of the exponentials of its logits
// less the logit of its target, and its z loss; zero where the target is negative.
template <class L, class S>
void token_losses(context& ctx, const sequences&, matrix<L> logits, const std::int32_t* targets, z_loss z,
                  matrix<S> losses) {
  using X = std::remove_const_t<L>;
  ctx.note("token_losses", 4 * elements_in(logits), bytes_in(logits) + bytes_in(losses));
  if (ctx.measuring() || logits.rows == 0) return;
  const auto start = [&](auto length) {
    constexpr int n = decltype(length)::value;
    using all_rows = detail::class_rows<X, n>;
    const all_rows of{logits.data, logits.stride, logits.rows, logits.width, targets, 0, -1};
    launch(ctx.stream(), {blocks_for(logits.rows, 1), all_rows::threads, block_scratch<arithmetic<X>>},
           detail::row_losses<X, S, n>{of, z, losses.data, losses.stride});
  };
  constexpr int longest = run_size<X>;
  if (in_runs<longest>(logits)) start(std::integral_constant<int, longest>{});
  else start(std::integral_constant<int, 1>{});
}

// Its gradients, each times its row's slope: the probability of each token, as often as the z loss has it,
// less one for the target.
template <class L, class S, class D>
void token_slopes(context& ctx, const sequences&, matrix<L> logits, const std::int32_t* targets, z_loss z,
                  matrix<S> slopes, matrix<D> dlogits) {
  using X = std::remove_const_t<L>;
  using slope = std::remove_const_t<S>;
  ctx.note("token_slopes", 7 * elements_in(logits), bytes_in(logits) + bytes_in(dlogits));
  if (ctx.measuring() || logits.rows == 0) return;
  const auto start = [&](auto length) {
    constexpr int n = decltype(length)::value;
    using all_rows = detail::class_rows<X, n>;
    const all_rows of{logits.data, logits.stride, logits.rows, logits.width, targets, 0, -1};
    launch(
        ctx.stream(), {blocks_for(logits.rows, 1), all_rows::threads, block_scratch<arithmetic<X>>},
        detail::row_slopes<X, slope, D, n>{of, z, slopes.data, slopes.stride, dlogits.data, dlogits.stride});
  };
  constexpr int longest = run_size<X, D>;
  if (in_runs<longest>(logits) && in_runs<longest>(dlogits)) start(std::integral_constant<int, longest>{});
  else start(std::integral_constant<int, 1>{});
}

// The sum of what samples lost, times a weight. That is its slope by each.
template <class L, class S>
real sum_losses(context& ctx, matrix<L> losses, matrix<S> slopes, double weight = 1) {
  ctx.note("sum_losses", elements_in(losses), bytes_in(losses) + bytes_in(slopes));
  if (ctx.measuring()) return {};
  const real found = ctx.on->take_real();
  launch(ctx.stream(), {1, 256, block_scratch<double>},
         detail::add_losses<S>{losses, slopes, found.at(), weight});
  return found;
}

}  // namespace motet::cuda
