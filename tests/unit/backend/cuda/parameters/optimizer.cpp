// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/parameters/average.hpp>
#include <motet/backend/cuda/parameters/optimizer.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/parameters/average.hpp>

#include <cpu_run.hpp>
#include <cuda_run.hpp>

namespace motet {
using laws::flat_on_gpu, laws::gpu_run_foretold, laws::cpu_run_foretold;

namespace {

template <class T>
std::vector<T> drawn(isize count, std::uint64_t seed, double scale = 1, double shift = 0) {
  const auto from = laws::grid<T>(1, count).random(seed, scale, shift);
  return {from.data.begin(), from.data.begin() + count};
}
}  // namespace

TEST_CASE_TEMPLATE("adamw on a GPU is that of the CPU", T, float, double) {
  for (const isize count : {0, 1, 3, 100, 4099})
    // Buffers that begin alike, from a multiple of 16 bytes on or not; and such that do not.
    for (const isize first : {0, 1, 3})
      for (const bool crooked : {false, true})
        for (const bool clear : {false, true})
          for (const bool copied : {false, true}) {
            const isize all = count + 8, other = crooked ? first + 1 : first;
            auto w = drawn<T>(all, 1), g = drawn<T>(all, 2), m = drawn<T>(all, 3),
                 v = drawn<T>(all, 4, 0.5, 0.5);
            const flat_on_gpu<T> on_w(w), on_g(g), on_m(m), on_v(v);
            const flat_on_gpu<bf16> on_copy(std::vector<bf16>(static_cast<std::size_t>(all), bf16(-7.0f)));
            const update_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 0.5, 0.271, 0.0588};
            const auto noted = gpu_run_foretold([&](motet::cuda::context& ctx) {
              adamw(ctx, on_w.data() + first, on_g.data() + other, on_m.data() + first, on_v.data() + first,
                    count, step, clear, copied ? on_copy.data() + first : nullptr);
            });
            const auto wanted = cpu_run_foretold(1, [&](cpu::context& ctx) {
              adamw(ctx, w.data() + first, g.data() + other, m.data() + first, v.data() + first, count, step,
                    clear);
            });
            CHECK(noted.flops() == wanted.flops());
            const double tolerance = sizeof(T) == 4 ? 5e-7 : 1e-14;
            const auto got_w = on_w.back();
            CHECK(laws::off_by(got_w, w, true) < tolerance);
            CHECK(laws::off_by(on_g.back(), g, true) == 0);
            CHECK(laws::off_by(on_m.back(), m, true) < tolerance);
            CHECK(laws::off_by(on_v.back(), v, true) < tolerance);
            const auto copy = on_copy.back();
            std::vector<bf16> want_copy(static_cast<std::size_t>(all), bf16(-7.0f));
            for (isize i = first; copied && i < first + count; ++i)
              want_copy[static_cast<std::size_t>(i)] =
                  bf16(static_cast<float>(got_w[static_cast<std::size_t>(i)]));
            CHECK(laws::off_by(laws::bits_of(copy), laws::bits_of(want_copy)) == 0);
          }
}

namespace {

// Runs of many sizes, one behind the other with gaps, that begin alike or not; gradients and moments may lie
// elsewhere.
template <class T>
struct many_runs {
  std::vector<isize> counts{7, 0, 1, 4099, 2, 64, 9001, 3, 0, 300, 5, 1};
  std::vector<T> w, g, m, v;
  explicit many_runs(std::uint64_t seed) {
    isize all = 100;
    for (const isize count : counts) all += count + 7;
    w = drawn<T>(all, seed), g = drawn<T>(all, seed + 1), m = drawn<T>(all, seed + 2),
    v = drawn<T>(all, seed + 3, 0.5, 0.5);
  }
  // The runs lie in these buffers.
  std::vector<update_run<T>> at(T* weight, T* gradient, T* first, T* second) const {
    std::vector<update_run<T>> runs;
    isize from = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      const isize shift = r % 5 == 4   ? 1
                          : r % 7 == 6 ? 4
                                       : 0,
                  gap = static_cast<isize>(r % 4) + (shift > 0 || r == 5 ? 4 : 0);
      if (r == 5) runs.push_back({nullptr, gradient + from + 1, nullptr, nullptr, counts[r], false, true});
      else
        runs.push_back({weight + from, gradient + from + shift, first + from, second + from, counts[r],
                        r % 2 == 0, false, false, r == 3 ? 0.25 : 1});
      from += counts[r] + gap;
    }
    return runs;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("a list of runs is one launch that does what its runs do one by one, to the last bit", T,
                   float, double) {
  const update_step step{1e-2, 0.9, 0.98, 1e-6, 0.1, 0.5, 0.271, 0.0588};
  const many_runs<T> all(3);
  const flat_on_gpu<T> w(all.w), g(all.g), m(all.m), v(all.v), w1(all.w), g1(all.g), m1(all.m), v1(all.v);
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  motet::cuda::update_list<T> list(all.at(w.data(), g.data(), m.data(), v.data()));
  const auto one_by_one = [&](motet::cuda::context& ctx, const std::vector<update_run<T>>& runs,
                              const update_step& by) {
    for (const update_run<T>& each : runs) {
      update_step own = by;
      own.rate = by.rate * each.rate;
      own.decay = each.decays ? by.decay : 0;
      if (each.only_clears) zero(ctx, each.gradient, each.count);
      else adamw(ctx, each.weight, each.gradient, each.first, each.second, each.count, own, true);
    }
  };
  const auto same = [&] {
    CHECK(laws::off_by(w.back(), w1.back()) == 0);
    CHECK(laws::off_by(g.back(), g1.back()) == 0);
    CHECK(laws::off_by(m.back(), m1.back()) == 0);
    CHECK(laws::off_by(v.back(), v1.back()) == 0);
  };
  const auto noted = gpu_run_foretold([&](motet::cuda::context& ctx) { adamw(ctx, list, step); });
  const auto wanted = gpu_run_foretold([&](motet::cuda::context& ctx) {
    one_by_one(ctx, all.at(w1.data(), g1.data(), m1.data(), v1.data()), step);
  });
  CHECK(noted.flops() == wanted.flops());
  same();
  CHECK(w.back() != all.w);
  CHECK(g.back() != all.g);

  // The CPU says what is wanted.
  auto on_host = all;
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    adamw(ctx,
          cpu::update_list<T>(all.at(on_host.w.data(), on_host.g.data(), on_host.m.data(), on_host.v.data())),
          step);
  });
  const double tolerance = sizeof(T) == 4 ? 5e-7 : 1e-14;
  CHECK(laws::off_by(w.back(), on_host.w, true) < tolerance);
  CHECK(laws::off_by(g.back(), on_host.g, true) == 0);
  CHECK(laws::off_by(m.back(), on_host.m, true) < tolerance);
  CHECK(laws::off_by(v.back(), on_host.v, true) < tolerance);

  // Lion, which has no second moment, and averages that follow; a refused step changes neither.
  {
    const many_runs<T> begun(11);
    auto host = begun;
    const flat_on_gpu<T> weight(begun.w), gradient(begun.g), first(begun.m), followed(begun.v);
    const auto runs_in = [&](T* a, T* b, T* c) {
      auto runs = begun.at(a, b, c, c);
      for (auto& each : runs) each.second = nullptr;
      return runs;
    };
    const auto averages_in = [](const std::vector<update_run<T>>& runs, T* a, T* average) {
      std::vector<average_run<T>> out;
      for (const auto& each : runs)
        if (!each.only_clears) out.push_back({each.weight, average + (each.weight - a), each.count});
      return out;
    };
    const auto runs = runs_in(weight.data(), gradient.data(), first.data()),
               on_host_runs = runs_in(host.w.data(), host.g.data(), host.m.data());
    const motet::cuda::update_list<T> moved(runs);
    const motet::cuda::average_list<T> averages(averages_in(runs, weight.data(), followed.data()));
    const flat_on_gpu<double> sums{1.5, 1e4, NAN};
    const auto counted = gpu_run_foretold([&](motet::cuda::context& ctx) {
      lion(ctx, moved, step);
      average(ctx, averages, 0.7);
      motet::cuda::real loss, squares, bad;
      if (!ctx.measuring()) {
        loss = {*ctx.on, sums.data()}, squares = {*ctx.on, sums.data() + 1}, bad = {*ctx.on, sums.data() + 2};
        gradient.put(begun.g);
      }
      lion(ctx, moved, step, loss, bad, 3);
      average(ctx, averages, 0.7, bad, squares);
      lion(ctx, moved, step, loss, squares, 3);
      average(ctx, averages, 0.7, loss, squares);
    });
    cpu_run_foretold(1, [&](cpu::context& ctx) {
      const cpu::update_list<T> own(on_host_runs);
      const cpu::average_list<T> own_averages(averages_in(on_host_runs, host.w.data(), host.v.data()));
      lion(ctx, own, step);
      average(ctx, own_averages, 0.7);
      if (!ctx.measuring()) host.g = begun.g;
      lion(ctx, own, step, 1.5, 1e4, 3);
      average(ctx, own_averages, 0.7, 1.5, 1e4);
    });
    CHECK(counted.flops() > 0);
    CHECK(laws::off_by(weight.back(), host.w, true) < tolerance);
    CHECK(laws::off_by(gradient.back(), host.g, true) == 0);
    CHECK(laws::off_by(first.back(), host.m, true) < tolerance);
    CHECK(laws::off_by(followed.back(), host.v, true) < tolerance);
    CHECK(weight.back() != begun.w);
    CHECK(followed.back() != begun.v);
  }

  // Its clip factor comes of sums, to the bit of what the host makes of them; and so does the refusal.
  for (const double clip : {0.0, 0.3, 1e9}) {
    g.put(all.g);
    g1.put(all.g);
    double squares = 0, known = 0;
    std::vector<flat_run<T>> counted;
    for (const update_run<T>& each : list.all()) counted.push_back({each.gradient, each.count});
    const motet::cuda::flat_list<T> parts(counted);
    for (const update_run<T>& each : all.at(nullptr, const_cast<T*>(all.g.data()), nullptr, nullptr))
      for (isize i = 0; i < each.count; ++i)
        squares += static_cast<double>(each.gradient[i]) * static_cast<double>(each.gradient[i]);
    const flat_on_gpu<double> bad{1.5, INFINITY, NAN};
    gpu_run_foretold([&](motet::cuda::context& ctx) {
      const auto found = sum_of_squares(ctx, parts), again = sum_of_squares(ctx, parts);
      if (!ctx.measuring()) {
        const motet::cuda::real finite(*ctx.on, bad.data()), infinite(*ctx.on, bad.data() + 1),
            nan(*ctx.on, bad.data() + 2);
        adamw(ctx, list, step, infinite, found, clip);
        adamw(ctx, list, step, finite, nan, clip);
        adamw(ctx, list, step, finite, found, clip);
        known = number_of(ctx, found);
        CHECK(number_of(ctx, again) == known);
      }
      update_step by = step;
      by.clip_scale = clip_scale(std::sqrt(known), clip);
      one_by_one(ctx, all.at(w1.data(), g1.data(), m1.data(), v1.data()), by);
    });
    CHECK(laws::off_by(known, squares) <= 1e-12 * squares);
    same();
  }

  // A list of nothing.
  gpu_run_foretold([&](motet::cuda::context& ctx) {
    adamw(ctx, motet::cuda::update_list<T>(), step);
    CHECK(number_of(ctx, sum_of_squares(ctx, motet::cuda::flat_list<T>())) == 0);
  });
  same();

  // Copies of weights are written as well, wherever they are kept at the time, the same that a refresh makes.
  if constexpr (std::is_same_v<T, float>) {
    const auto kept_copies = [&](const flat_on_gpu<float>& of) {
      std::vector<bf16> found(static_cast<std::size_t>(of.size()));
      motet::cuda::check(cudaMemcpy(found.data(), copies.copy_of(of.data()), found.size() * sizeof(bf16),
                                    cudaMemcpyDeviceToHost),
                         "cudaMemcpy");
      return found;
    };
    const auto right = [&] {
      return laws::off_by(laws::bits_of(kept_copies(w)), laws::bits_of(laws::rounded(w.back())));
    };
    const auto update = [&] {
      g.put(all.g);
      gpu_run_foretold([&](motet::cuda::context& ctx) { adamw(ctx, list, step); });
    };
    const auto refresh = [] { gpu_run_foretold([](motet::cuda::context& ctx) { refresh_weights(ctx); }); };
    copies.keep(w.data(), w.size());
    update();
    CHECK(copies.stale() == w.size());  // nobody made them yet
    refresh();
    CHECK(right() == 0);
    update();
    CHECK(copies.stale() == 0);
    CHECK(right() == 0);
    // Kept anew, and of a part only: that part is converted at the next refresh.
    copies.drop(w.data());
    copies.keep(w.data(), 1000);
    refresh();
    update();
    CHECK(copies.stale() > 0);
    refresh();
    const auto now = w.back();
    std::vector<bf16> part(1000);
    motet::cuda::check(cudaMemcpy(part.data(), copies.copy_of(w.data()), 2000, cudaMemcpyDeviceToHost),
                       "cudaMemcpy");
    CHECK(laws::off_by(laws::bits_of(part), laws::bits_of(laws::rounded(
                                                std::vector<float>(now.begin(), now.begin() + 1000)))) == 0);
    // A run alone tells that it wrote, unless it wrote the copy.
    gpu_run_foretold([&](motet::cuda::context& ctx) {
      adamw(ctx, w.data(), g.data(), m.data(), v.data(), 20, step, true, copies.copy_of(w.data()));
    });
    CHECK(copies.stale() == 0);
    gpu_run_foretold([&](motet::cuda::context& ctx) {
      adamw(ctx, w.data(), g.data(), m.data(), v.data(), 20, step, true);
    });
    CHECK(copies.stale() == 20);
    copies.drop(w.data());
    update();
  }
}

TEST_CASE("what is clamped has its copy, and stays where sums allow no update") {
  const flat_on_gpu<float> on{5, 4, 6, 7};
  const flat_on_gpu<double> sums{1, NAN};
  auto& copies = laws::gpu().part<motet::cuda::weight_copies>();
  copies.keep(on.data(), 3);
  gpu_run_foretold([&](motet::cuda::context& ctx) {
    refresh_weights(ctx);
    clamp_to(ctx, on.data(), 4.5f);
    const motet::cuda::real good =
        ctx.measuring() ? motet::cuda::real{} : motet::cuda::real(*ctx.on, sums.data());
    const motet::cuda::real bad =
        ctx.measuring() ? motet::cuda::real{} : motet::cuda::real(*ctx.on, sums.data() + 1);
    clamp_to(ctx, on.data() + 2, 4.5f, good, bad);
    clamp_to(ctx, on.data() + 3, 4.5f, good, good);
  });
  CHECK(laws::off_by(on.back(), std::vector<float>{4.5f, 4, 6, 4.5f}) == 0);
  std::vector<bf16> found(3);
  motet::cuda::check(cudaMemcpy(found.data(), copies.copy_of(on.data()), 6, cudaMemcpyDeviceToHost),
                     "cudaMemcpy");
  CHECK(static_cast<float>(found[0]) == 4.5f);
  CHECK(static_cast<float>(found[1]) == 4);
  CHECK(static_cast<float>(found[2]) == 6);
  copies.drop(on.data());
}

TEST_CASE_TEMPLATE("a number is clamped where it lies", T, float, double) {
  const flat_on_gpu<T> on(std::vector<T>{T(5), T(4), T(-9), T(5)});
  std::vector<T> of_host{T(5), T(4), T(-9), T(5)};
  const auto clamp = [](auto& ctx, T* at) {
    for (int i = 0; i < 3; ++i) clamp_to(ctx, at + i, T(4.5));
  };
  gpu_run_foretold([&](motet::cuda::context& ctx) { clamp(ctx, on.data()); });
  cpu_run_foretold(2, [&](cpu::context& ctx) { clamp(ctx, of_host.data()); });
  CHECK(laws::off_by(on.back(), std::vector<T>{T(4.5), T(4), T(-9), T(5)}) == 0);
  CHECK(of_host == on.back());
}

}  // namespace motet
