// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/experts/expert_rows.hpp>

#include <doctest/doctest.h>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/spread_ranks.hpp"

#include <initializer_list>

namespace motet {
namespace {

constexpr router_shape shape{.experts = 7, .top_k = 3};

// Choices that depend on the row alone; every fourth one is dropped.
choice<float> choose(isize row, isize number) {
  const auto expert = static_cast<std::uint16_t>((row * 3 + number * (row % 2 + 2)) % shape.experts);
  return {0.25f * static_cast<float>(number + 1), expert, (row + number) % 4 != 0};
}
}  // namespace

TEST_CASE(
    "every kept choice comes to its expert once, in the order of rows, and what experts do comes back") {
  const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
  const sequences whole{5, 1, offsets.data()};
  constexpr isize width = 2;
  for (isize ranks = 1; ranks <= 8; ++ranks)
    for (int threads = 1; threads <= 2; ++threads) {
      CAPTURE(ranks);
      std::atomic<int> wrong{0};
      std::atomic<isize> sorted_in_all{0};
      CHECK(laws::run_shards(ranks, 1, false, whole, [&](microbatch_spread& is, const spread_seat& seat) {
              const interval samples = share(whole.samples, ranks, seat.tensor_member);
              const isize first = whole.begin(samples.begin), rows = is.own.rows();
              const tensor_cut cut{static_cast<std::int32_t>(ranks),
                                   static_cast<std::int32_t>(seat.tensor_member)};
              const interval experts = cut.share(shape.experts);
              std::vector<choice<float>> chosen(static_cast<std::size_t>(rows * shape.top_k));
              std::vector<float> x(static_cast<std::size_t>(rows * width)), y(x.size()),
                  d_gate(chosen.size());
              for (isize r = 0; r < rows; ++r) {
                for (isize j = 0; j < shape.top_k; ++j)
                  chosen[static_cast<std::size_t>(r * shape.top_k + j)] = choose(first + r, j);
                x[static_cast<std::size_t>(width * r)] = static_cast<float>(first + r);
                x[static_cast<std::size_t>(width * r + 1)] = 1;
              }
              const auto body = [&](cpu::context& ctx) {
                ctx.shared = &is;
                dispatched<float> to;
                reserve_dispatch(ctx, is.own, shape, cut, to);
                dispatch(ctx, is.own, shape,
                         matrix<choice<float>>{chosen.data(), rows, shape.top_k, shape.top_k}, to);
                const auto arrived = cpu::take_arrived<float>(ctx, to, width);
                const matrix<float> sorted{ctx.memory.take<float>(to.most_sorted * width), to.sorted.count,
                                           width, width};
                float* const of_gates = ctx.memory.take<float>(to.most_sorted);
                to_experts(ctx, to, matrix<const float>{x.data(), rows, width, width}, arrived, sorted);
                synchronize(ctx);
                if (!ctx.measuring() && ctx.thread == 0) {
                  sorted_in_all += to.sorted.count;
                  wrong += to.sorted.count > to.most_sorted || to.sorted.keys != experts.size();
                  for (isize e = 0; e < to.sorted.keys; ++e)
                    for (isize p = to.sorted.starts[e]; p < to.sorted.starts[e + 1]; ++p) {
                      const auto row = static_cast<isize>(sorted.row(p)[0]);
                      bool meant = false;
                      for (isize j = 0; j < shape.top_k; ++j)
                        meant = meant || (choose(row, j).kept && choose(row, j).expert == experts.begin + e);
                      wrong += !meant || sorted.row(p)[1] != 1;
                      if (p > to.sorted.starts[e]) wrong += sorted.row(p - 1)[0] >= sorted.row(p)[0];
                    }
                }
                synchronize(ctx);
                // Expert e multiplies by e + 1, and says 100 row + e of each gate.
                if (!ctx.measuring()) {
                  const interval own = ctx.own(to.sorted.each());
                  for (isize e = 0; e < to.sorted.keys; ++e)
                    for (isize p = own.begin; p < own.end; ++p) {
                      if (p < to.sorted.starts[e] || p >= to.sorted.starts[e + 1]) continue;
                      of_gates[p] = 100 * sorted.row(p)[0] + static_cast<float>(experts.begin + e);
                      for (isize c = 0; c < width; ++c)
                        sorted.row(p)[c] *= static_cast<float>(experts.begin + e + 1);
                    }
                }
                from_experts(ctx, is.own, to, sorted, true, matrix<const float>{x.data(), rows, width, width},
                             matrix<float>{y.data(), rows, width, width});
                gates_from_experts(ctx, is.own, to, of_gates,
                                   matrix<float>{d_gate.data(), rows, shape.top_k, shape.top_k});
              };
              cpu::context dry;
              body(dry);
              laws::cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), body);
              for (isize r = 0; r < rows; ++r) {
                float sum = 1;  // the residual
                for (isize j = 0; j < shape.top_k; ++j) {
                  const choice<float> c = choose(first + r, j);
                  if (c.kept) sum += c.gate * static_cast<float>(c.expert + 1);
                  wrong += d_gate[static_cast<std::size_t>(r * shape.top_k + j)] !=
                           (c.kept ? static_cast<float>(100 * (first + r) + c.expert) : 0.0f);
                }
                wrong += y[static_cast<std::size_t>(width * r + 1)] != sum;
                wrong += y[static_cast<std::size_t>(width * r)] != sum * static_cast<float>(first + r);
              }
            }) == "");
      CHECK(wrong == 0);
      isize kept = 0;
      for (isize r = 0; r < whole.rows(); ++r)
        for (isize j = 0; j < shape.top_k; ++j) kept += choose(r, j).kept;
      CHECK(sorted_in_all == kept);
    }
}

}  // namespace motet
