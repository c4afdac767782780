// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/exchange/sample_pieces.hpp>

#include <motet/backend/exchange/spread_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace motet {

TEST_CASE("a rank alone has each sample in one piece") {
  const std::vector<isize> offsets{0, 4, 4, 9};
  const motet::cuda::context ctx;
  const motet::cuda::sample_pieces pieces(ctx, {3, 1, offsets.data()});
  CHECK(pieces.all() == 1);
  CHECK(pieces.own() == 1);
  CHECK(pieces.number(0) == 0);
  CHECK(pieces.rows(2) == 5);
  CHECK(pieces.piece(2, 0).begin == 4);
  CHECK(pieces.piece(2, 0).end == 9);
}

TEST_CASE("the pieces of all ranks, by number, are the rows of a sample in order") {
  const std::vector<isize> offsets{0, 11, 11, 13, 20};
  const sequences whole{4, 1, offsets.data()};
  struct part {
    isize sample, number, rows, first;
  };
  for (const bool balanced : {false, true})
    for (isize context = 2; context <= 4; ++context) {
      std::vector<part> found;
      for (isize member = 0; member < context; ++member) {
        spread_rows rows({1, 0, context, member, balanced}, whole.samples);
        microbatch_spread is;
        is.context = any_group(static_cast<std::int32_t>(context), static_cast<std::int32_t>(member));
        rows.fill(whole, is);
        motet::cuda::context ctx;
        ctx.shared = &is;
        const motet::cuda::sample_pieces pieces(ctx, is.own);
        CHECK(pieces.all() == context * (balanced ? 2 : 1));
        for (isize s = 0; s < whole.samples; ++s) {
          CHECK(pieces.rows(s) == whole.rows_of(s));
          isize at = is.own.begin(s);
          for (isize p = 0; p < pieces.own(); ++p) {
            const interval piece = pieces.piece(s, p);
            CHECK(piece.begin == at);
            at = piece.end;
            if (piece.size() > 0)
              found.push_back({s, pieces.number(p), piece.size(),
                               is.cut.position(whole.rows_of(s), member, piece.begin - is.own.begin(s))});
          }
          CHECK(at == is.own.end(s));
        }
      }
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

TEST_CASE("each row tells its sample") {
  const std::vector<isize> offsets{0, 0, 3, 3, 3, 4, 9, 9};
  const sequences ragged{7, 1, offsets.data()};
  for (isize s = 0; s < ragged.samples; ++s)
    for (isize r = ragged.begin(s); r < ragged.end(s); ++r) CHECK(motet::cuda::sample_of(ragged, r) == s);
  const sequences even{4, 3, nullptr};
  for (isize r = 0; r < 12; ++r) CHECK(motet::cuda::sample_of(even, r) == r / 3);
}

}  // namespace motet
