// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_forecast.hpp>
#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/backend/cpu/operations.hpp>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace motet::cpu {

using motet::step_forecast;

// The threads of this process with the memory of a step. Nothing is allocated between prepare() and the next
// prepare().
class device {
 public:
  using context = cpu::context;
  using step_forecast = cpu::step_forecast;
  using profile = cpu::profile;
  template <class T>
  using buffer = motet::buffer<T>;
  static constexpr bool shares_memory = true;  // it is the host's
  static constexpr const char* peak_product = "1024 x 768 x 3072";

  // No more threads than processors by default: shares are even, so a step is as fast as its slowest thread.
  explicit device(int threads = 0)
      : team_(threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))) {
    // a refusal of MOTET_KERNELS is heard here; on a thread of the team nobody would catch it
    current_kernel();
  }
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  int threads() const { return team_.size(); }

  // Shares are not always equal, so every thread's scratch is counted. Costs are those of the whole team.
  template <class Function>
  step_forecast dry_run(Function&& function) const {
    step_forecast found;
    for (int t = 0; t < team_.size(); ++t) {
      context ctx;
      ctx.thread = t;
      ctx.threads = team_.size();
      ctx.costs = &found.costs;
      function(ctx);
      found.memory = std::max(found.memory, ctx.memory.peak());
      found.scratch = std::max(found.scratch, ctx.scratch.peak());
    }
    return found;
  }
  // FLOPs of one call, by the same dry run; cheap enough for every step, as ragged batches differ.
  template <class Function>
  double flops(Function&& function) {
    profile costs;
    context ctx;
    ctx.threads = team_.size();
    ctx.costs = &costs;
    function(ctx);
    return costs.flops();
  }

  void prepare(const step_forecast& needs) {
    if (needs.memory > memory_.size()) memory_ = buffer<std::byte>(needs.memory);
    if (scratch_.empty() || needs.scratch > scratch_.front().size()) {
      scratch_.clear();
      for (int t = 0; t < team_.size(); ++t) scratch_.emplace_back(needs.scratch);
    }
  }

  // Memory to hold for `what`.
  template <class T>
  buffer<T> take(const char*, isize count) {
    return buffer<T>(count);
  }
  // Batches are read where they lie.
  std::shared_ptr<void> pin(const void*, std::size_t) { return nullptr; }

  // Calls function(ctx) on every thread of the team, each with its own context.
  template <class Function>
  void run(Function&& function, const draw_key& draws = {}) {
    team_.run([&](int t) {
      context ctx;
      ctx.crew = &team_;
      ctx.thread = t;
      ctx.threads = team_.size();
      // An arena without memory would measure; an empty one must refuse.
      ctx.memory = memory_.size() > 0 ? arena(memory_.data(), memory_.size()) : arena(&nothing_, 0);
      const auto own = as_size(t);
      ctx.scratch = own < scratch_.size() && scratch_[own].size() > 0
                        ? arena(scratch_[own].data(), scratch_[own].size())
                        : arena(&nothing_, 0);
      ctx.costs = &costs_;
      ctx.draws = draws;
      function(ctx);
    });
  }

  // Seconds by section since the last clear.
  const profile& costs() const { return costs_; }
  void clear_costs() { costs_.clear(); }

  static constexpr bool computes_in_bf16 = has_kernels_for<bf16>;

  // The best rate of a product of the size that these nets have, in FLOP/s: what utilisation is compared
  // with. Takes about 50 ms.
  template <class Value>
  double measure_peak() {
    constexpr isize rows = 1024, in = 768, out = 3072;
    buffer<Value> x(rows * in), y(rows * out);
    buffer<float> w(in * out);
    std::fill_n(x.data(), x.size(), Value(0.5f));
    std::fill_n(w.data(), w.size(), 0.25f);
    const sequences seq{rows, 1, nullptr};
    // Weights are masters and values have the run's precision, as in a net.
    const auto product = [&](context& ctx) {
      linear_forward(ctx, seq, matrix<const Value>{x.data(), rows, in, in},
                     matrix<const float>{w.data(), out, in, in}, nullptr,
                     matrix<Value>{y.data(), rows, out, out});
    };
    prepare(dry_run(product));
    using clock = std::chrono::steady_clock;
    const auto since = [](clock::time_point from) {
      return std::chrono::duration<double>(clock::now() - from).count();
    };
    const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
    double best = 0;
    const auto started = clock::now();
    for (int i = 0; i < 3 || since(started) < 0.05; ++i) {
      const auto from = clock::now();
      run(product);
      best = std::max(best, flops / since(from));
    }
    costs_.clear();
    return best;
  }

  // "Intel(R) Xeon(R) ...: avx2 avx512, L2 2048 KiB, kernels avx512; 2 threads".
  std::string describe() const {
    return sentence({describe_cpu(), "; ", threads(), (threads() == 1 ? " thread" : " threads")});
  }

 private:
  buffer<std::byte> memory_;
  std::vector<buffer<std::byte>> scratch_;
  profile costs_;
  std::byte nothing_{};
  team team_;  // last: its threads end before what they use
};

}  // namespace motet::cpu
