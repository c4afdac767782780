// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/operation_rates.hpp>
#include <motet/backend/cpu/device.hpp>

#include <algorithm>
#include <vector>

#include <time.h>

namespace motet::cpu {

namespace detail {

// Time of this thread alone counts, not what other programs take of its processor.
inline double seconds_of_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// So much of `amount` in a second is usual on a thread of a device while all do the same.
template <class Operations>
double usual_rate(device& on, double amount, Operations&& operations) {
  on.prepare(on.dry_run(operations));
  std::vector<double> seconds;
  double spent = 0;
  while (seconds.size() < 5 || (spent < 0.03 && seconds.size() < 1000))
    on.run([&](context& ctx) {
      const double from = seconds_of_thread();
      operations(ctx);
      const double took = seconds_of_thread() - from;
      if (ctx.thread != 0) return;
      spent += took;
      seconds.push_back(took);
    });
  on.clear_costs();
  std::sort(seconds.begin(), seconds.end());
  return amount / seconds[seconds.size() / 2];
}

}  // namespace detail

// Measures what a thread of this device does while all of them compute, which share caches and memory:
// products as blocks of such a width have them, forward and backward of attention, and of a norm and an
// activation. Medians count. Takes about 0.1 s, of wide blocks more.
// Asks for: a number that values of a run have, of any value.
// Memory: some megabytes for each thread, given back.
// Errors: none of its own.
// Example:
//   double attention_flops(cpu::device& on) { return cpu::measure_operations(on, 0.0f).attention; }
template <class Value>
operation_rates measure_operations(device& on, Value, isize width = 256) {
  constexpr isize length = 64;
  const isize threads = on.threads(), samples = threads * (width > 256 ? 2 : 8), rows = samples * length,
              head = width % 64 == 0 ? 64 : width, heads = width / head, hidden = 4 * width;
  const sequences seq{samples, length, nullptr};
  std::vector<buffer<Value>> made;
  const auto take = [&] {
    made.emplace_back(rows * width);
    std::fill_n(made.back().data(), rows * width, Value(0.5f));
    return matrix<Value>{made.back().data(), rows, width, width};
  };
  const matrix<Value> q = take(), k = take(), v = take(), y = take(), dy = take(), dq = take(), dk = take(),
                      dv = take();
  const buffer<float> numbers(2 * rows * heads), gain(width);
  std::fill_n(gain.data(), gain.size(), 1.0f);
  const matrix<float> of_rows{numbers.data(), rows, heads, heads}, stats{numbers.data(), rows, 2, 2};
  const attention_shape shape{.heads = heads, .kv_heads = heads, .head_width = head};
  const buffer<float> w(width * hidden), dw(width * hidden);
  const buffer<Value> wide(rows * hidden);
  std::fill_n(w.data(), w.size(), 0.25f);
  std::fill_n(dw.data(), dw.size(), 0.0f);
  const matrix<Value> inner{wide.data(), rows, hidden, hidden};
  const matrix<const float> weight{w.data(), hidden, width, width};
  const auto multiplies = [&](context& ctx) {
    linear_forward(ctx, seq, q, weight, nullptr, inner);
    linear_backward_input(ctx, seq, inner, weight, dq);
    linear_backward_weight(ctx, q, inner, matrix<float>{dw.data(), hidden, width, width}, nullptr);
  };
  const auto attends = [&](context& ctx) {
    attention_forward(ctx, seq, seq, shape, q, k, v, y, of_rows);
    attention_backward(ctx, seq, seq, shape, q, k, v, y, of_rows, dy, dq, dk, dv);
  };
  const auto passes = [&](context& ctx) {
    norm_forward(ctx, seq, norm_kind::layer, q, gain.data(), gain.data(), 1e-5, y, stats);
    norm_backward_input(ctx, seq, norm_kind::layer, q, gain.data(), stats, dy, matrix<Value>{}, dq);
    activation_forward(ctx, seq, activation::gelu, k, v);
    activation_backward(ctx, seq, activation::gelu, k, dy, dk);
  };
  // What all threads do is counted, in even shares.
  const auto share = [&](double all) { return all / static_cast<double>(threads); };
  double bytes = 0;
  for (const section_cost& each : on.dry_run(passes).costs) bytes += each.bytes;
  return {detail::usual_rate(on, share(on.dry_run(multiplies).costs.flops()), multiplies),
          detail::usual_rate(on, share(on.dry_run(attends).costs.flops()), attends),
          detail::usual_rate(on, share(bytes), passes)};
}

}  // namespace motet::cpu
