// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cpu_run.hpp>
#include <motet/backend/cpu/losses/pair_tiles.hpp>

#include <atomic>
#include <vector>

namespace {

using motet::isize;
using motet::matrix;

TEST_CASE(
    "a walk shows every pair once with its dot product, and multiplies what is left in the tile into both "
    "gradients") {
  for (const int threads : {1, 2, 3})
    for (const isize rows : {1, 5, 50, 130}) {
      const isize width = 7;
      std::vector<double> a(static_cast<std::size_t>(rows * width)),
          b = a, da(a.size(), 0.0), db(a.size(), 0.0), seen(static_cast<std::size_t>(rows * rows), 0.0);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<double>(i % 11) - 5;
        b[i] = static_cast<double>(i % 7) - 3;
      }
      const matrix<double> ma{a.data(), rows, width, width}, mb{b.data(), rows, width, width};
      const matrix<double> mda{da.data(), rows, width, width}, mdb{db.data(), rows, width, width};
      std::atomic<isize> diagonals{0};
      motet::laws::cpu_run(threads, 1 << 16, 1 << 20, [&](motet::cpu::context& ctx) {
        motet::cpu::detail::pair_walk<double> walk(ctx, ma, mb);
        walk.run(mda, mdb, [&](const motet::cpu::detail::pair_tile<double>& tile) {
          for (isize i = 0; i < tile.rows; ++i) {
            if (tile.has_diagonal(i)) ++diagonals;
            for (isize j = 0; j < tile.columns; ++j) {
              seen[static_cast<std::size_t>((tile.row + i) * rows + tile.column + j)] +=
                  tile.values[i * tile.stride + j] + 1000;
              tile.values[i * tile.stride + j] = 1;  // d loss / d dot
            }
          }
        });
      });
      CHECK(diagonals == rows);
      double wrong = 0;
      for (isize i = 0; i < rows; ++i)
        for (isize j = 0; j < rows; ++j) {
          double dot = 1000;
          for (isize c = 0; c < width; ++c) dot += ma.row(i)[c] * mb.row(j)[c];
          wrong += std::abs(dot - seen[static_cast<std::size_t>(i * rows + j)]);
        }
      CHECK(wrong < 1e-9);
      for (isize c = 0; c < width; ++c) {
        double sum_a = 0, sum_b = 0;
        for (isize r = 0; r < rows; ++r) {
          sum_a += ma.row(r)[c];
          sum_b += mb.row(r)[c];
        }
        CHECK(mda.row(rows - 1)[c] == doctest::Approx(sum_b));
        CHECK(mdb.row(0)[c] == doctest::Approx(sum_a));
      }
    }
}

TEST_CASE(
    "some rows against some columns in pieces: every pair once, columns by their numbers, matches wherever "
    "they are") {
  constexpr isize rows = 101, width = 7, first = 40;
  const isize pieces[] = {3, 64, 0, 90};  // columns 40 to 197
  std::vector<double> a(static_cast<std::size_t>(rows * width)), b(static_cast<std::size_t>(200 * width)),
      da(a.size(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 11) - 5;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 7) - 3;
  std::vector<motet::matrix<const double>> columns;
  isize count = 0;
  for (const isize each : pieces) {
    columns.push_back({b.data() + (first + count) * width, each, width, width});
    count += each;
  }
  // Some rows have their match before these columns, or behind them.
  std::vector<isize> matches;
  for (isize i = 0; i < rows; ++i) matches.push_back((i * 7) % 200);
  const motet::pair_part<double> part{{a.data(), rows, width, width}, matches.data(), columns, 200, first};
  const matrix<double> ma{a.data(), rows, width, width}, mda{da.data(), rows, width, width};
  std::vector<double> seen(static_cast<std::size_t>(rows * 200), 0.0);
  std::atomic<isize> diagonals{0}, wrong{0};
  motet::laws::cpu_run(3, 1 << 16, 1 << 20, [&](motet::cpu::context& ctx) {
    motet::cpu::detail::part_walk<double> walk(ctx, part);
    walk.run(mda, [&](const motet::cpu::detail::pair_tile<double>& tile) {
      for (isize i = 0; i < tile.rows; ++i) {
        if (tile.has_diagonal(i)) {
          ++diagonals;
          if (tile.column + tile.diagonal(i) != matches[static_cast<std::size_t>(tile.row + i)]) ++wrong;
        }
        for (isize j = 0; j < tile.columns; ++j) {
          seen[static_cast<std::size_t>((tile.row + i) * 200 + tile.column + j)] +=
              tile.values[i * tile.stride + j] + 1000;
          tile.values[i * tile.stride + j] = 1;
        }
      }
    });
  });
  isize matched = 0;
  for (const isize each : matches) matched += each >= first && each < first + count;
  CHECK(diagonals == matched);
  CHECK(wrong == 0);
  double off = 0;
  for (isize i = 0; i < rows; ++i)
    for (isize j = 0; j < 200; ++j) {
      double dot = j >= first && j < first + count ? 1000 : 0;
      for (isize c = 0; c < width && dot != 0; ++c)
        dot += ma.row(i)[c] * b[static_cast<std::size_t>(j * width + c)];
      off += std::abs(dot - seen[static_cast<std::size_t>(i * 200 + j)]);
    }
  CHECK(off < 1e-9);
  for (isize c = 0; c < width; ++c) {
    double sum = 0;
    for (isize j = first; j < first + count; ++j) sum += b[static_cast<std::size_t>(j * width + c)];
    CHECK(mda.row(0)[c] == doctest::Approx(sum));
    CHECK(mda.row(rows - 1)[c] == doctest::Approx(sum));
  }
}

TEST_CASE("a sum over the team is the same number on every thread") {
  motet::laws::cpu_run(3, 1024, [](motet::cpu::context& ctx) {
    for (int round = 0; round < 10; ++round)
      CHECK(motet::cpu::detail::sum_over_team(ctx, ctx.thread + round) == 3 + 3 * round);
  });
}

}  // namespace
