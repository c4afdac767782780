// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/core/messages.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/backend/cuda/kernels/sums.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

namespace motet::cuda {

namespace detail {

// Some classes of a row have these sums: that of the exponentials of their logits is e^peak * sum.
template <class T>
struct alignas(4 * sizeof(T)) class_sums {
  // matched: the logit of the target, zero where it is not among them; total: of all logits
  T peak, sum, matched, total;
};

// The rows of logits as blocks see them.
template <class L, int N>
struct class_rows {
  using number = arithmetic<L>;
  static constexpr int threads = 512, at_once = sizeof(number) == 8 ? 2 : 4;
  static constexpr number lowest = number(-3e38f);
  const L* logits;
  isize stride, rows, width;
  const std::int32_t* targets;
  isize first;
  std::int32_t ignored;

  // Several runs are under way before the first is used; a thread brings its sum to a higher peak once for
  // all of them.
  template <class Thread>
  MOTET_HOST_DEVICE class_sums<number> sums(Thread& self, isize row, number* scratch) const {
    const L* const from = logits + row * stride;
    const isize runs = width / N, target = targets[row] - first;
    const number matched = target >= 0 && target < width ? static_cast<number>(from[target]) : number(0);
    number peak = lowest, sum = 0, total = 0;
    for (isize i = self.thread(); i < runs; i += at_once * threads) {
      run<number, N> x[at_once];
      MOTET_UNROLLED
      for (int u = 0; u < at_once; ++u)
        if (i + u * threads < runs) x[u] = load_run<number, N>(from + (i + u * threads) * N);
      number top = peak;
      MOTET_UNROLLED
      for (int u = 0; u < at_once; ++u) MOTET_UNROLLED
      for (int e = 0; e < N; ++e)
        if (i + u * threads < runs && top < x[u].of[e]) top = x[u].of[e];
      sum *= std::exp(peak - top);
      peak = top;
      MOTET_UNROLLED
      for (int u = 0; u < at_once; ++u) MOTET_UNROLLED
      for (int e = 0; e < N; ++e)
        if (i + u * threads < runs) {
          sum += std::exp(x[u].of[e] - peak);
          total += x[u].of[e];
        }
    }
    const number top = block_max(self, peak, scratch);
    sum = block_sum(self, sum * std::exp(peak - top), scratch);
    total = block_sum(self, total, scratch);
    return {top, sum, matched, total};
  }
};

// Where members have different classes, first each finds its sums.
template <class L, int N>
struct find_class_sums {
  using number = arithmetic<L>;
  static constexpr int most_threads = class_rows<L, N>::threads;
  class_rows<L, N> of;
  class_sums<number>* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    number* const scratch = self.template shared<number>(warp_size);
    for (isize row = self.block(); row < of.rows; row += self.blocks()) {
      const class_sums<number> found = of.sums(self, row, scratch);
      if (self.thread() == 0) to[row] = found;
    }
  }
};

// A block for each row at a time: reads it for the sums, and once more, backwards, as the end is still in the
// L2 cache, for the gradients. The rows that all blocks are at take less than that cache (two blocks a
// multiprocessor, 99 KB a row of 49408 classes in bf16: 26 of 50 MB), so memory moves each logit once and
// each gradient once: the floor.
template <class L, class D, int N, bool Cut>
struct class_slopes {
  using number = arithmetic<L>;
  static constexpr int most_threads = class_rows<L, N>::threads;
  class_rows<L, N> of;
  const class_sums<number>* sums;  // (members, rows); unless the classes are cut, none
  isize members;
  double smoothing, per_class;
  number share;
  D* slopes;
  isize slopes_stride;
  double* parts;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    number* const scratch = self.template shared<number>(warp_size);
    double missed = 0;
    for (isize row = self.block(); row < of.rows; row += self.blocks()) {
      const bool counts = of.targets[row] != of.ignored;
      class_sums<number> all{};
      if (counts) {
        if constexpr (Cut) {
          all = sums[row];
          for (isize m = 1; m < members; ++m) join(all, sums[m * of.rows + row]);
        } else {
          all = of.sums(self, row, scratch);
        }
        if (self.thread() == 0) {  // doubles are slow
          // Differences first, as large logits may lie close together.
          const double peak = static_cast<double>(all.peak);
          missed += std::log(static_cast<double>(all.sum)) +
                    (1 - smoothing) * (peak - static_cast<double>(all.matched));
          // Without smoothing logits may be minus infinity.
          if (smoothing > 0) missed += smoothing * (peak - static_cast<double>(all.total) * per_class);
        }
      }
      if (slopes != nullptr) write(self, row, counts, all);
    }
    if (self.thread() == 0) parts[self.block()] = missed;
  }

 private:
  MOTET_HOST_DEVICE static void join(class_sums<number>& a, const class_sums<number>& b) {
    const number peak = a.peak < b.peak ? b.peak : a.peak;
    a = {peak, a.sum * std::exp(a.peak - peak) + b.sum * std::exp(b.peak - peak), a.matched + b.matched,
         a.total + b.total};
  }
  template <class Thread>
  MOTET_HOST_DEVICE void write(Thread& self, isize row, bool counts, const class_sums<number>& all) const {
    const L* const from = of.logits + row * of.stride;
    D* const to = slopes + row * slopes_stride;
    const isize runs = of.width / N, target = of.targets[row] - of.first;
    const number part = counts ? share / all.sum : number(0), even = share * number(smoothing * per_class),
                 match = share * number(1 - smoothing);
    for (isize i = runs - 1 - self.thread(); i >= 0; i -= self.threads()) {
      run<number, N> x{};
      if (counts) {
        x = load_run<number, N>(from + i * N);
        MOTET_UNROLLED
        for (int e = 0; e < N; ++e)
          x.of[e] = std::exp(x.of[e] - all.peak) * part - even - (i * N + e == target ? match : number(0));
      }
      store_run(to + i * N, x);
    }
  }
};

}  // namespace detail

// Softmax cross-entropy: for each row the logarithm of the sum of the exponentials of its logits less the
// logit of its target; with smoothing less that part of the mean of all logits instead. Times share, added
// over all rows that count. Writes the gradients, zeros for rows that do not count; with dlogits none it only
// evaluates. A target that is no class has probability zero and no logit: only rows to be ignored may have
// one.
template <class L, class D>
real cross_entropy_loss(context& ctx, const cross_entropy_shape& shape, matrix<L> logits,
                        const std::int32_t* targets, matrix<D> dlogits) {
  using X = std::remove_const_t<L>;
  using number = arithmetic<X>;
  const isize rows = logits.rows, classes = shape.classes > 0 ? shape.classes : logits.width;
  const bool cut = classes > logits.width;
  if (cut && ctx.shared == nullptr)
    fail(cut_but_alone, sentence({"logits have ", logits.width, " of ", classes, " classes"}));
  ctx.note("cross_entropy_loss", (dlogits ? 7 : 4) * elements_in(logits),
           bytes_in(logits) + bytes_in(dlogits));
  const scratch_scope scope(ctx);
  const isize blocks = blocks_for(rows, 1);
  const isize members = cut ? ctx.shared->tensor.size() : 1;
  double* const parts = ctx.scratch.template take<double>(blocks);
  // (members, rows)
  auto* const sums = ctx.scratch.template take<detail::class_sums<number>>(cut ? members * rows : 0);
  if (ctx.measuring() || rows == 0) return {};
  const real found = ctx.on->take_real();
  const auto start = [&](auto length) {
    constexpr int n = decltype(length)::value;
    using all_rows = detail::class_rows<X, n>;
    const all_rows of{logits.data, logits.stride, rows, logits.width, targets, shape.first, shape.ignored};
    const grid spread{blocks, all_rows::threads, block_scratch<number>};
    const double per_class = 1 / static_cast<double>(classes);
    const number share = static_cast<number>(shape.share);
    if (cut) {
      auto* const mine = sums + ctx.shared->tensor.member() * rows;
      launch(ctx.stream(), spread, detail::find_class_sums<X, n>{of, mine});
      const std::vector<isize> bytes(as_size(members), rows * static_cast<isize>(sizeof(*sums)));
      ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(mine),
                                    reinterpret_cast<std::byte*>(sums), bytes);
      launch(ctx.stream(), spread,
             detail::class_slopes<X, D, n, true>{of, sums, members, shape.smoothing, per_class, share,
                                                 dlogits.data, dlogits.stride, parts});
    } else {
      launch(ctx.stream(), spread,
             detail::class_slopes<X, D, n, false>{of, nullptr, 1, shape.smoothing, per_class, share,
                                                  dlogits.data, dlogits.stride, parts});
    }
  };
  constexpr int longest = run_size<X, D>;
  if (in_runs<longest>(logits) && in_runs<longest>(dlogits)) start(std::integral_constant<int, longest>{});
  else start(std::integral_constant<int, 1>{});
  add_up(ctx, parts, blocks, shape.share, found);
  return found;
}

}  // namespace motet::cuda
