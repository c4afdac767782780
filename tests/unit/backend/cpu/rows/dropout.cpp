// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/dropout.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("dropout draws by place, not by thread or slice", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 4, 16, 27, 70}) {
      const isize rows = seq.rows();
      const double rate = 0.3;
      const cpu::draw_key draws{7, 11, 100};
      const auto x = grid<stream>(rows, width, 2).random(1, 1, 3);
      grid<value> y(rows, width, 1), one_thread(rows, width);
      auto in_place = x;
      const auto body = [&](grid<value>& to) {
        return [&](cpu::context& ctx) { dropout_apply(ctx, seq, rate, 5, x.view(), to.view()); };
      };
      cpu_run_foretold(threads, body(y), draws);
      cpu_run_foretold(1, body(one_thread), draws);
      cpu_run_foretold(
          threads,
          [&](cpu::context& ctx) { dropout_apply(ctx, seq, rate, 5, in_place.view(), in_place.view()); },
          draws);
      bool each_kept_or_zero = true;
      for (isize r = 0; r < rows; ++r)
        for (isize c = 0; c < width; ++c) {
          const double kept = x(r, c) / (1 - rate);
          if (y(r, c) != 0 && std::abs(y(r, c) - kept) > tolerance<value> * kept) each_kept_or_zero = false;
          if ((y(r, c) == 0) != (in_place(r, c) == 0)) each_kept_or_zero = false;
        }
      CHECK(each_kept_or_zero);
      CHECK(distance(y, one_thread) == 0);
      CHECK(y.gaps_intact());
      // The second half of the batch on its own, as another replica would run it.
      if (seq.offsets == nullptr && seq.samples > 1) {
        const sequences rest{seq.samples - 1, seq.length, nullptr};
        grid<value> part(rest.rows(), width), want(rest.rows(), width);
        const auto tail = x.view().slice(seq.length, rest.rows());
        cpu_run_foretold(threads,
                         [&](cpu::context& ctx) { dropout_apply(ctx, rest, rate, 5, tail, part.view()); },
                         {7, 11, 100 + seq.length});
        for (isize r = 0; r < rest.rows(); ++r)
          for (isize c = 0; c < width; ++c) want.at(r, c) = y.at(r + seq.length, c);
        CHECK(distance(part, want) == 0);
      }
    }
  });
}

TEST_CASE("dropout draws the words of the counter-based stream with every set of kernels") {
  laws::with_each_kernel([] {
    const isize rows = 3, width = 150;
    const cpu::draw_key draws{(std::uint64_t{5} << 33) + 9, 4, (isize{1} << 34) - 2};
    const auto x = grid<float>(rows, width).fill(1);
    grid<float> y(rows, width);
    cpu_run_foretold(
        1,
        [&](cpu::context& ctx) {
          dropout_apply(ctx, {rows, 1, nullptr}, 0.5, 77, x.view(), y.view());
        },
        draws);
    const random_stream draw(draws.seed, 77 ^ (draws.step + 1) * 0x9e3779b97f4a7c15ull);
    bool equal = true;
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c) {
        const auto word =
            draw.word(static_cast<std::uint64_t>((draws.first_row + r) * ((width + 3) / 4) * 4 + c));
        equal = equal && y(r, c) == (word < 0x80000000u ? 0 : 2);
      }
    CHECK(equal);
  });
}

TEST_CASE("dropout keeps its share, and every key, step and seed draws anew") {
  const sequences seq{200, 1, nullptr};
  const auto x = grid<float>(200, 100).fill(1);
  const auto kept = [&](double rate, std::uint64_t key, cpu::draw_key draws, grid<float>& y) {
    cpu_run_foretold(
        2, [&](cpu::context& ctx) { dropout_apply(ctx, seq, rate, key, x.view(), y.view()); }, draws);
    double count = 0;
    for (isize r = 0; r < 200; ++r)
      for (isize c = 0; c < 100; ++c) count += y(r, c) != 0;
    return count / 20000;
  };
  grid<float> a(200, 100), b(200, 100);
  CHECK(std::abs(kept(0.25, 1, {1, 1, 0}, a) - 0.75) < 0.015);
  CHECK(kept(0, 1, {1, 1, 0}, b) == 1);
  CHECK(kept(1, 1, {1, 1, 0}, b) == 0);
  for (const auto& [key, draws] : {std::pair{2, cpu::draw_key{1, 1, 0}},
                                   {1, cpu::draw_key{2, 1, 0}},
                                   {1, cpu::draw_key{1, 2, 0}},
                                   {1, cpu::draw_key{1, 1, 1}}}) {
    kept(0.25, static_cast<std::uint64_t>(key), draws, b);
    double equal = 0;
    for (isize r = 0; r < 200; ++r)
      for (isize c = 0; c < 100; ++c) equal += (a(r, c) == 0) == (b(r, c) == 0);
    CHECK(std::abs(equal / 20000 - (0.75 * 0.75 + 0.25 * 0.25)) < 0.02);  // as if independent
  }
}

}  // namespace motet
