// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/exchange/rows_exchange.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/grid.hpp"
#include "../../../../laws/spread_ranks.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

constexpr isize width = 3;

// A number for each element of a batch, so that each row tells where it is from.
double number_of(isize sample, isize row, isize column) {
  return static_cast<double>(100 * sample + row) + 0.25 * static_cast<double>(column);
}

// The first sample of a member's share of a tensor member's share.
isize first_of_mine(const spread_seat& at, isize samples) {
  const interval members = share(samples, at.tensor, at.tensor_member);
  return members.begin + share(members.size(), at.context, at.context_member).begin;
}

// Rows go there and back, on `threads` threads for each rank; the result is the number of wrong elements.
template <class T>
int wrong_after_exchange(const sequences& whole, isize tensor, isize context, bool balanced, int threads,
                         isize long_rows = 0) {
  std::atomic<int> wrong{0};
  const std::string thrown = laws::run_shards(
      tensor, context, balanced, whole,
      [&](microbatch_spread& is, const spread_seat& at) {
        laws::grid<T> mine(is.mine.rows(), width, 2), back(is.mine.rows(), width, 2),
            own(is.own.rows(), width);
        const isize first_mine = first_of_mine(at, whole.samples),
                    first_own = share(whole.samples, tensor, at.tensor_member).begin;
        for (isize s = 0; s < is.mine.samples; ++s)
          for (isize r = 0; r < is.mine.rows_of(s); ++r)
            for (isize c = 0; c < width; ++c)
              mine.at(is.mine.begin(s) + r, c) = T(static_cast<float>(number_of(first_mine + s, r, c)));
        laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
          ctx.shared = &is;
          rows_to_parts(ctx, matrix<const T>(mine.view()), own.view());
          rows_to_samples(ctx, matrix<const T>(own.view()), back.view());
        });
        for (isize s = 0; s < is.own.samples; ++s)
          for (isize r = 0; r < is.own.rows_of(s); ++r)
            for (isize c = 0; c < width; ++c) {
              const isize row =
                  is.cut_of(first_own + s).position(whole.rows_of(first_own + s), at.context_member, r);
              wrong += own(is.own.begin(s) + r, c) != number_of(first_own + s, row, c);
            }
        for (isize r = 0; r < mine.rows; ++r)
          for (isize c = 0; c < width; ++c) wrong += back(r, c) != mine(r, c);
        wrong += !own.gaps_intact() + !back.gaps_intact();
      },
      long_rows);
  CHECK(thrown == "");
  return wrong;
}

TEST_CASE_TEMPLATE("whole samples become parts of all samples, and back", T, float, double, bf16) {
  const std::vector<isize> offsets = {0, 3, 3, 4, 16, 23, 23, 24, 24};
  // bf16 holds the numbers of two samples exactly.
  const isize samples = std::is_same_v<T, bf16> ? 2 : 8;
  for (const bool balanced : {false, true})
    for (isize context = 1; context <= 4; ++context)
      for (const isize tensor : {1, 2}) {
        if (tensor * context > 6) continue;
        CAPTURE(context);
        CAPTURE(tensor);
        for (const isize long_rows : {0, 4, 12})
          CHECK(wrong_after_exchange<T>({samples, 1, offsets.data()}, tensor, context, balanced, 1,
                                        long_rows) == 0);
        if (samples == 8)
          CHECK(wrong_after_exchange<T>({5, 6, nullptr}, tensor, context, balanced, 1, tensor > 1 ? 7 : 0) ==
                0);
      }
}

TEST_CASE("a rank may have several threads, and a batch no rows") {
  const std::vector<isize> offsets = {0, 3, 3, 14, 16, 23};
  CHECK(wrong_after_exchange<float>({5, 1, offsets.data()}, 1, 2, true, 3) == 0);
  CHECK(wrong_after_exchange<float>({0, 4, nullptr}, 1, 3, false, 2) == 0);
  const std::vector<isize> empty = {0, 0, 0};
  CHECK(wrong_after_exchange<float>({2, 1, empty.data()}, 1, 3, true, 1) == 0);
}

TEST_CASE("what moves is noted") {
  const std::vector<isize> offsets = {0, 6, 12};
  spread_rows rows({1, 0, 2, 0, false}, 2);
  microbatch_spread is;
  is.context = any_group(2, 0);
  rows.fill({2, 1, offsets.data()}, is);
  cpu::profile noted;
  cpu::context ctx;
  ctx.costs = &noted;
  ctx.shared = &is;
  const matrix<float> here{reinterpret_cast<float*>(64), 6, 4, 4};
  rows_to_parts(ctx, here, here);
  CHECK(noted.begin()->bytes == 2 * 6 * 4 * 4);
  CHECK(ctx.memory.peak() == round_up(6 * 4 * 4, arena::alignment));
}

}  // namespace
}  // namespace motet
