// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/experts/dispatch.hpp>

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

TEST_CASE("each rank gets the rows that have a kept choice for it, once, in the order of ranks and rows") {
  const std::vector<isize> offsets{0, 4, 4, 13, 14, 20};
  const sequences whole{5, 1, offsets.data()};
  for (isize ranks = 2; ranks <= 8; ++ranks)
    for (int threads = 1; threads <= 2; ++threads) {
      CAPTURE(ranks);
      std::atomic<int> wrong{0};
      CHECK(laws::run_shards(ranks, 1, false, whole, [&](microbatch_spread& is, const spread_seat& seat) {
              const tensor_cut cut{static_cast<std::int32_t>(ranks),
                                   static_cast<std::int32_t>(seat.tensor_member)};
              const isize first = whole.begin(share(whole.samples, ranks, seat.tensor_member).begin),
                          rows = is.own.rows();
              std::vector<choice<float>> chosen(static_cast<std::size_t>(rows * shape.top_k));
              for (isize r = 0; r < rows; ++r)
                for (isize j = 0; j < shape.top_k; ++j)
                  chosen[static_cast<std::size_t>(r * shape.top_k + j)] = choose(first + r, j);
              const auto body = [&](cpu::context& ctx) {
                ctx.shared = &is;
                dispatched<float> to;
                reserve_dispatch(ctx, is.own, shape, cut, to);
                dispatch(ctx, is.own, shape,
                         matrix<choice<float>>{chosen.data(), rows, shape.top_k, shape.top_k}, to);
                if (ctx.measuring() || ctx.thread != 0) return;
                const interval experts = cut.share(shape.experts);
                isize came = 0;
                for (isize m = 0; m < ranks; ++m) {
                  const interval samples = share(whole.samples, ranks, m);
                  isize from_member = 0;
                  for (isize r = whole.begin(samples.begin); r < whole.begin(samples.end); ++r) {
                    isize wanted = 0;
                    for (isize j = 0; j < shape.top_k; ++j) {
                      const choice<float> c = choose(r, j);
                      wanted += c.kept && c.expert >= experts.begin && c.expert < experts.end;
                    }
                    if (wanted == 0) continue;
                    for (isize j = 0; j < shape.top_k && came < to.came; ++j) {
                      const choice<float>&want = choose(r, j), &got = to.arrived.row(came)[j];
                      wrong += want.gate != got.gate || want.expert != got.expert || want.kept != got.kept;
                    }
                    ++came;
                    ++from_member;
                  }
                  wrong += to.arrived_rows[m] != from_member;
                }
                wrong += came != to.came;
              };
              cpu::context dry;
              body(dry);
              laws::cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), body);
            }) == "");
      CHECK(wrong == 0);
    }
}

TEST_CASE("a dry run counts an even load, in the memory of the worst one") {
  const sequences whole{4, 10, nullptr};
  isize even = 0;
  for (isize member = 0; member < 2; ++member) {
    spread_rows rows({2, member, 1, 0, false}, 4);
    microbatch_spread is;
    rows.fill(whole, is);
    cpu::context dry;
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

}  // namespace motet
