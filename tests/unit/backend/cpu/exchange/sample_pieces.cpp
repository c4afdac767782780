// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/exchange/sample_pieces.hpp>

#include <doctest/doctest.h>

#include "../../../../laws/spread_ranks.hpp"

#include <algorithm>

namespace motet {

TEST_CASE("a rank alone has each sample in one piece") {
  const std::vector<isize> offsets{0, 4, 4, 9};
  const sequences seq{3, 1, offsets.data()};
  const cpu::context ctx;
  const cpu::sample_pieces pieces(ctx);
  CHECK(pieces.all() == 1);
  CHECK(pieces.own() == 1);
  CHECK(pieces.number(0) == 0);
  CHECK(pieces.rows(seq, 2) == 5);
  CHECK(pieces.piece(seq, 2, 0).begin == 4);
  CHECK(pieces.piece(seq, 2, 0).end == 9);
}

TEST_CASE("the pieces of all ranks, by number, are the rows of a sample in order") {
  const std::vector<isize> offsets{0, 11, 11, 13, 20};
  const sequences whole{4, 1, offsets.data()};
  for (const bool balanced : {false, true})
    for (isize context = 2; context <= 4; ++context)
      for (const isize long_rows : {0, 8}) {
        std::mutex mutex;
        struct part {
          isize sample, number, rows, first;
        };
        std::vector<part> found;
        CHECK(laws::run_shards(
                  1, context, balanced, whole,
                  [&](microbatch_spread& is, const spread_seat& seat) {
                    cpu::context ctx;
                    ctx.shared = &is;
                    const cpu::sample_pieces pieces(ctx);
                    const std::lock_guard lock(mutex);
                    CHECK(pieces.all() == context * (balanced ? 2 : 1));
                    for (isize s = 0; s < whole.samples; ++s) {
                      CHECK(pieces.rows(is.own, s) == whole.rows_of(s));
                      isize at = is.own.begin(s);
                      for (isize p = 0; p < pieces.own(); ++p) {
                        const interval rows = pieces.piece(is.own, s, p);
                        CHECK(rows.begin == at);
                        at = rows.end;
                        if (rows.size() == 0) continue;
                        const isize first = is.cut_of(s).position(whole.rows_of(s), seat.context_member,
                                                                  rows.begin - is.own.begin(s));
                        found.push_back({s, pieces.number(p), rows.size(), first});
                      }
                      CHECK(at == is.own.end(s));
                    }
                  },
                  long_rows) == "");
        std::sort(found.begin(), found.end(), [](const part& a, const part& b) {
          return a.sample != b.sample ? a.sample < b.sample : a.number < b.number;
        });
        isize sample = -1, next = 0, rows = 0;
        for (const part& each : found) {
          if (each.sample != sample) next = 0;
          sample = each.sample;
          CHECK(each.first == next);
          next += each.rows;
          rows += each.rows;
        }
        CHECK(rows == whole.rows());
      }
}

}  // namespace motet
