// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/experts/dispatch.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include <gpu_members.hpp>

namespace motet {
namespace {
constexpr router_shape shape{.experts = 7, .top_k = 3};
}

TEST_CASE(
    "each rank gets the choices of all, in the order of ranks and rows, and sorts those of its experts") {
  const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
  const sequences whole{5, 1, offsets.data()};
  const auto choose = [](isize row, isize number) {
    const auto expert = static_cast<std::uint16_t>((row * 3 + number * (row % 2 + 2)) % shape.experts);
    return choice<double>{0.25 * static_cast<double>(number + 1), expert, (row + number) % 4 != 0};
  };
  for (const isize ranks : {2, 4}) {
    std::mutex mutex;
    laws::deviation worst;
    CHECK(laws::run_gpu_shards(
              ranks, 1, false, whole,
              [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& seat) {
                const tensor_cut cut{static_cast<std::int32_t>(ranks),
                                     static_cast<std::int32_t>(seat.tensor_member)};
                const isize first = whole.begin(share(whole.samples, ranks, seat.tensor_member).begin),
                            rows = is.own.rows();
                std::vector<choice<double>> chosen(static_cast<std::size_t>(rows * shape.top_k)),
                    all(static_cast<std::size_t>(whole.rows() * shape.top_k));
                for (isize r = 0; r < rows; ++r)
                  for (isize j = 0; j < shape.top_k; ++j)
                    chosen[static_cast<std::size_t>(r * shape.top_k + j)] = choose(first + r, j);
                const laws::flat_on_gpu<choice<double>> there(chosen);
                std::vector<isize> starts;
                laws::deviation own;
                laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
                  dispatched<double> to;
                  reserve_dispatch(ctx, is.own, shape, cut, to);
                  dispatch(ctx, is.own, shape,
                           matrix<choice<double>>{there.data(), rows, shape.top_k, shape.top_k}, to);
                  if (ctx.measuring()) return;
                  on.finish();
                  own.add(laws::off_by(to.came, whole.rows()), "the rows that came");
                  starts.resize(static_cast<std::size_t>(to.sorted.keys + 1));
                  motet::cuda::check(cudaMemcpy(starts.data(), to.sorted.starts,
                                                starts.size() * sizeof(isize), cudaMemcpyDeviceToHost),
                                     "cudaMemcpy");
                  motet::cuda::check(cudaMemcpy(all.data(), to.arrived.data,
                                                all.size() * sizeof(choice<double>), cudaMemcpyDeviceToHost),
                                     "cudaMemcpy");
                });
                const interval experts = cut.share(shape.experts);
                std::vector<isize> want(starts.size());
                for (isize r = 0; r < whole.rows(); ++r)
                  for (isize j = 0; j < shape.top_k; ++j) {
                    const auto c = choose(r, j), got = all[static_cast<std::size_t>(r * shape.top_k + j)];
                    const std::string which = "row " + std::to_string(r) + ", choice " + std::to_string(j);
                    own.add(laws::off_by(got.gate, c.gate), which + ", gate");
                    own.add(laws::off_by(got.expert, c.expert), which + ", expert");
                    own.add(laws::off_by(got.kept, c.kept), which + ", kept");
                    for (isize e = experts.begin; e < experts.end; ++e)
                      if (c.kept && c.expert <= e && c.expert >= experts.begin)
                        ++want[static_cast<std::size_t>(e - experts.begin + 1)];
                  }
                own.add(laws::off_by(starts, want), "where experts begin");
                const std::lock_guard lock(mutex);
                worst.add(own, "rank " + std::to_string(seat.tensor_member));
              }) == "");
    CHECK(worst == 0);
  }
}

TEST_CASE("a dry run counts an even load, in the memory of the worst one") {
  const sequences whole{4, 10, nullptr};
  isize even = 0;
  for (isize member = 0; member < 2; ++member) {
    spread_rows rows({2, member, 1, 0, false}, 4);
    microbatch_spread is;
    is.tensor = any_group(2, static_cast<std::int32_t>(member));
    rows.fill(whole, is);
    motet::cuda::context dry;
    dry.shared = &is;
    dispatched<float> to;
    const tensor_cut cut{2, static_cast<std::int32_t>(member)};
    reserve_dispatch(dry, is.own, shape, cut, to);
    even += to.sorted.count;
    CHECK(to.most_sent == 20 * 2);
    CHECK(to.most_arrived == 40);
    CHECK(to.most_sorted == 40 * 3);
    reserve_dispatch(dry, is.own, router_shape{.experts = 8, .top_k = 2, .capacity = 1}, cut, to);
    CHECK(to.most_sorted == 4 * (10 + 4) + 1);  // of 4 experts: 2.5 rows of a sample each, rounded up at most
  }
  CHECK(even == 40 * 3);
}

TEST_CASE("experts of several ranks need a spread") {
  motet::cuda::context dry;
  dispatched<float> to;
  CHECK_THROWS_WITH_AS(reserve_dispatch(dry, {4, 10, nullptr}, shape, {2, 0}, to),
                       doctest::Contains("MT-B05"), error);
}

}  // namespace motet
