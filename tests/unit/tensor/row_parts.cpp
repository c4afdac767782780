// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/row_parts.hpp>

#include <doctest/doctest.h>

#include <vector>

using motet::interval;
using motet::row_parts;
using motet::sequences;

// 16 rows over two: in two halves, or the first and last quarter against both in the middle.
static_assert(row_parts{2, false}.piece(16, 1, 0).begin == 8);
static_assert(row_parts{2, true}.piece(16, 0, 1).begin == 12 &&
              row_parts{2, true}.piece(16, 1, 0).begin == 4);
static_assert(row_parts{2, true}.position(16, 0, 4) == 12);
static_assert(row_parts{}.rows_of(7, 0) == 7);
// Samples of fewer than 16 rows are all with one.
constexpr row_parts long_ones{.parts = 2, .balanced = true, .long_rows = 16, .home = 1};
static_assert(long_ones.rows_of(15, 0) == 0 && long_ones.rows_of(15, 1) == 15 &&
              long_ones.rows_of(16, 0) == 8);
static_assert(long_ones.position(15, 1, 9) == 9 && long_ones.index(15, 1, 9) == 9 &&
              long_ones.index(15, 0, 9) == -1);
static_assert(long_ones.longest_piece(15) == 15 && long_ones.longest_piece(16) == 4);

TEST_CASE("the parts of a sample hold each row once, in order, and differ by one at most") {
  for (const bool balanced : {false, true})
    for (motet::isize parts = 1; parts <= 5; ++parts)
      for (motet::isize rows = 0; rows <= 45; ++rows) {
        const row_parts cut{parts, balanced};
        std::vector<int> held(static_cast<std::size_t>(rows), 0);
        for (motet::isize k = 0; k < parts; ++k) {
          motet::isize at = 0, last = -1;
          for (motet::isize p = 0; p < cut.pieces(); ++p) {
            const interval piece = cut.piece(rows, k, p);
            CHECK_LE(piece.size(), cut.longest_piece(rows));
            for (motet::isize r = piece.begin; r < piece.end; ++r, ++at) {
              ++held[static_cast<std::size_t>(r)];
              CHECK_EQ(cut.position(rows, k, at), r);
              CHECK_GT(r, last);
              last = r;
            }
          }
          CHECK_EQ(cut.rows_of(rows, k), at);
          CHECK_GE(at, rows / parts);
          CHECK_LE(at, (rows + parts - 1) / parts);
        }
        for (const int times : held) CHECK_EQ(times, 1);
      }
}

TEST_CASE("under a causal mask balanced parts have equal work") {
  for (motet::isize parts = 1; parts <= 8; ++parts) {
    const motet::isize rows = 2 * parts * 8;
    const auto work = [&](motet::isize k) {
      const row_parts cut{parts, true};
      motet::isize pairs = 0;
      for (motet::isize at = 0; at < cut.rows_of(rows, k); ++at) pairs += cut.position(rows, k, at) + 1;
      return pairs;
    };
    for (motet::isize k = 1; k < parts; ++k) CHECK_EQ(work(k), work(0));
  }
}

TEST_CASE("the rows of a part are counted over all samples") {
  const std::vector<motet::isize> offsets = {0, 3, 3, 4, 21};
  const sequences ragged{4, 1, offsets.data()}, even{5, 7, nullptr};
  for (const bool balanced : {false, true}) {
    const row_parts cut{3, balanced};
    for (const sequences& seq : {ragged, even}) {
      motet::isize all = 0;
      for (motet::isize k = 0; k < 3; ++k) {
        motet::isize sum = 0;
        for (motet::isize s = 0; s < seq.samples; ++s) sum += cut.rows_of(seq.rows_of(s), k);
        CHECK_EQ(cut.rows_of(seq, k), sum);
        all += sum;
      }
      CHECK_EQ(all, seq.rows());
    }
  }
}
