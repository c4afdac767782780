// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/experts/expert_rows.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <string>

#include <gpu_members.hpp>

namespace motet {
namespace {

constexpr router_shape shape{.experts = 7, .top_k = 3};

// Choices that depend on the row alone; every fourth one is dropped.
choice<float> choose(isize row, isize number) {
  const auto expert = static_cast<std::uint16_t>((row * 3 + number * (row % 2 + 2)) % shape.experts);
  return {0.25f * static_cast<float>(number + 1), expert, (row + number) % 4 != 0};
}

// Expert e multiplies by e + 1, and says 100 row + e of each gate. It finds rows by starts, as products do.
struct expert_kernel {
  isize keys, first, width;
  const isize* starts;
  float *sorted, *of_gates;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize e = 0; e < keys; ++e)
      for (isize p = starts[e] + self.number(); p < starts[e + 1]; p += self.all()) {
        of_gates[p] = 100 * sorted[p * width] + static_cast<float>(first + e);
        for (isize c = 0; c < width; ++c) sorted[p * width + c] *= static_cast<float>(first + e + 1);
      }
  }
};

// Numbers are off by this after rows of blocks, or one for each sample, went to their experts and back.
laws::deviation off_on(isize ranks, const sequences& whole, bool of_samples, isize width) {
  std::mutex mutex;
  laws::deviation worst;
  std::atomic<isize> sorted_in_all{0};
  const isize rows_in_all = of_samples ? whole.samples : whole.rows();
  CHECK(laws::run_gpu_shards(
            ranks, 1, false, whole,
            [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& seat) {
              const interval samples = share(whole.samples, ranks, seat.tensor_member);
              const sequences seq = of_samples ? is.own.pooled() : is.own;
              const isize first = of_samples ? samples.begin : whole.begin(samples.begin), rows = seq.rows();
              const tensor_cut cut{static_cast<std::int32_t>(ranks),
                                   static_cast<std::int32_t>(seat.tensor_member)};
              const interval experts = cut.share(shape.experts);
              std::vector<choice<float>> chosen(static_cast<std::size_t>(rows * shape.top_k));
              laws::grid<float> x(rows, width);
              for (isize r = 0; r < rows; ++r) {
                for (isize j = 0; j < shape.top_k; ++j)
                  chosen[static_cast<std::size_t>(r * shape.top_k + j)] = choose(first + r, j);
                for (isize c = 0; c < width; ++c) x.at(r, c) = c == 0 ? static_cast<float>(first + r) : 1;
              }
              const laws::flat_on_gpu<choice<float>> chosen_there(chosen);
              const laws::on_gpu<float> x_there(x), y(rows, width), d_gate(rows, shape.top_k);
              laws::deviation own;
              std::vector<isize> starts;
              std::vector<float> sorted_rows;
              laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
                dispatched<float> to;
                reserve_dispatch(ctx, seq, shape, cut, to);
                dispatch(ctx, seq, shape,
                         matrix<choice<float>>{chosen_there.data(), rows, shape.top_k, shape.top_k}, to);
                const auto arrived = motet::cuda::take_arrived<float>(ctx, to, width);
                const matrix<float> sorted{ctx.memory.take<float>(to.most_sorted * width), to.sorted.count,
                                           width, width};
                float* const of_gates = ctx.memory.take<float>(to.most_sorted);
                to_experts(ctx, to, matrix<const float>(x_there.all()), arrived, sorted);
                if (!ctx.measuring()) {
                  own.add(laws::off_by(to.sorted.count, to.most_sorted), "the count of rows");
                  own.add(laws::off_by(to.sorted.keys, experts.size()), "the count of experts");
                  on.finish();
                  starts.resize(static_cast<std::size_t>(to.sorted.keys + 1));
                  motet::cuda::check(cudaMemcpy(starts.data(), to.sorted.starts,
                                                starts.size() * sizeof(isize), cudaMemcpyDeviceToHost),
                                     "cudaMemcpy");
                  sorted_rows.resize(static_cast<std::size_t>(starts.back() * width));
                  if (!sorted_rows.empty())
                    motet::cuda::check(cudaMemcpy(sorted_rows.data(), sorted.data,
                                                  sorted_rows.size() * sizeof(float), cudaMemcpyDeviceToHost),
                                       "cudaMemcpy");
                  motet::cuda::launch(ctx.stream(), {2, 64, 0},
                                      expert_kernel{to.sorted.keys, experts.begin, width, to.sorted.starts,
                                                    sorted.data, of_gates});
                }
                from_experts(ctx, seq, to, sorted, true, matrix<const float>(x_there.all()), y.all());
                gates_from_experts(ctx, seq, to, of_gates, d_gate.all());
              });
              sorted_in_all += starts.back();
              for (isize e = 0; e < experts.size(); ++e)
                for (isize p = starts[static_cast<std::size_t>(e)];
                     p < starts[static_cast<std::size_t>(e + 1)]; ++p) {
                  const auto row = static_cast<isize>(sorted_rows[static_cast<std::size_t>(p * width)]);
                  bool meant = false;
                  for (isize j = 0; j < shape.top_k; ++j)
                    meant = meant || (choose(row, j).kept && choose(row, j).expert == experts.begin + e);
                  if (!meant)
                    own.fail("row " + std::to_string(row) + " came to expert " +
                             std::to_string(experts.begin + e) + ", which is not its own");
                  own.add(laws::off_by(sorted_rows[static_cast<std::size_t>(p * width + width - 1)], 1),
                          "place " + std::to_string(p));
                  if (p > starts[static_cast<std::size_t>(e)] &&
                      sorted_rows[static_cast<std::size_t>((p - 1) * width)] >=
                          sorted_rows[static_cast<std::size_t>(p * width)])
                    own.fail("place " + std::to_string(p) + " is out of order");
                }
              const auto sums = y.back(), gates = d_gate.back();
              laws::grid<float> want_gates(rows, shape.top_k);
              std::vector<float> last, first_column, want_last, want_first;
              for (isize r = 0; r < rows; ++r) {
                float sum = 1;  // the residual
                for (isize j = 0; j < shape.top_k; ++j) {
                  const choice<float> c = choose(first + r, j);
                  if (c.kept) sum += c.gate * static_cast<float>(c.expert + 1);
                  want_gates.at(r, j) = c.kept ? static_cast<float>(100 * (first + r) + c.expert) : 0.0f;
                }
                last.push_back(sums.at(r, width - 1)), want_last.push_back(sum);
                first_column.push_back(sums.at(r, 0)),
                    want_first.push_back(sum * static_cast<float>(first + r));
              }
              own.add(laws::distance(gates, want_gates), "gates");
              own.add(laws::off_by(last, want_last), "sums of ones");
              own.add(laws::off_by(first_column, want_first), "sums of rows' numbers");
              const std::lock_guard lock(mutex);
              worst.add(own, "rank " + std::to_string(seat.tensor_member));
            }) == "");
  isize kept = 0;
  for (isize r = 0; r < rows_in_all; ++r)
    for (isize j = 0; j < shape.top_k; ++j) kept += choose(r, j).kept;
  CHECK(sorted_in_all == kept);
  return worst;
}

TEST_CASE(
    "every kept choice comes to its expert once, in the order of rows, and what experts do comes back") {
  const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
  const sequences whole{5, 1, offsets.data()};
  for (const isize ranks : {1, 2, 3, 4, 8}) {
    CAPTURE(ranks);
    CHECK(off_on(ranks, whole, false, 2) == 0);
    CHECK(off_on(ranks, whole, false, 8) == 0);
    CHECK(off_on(ranks, whole, true, 4) == 0);
  }
  CHECK(off_on(2, {6, 1, nullptr}, true, 4) == 0);
  CHECK(off_on(2, {6, 3, nullptr}, false, 4) == 0);
}

}  // namespace
}  // namespace motet
