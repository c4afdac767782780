// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/exchange/context_ring.hpp>

#include "../../../laws/spread_ranks.hpp"

#include <doctest/doctest.h>

#include <atomic>

namespace motet {
namespace {

const std::vector<isize> offsets = {0, 1, 1, 4, 61, 68};
const sequences whole{5, 1, offsets.data()};

TEST_CASE("in each step members see different parts, and in the end all have seen all") {
  for (const bool balanced : {false, true})
    for (isize members = 1; members <= 5; ++members) {
      CAPTURE(members);
      double pairs = 0, wanted = 0;
      std::vector<std::vector<int>> seen(static_cast<std::size_t>(members),
                                         std::vector<int>(static_cast<std::size_t>(members)));
      for (isize me = 0; me < members; ++me) {
        spread_rows rows({1, 0, members, me, balanced}, whole.samples);
        microbatch_spread is;
        is.context = any_group(static_cast<std::int32_t>(members), static_cast<std::int32_t>(me));
        rows.fill(whole, is);
        const context_ring ring(is);
        CHECK(ring.part_at(0) == me);
        CHECK(ring.part_at(members) == me);
        CHECK(ring.rows_of(me) == is.part.rows());
        isize all = 0;
        for (isize step = 0; step < members; ++step) {
          const isize part = ring.part_at(step);
          ++seen[static_cast<std::size_t>(step)][static_cast<std::size_t>(part)];
          all += ring.rows_of(part);
          CHECK(ring.rows_of(part) <= ring.most_rows());
        }
        CHECK(all == whole.rows());
        pairs += ring.pairs();
      }
      for (const auto& step : seen)
        for (const int times : step) CHECK(times == 1);
      for (isize s = 0; s < whole.samples; ++s)
        wanted += static_cast<double>(whole.rows_of(s) * whole.rows_of(s));
      CHECK(pairs == wanted);
    }
}

// The host's part of a back end.
struct host {
  int thread = 0;
};
std::vector<isize> host_numbers(host&, isize count) {
  return std::vector<isize>(static_cast<std::size_t>(count));
}

TEST_CASE("what each has goes round once, and thread 0 alone sends it") {
  std::atomic<int> wrong{0};
  const std::string thrown =
      laws::run_shards(1, 4, true, whole, [&](microbatch_spread& is, const spread_seat&) {
        const context_ring ring(is);
        std::vector<int> here(static_cast<std::size_t>(ring.most_rows()), static_cast<int>(ring.me)),
            next(here.size(), -1);
        host ctx, other{1};
        ring_shift shift(ctx, is);
        shift.finish();
        for (isize step = 0; step < ring.members; ++step) {
          const isize rows = ring.rows_of(ring.part_at(step));
          for (isize r = 0; r < rows; ++r) wrong += here[static_cast<std::size_t>(r)] != ring.part_at(step);
          const isize coming = ring.rows_of(ring.part_at(step + 1));
          shift.begin(other, here.data(), rows, next.data(), coming);
          shift.begin(ctx, here.data(), rows, next.data(), coming);
          shift.poll();
          shift.finish();
          shift.finish();
          std::swap(here, next);
        }
        for (isize r = 0; r < is.part.rows(); ++r) wrong += here[static_cast<std::size_t>(r)] != ring.me;
      });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace motet
