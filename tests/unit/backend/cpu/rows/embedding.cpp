// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/embedding.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("token rows are looked up and their gradients added", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 17, 64, 75}) {
      const isize rows = seq.rows(), words = 6;
      std::vector<std::int32_t> ids;
      for (isize r = 0; r < rows; ++r)
        ids.push_back(
            static_cast<std::int32_t>(random_stream(1, "ids").below(static_cast<std::uint64_t>(r), words)));
      const auto table = grid<master>(words, width, 2).random(1);
      const auto dy = grid<value>(rows, width, 1).random(2);
      grid<stream> y(rows, width, 3);
      auto dtable = grid<master>(words, width, 1).random(3);
      const auto before = dtable;
      // The table is in two pieces here, of which each knows some of the ids.
      auto dpieces = dtable;
      grid<stream> low(rows, width, 1), high(rows, width, 1);
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        token_forward(ctx, seq, ids.data(), 0, table.view(), y.view());
        token_forward(ctx, seq, ids.data(), 0, table.view().slice(0, 2), low.view());
        token_forward(ctx, seq, ids.data(), 2, table.view().slice(2, words - 2), high.view());
        synchronize(ctx);
        token_backward_weight(ctx, ids.data(), 0, dy.view(), dtable.view());
        token_backward_weight(ctx, ids.data(), 0, dy.view(), dpieces.view().slice(0, 2));
        token_backward_weight(ctx, ids.data(), 2, dy.view(), dpieces.view().slice(2, words - 2));
      });
      grid<double> want(rows, width), want_table(words, width);
      for (isize w = 0; w < words; ++w)
        for (isize c = 0; c < width; ++c) want_table.at(w, c) = before(w, c);
      for (isize r = 0; r < rows; ++r)
        for (isize c = 0; c < width; ++c) {
          want.at(r, c) = table(ids[static_cast<std::size_t>(r)], c);
          want_table.at(ids[static_cast<std::size_t>(r)], c) += dy(r, c);
        }
      CHECK(distance(y, want) == 0);
      CHECK(dpieces.data == dtable.data);
      isize wrong = 0;
      for (isize r = 0; r < rows; ++r) {
        const bool in_low = ids[static_cast<std::size_t>(r)] < 2;
        for (isize c = 0; c < width; ++c)
          wrong += (in_low ? low : high)(r, c) != y(r, c) || (in_low ? high : low)(r, c) != 0;
      }
      CHECK(wrong == 0);
      CHECK(distance(dtable, want_table) < tolerance<master>);
      CHECK((y.gaps_intact() && dtable.gaps_intact()));
    }
  });
}

TEST_CASE_TEMPLATE("the class token is each sample's first row", N, fp32, fp64) {
  using stream = typename N::stream;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    const isize width = 35, rows = seq.rows();
    const auto token = grid<master>(1, width).random(1);
    auto x = grid<stream>(rows, width, 2).random(2);
    const auto dy = x;
    auto dtoken = grid<master>(1, width).random(3);
    grid<double> want(rows, width), want_token(1, width);
    for (isize c = 0; c < width; ++c) {
      want_token.at(0, c) = dtoken(0, c);
      for (isize r = 0; r < rows; ++r) want.at(r, c) = x(r, c);
      for (isize s = 0; s < seq.samples; ++s)
        if (seq.rows_of(s) > 0) {
          want.at(seq.begin(s), c) = token(0, c);
          want_token.at(0, c) += dy(seq.begin(s), c);
        }
    }
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      class_token_forward(ctx, seq, token.data.data(), x.view());
      class_token_backward_weight(ctx, seq, dy.view(), dtoken.data.data());
    });
    CHECK(distance(x, want) == 0);
    CHECK(distance(dtoken, want_token) < tolerance<master>);
    CHECK(x.gaps_intact());
  });
}

TEST_CASE_TEMPLATE("rows are added where they have a place", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 17, 64}) {
      const isize rows = seq.rows(), all = 2 * rows + 1;
      // Every other row backwards, and every fifth has no place.
      std::vector<std::int32_t> places;
      for (isize r = 0; r < rows; ++r)
        places.push_back(r % 5 == 4 ? -1 : static_cast<std::int32_t>(all - 1 - 2 * r));
      const auto x = grid<stream>(rows, width, 2).random(1);
      auto y = grid<stream>(all, width, 3).random(2);
      grid<double> want(all, width);
      for (isize r = 0; r < all; ++r)
        for (isize c = 0; c < width; ++c) want.at(r, c) = y(r, c);
      for (isize r = 0; r < rows; ++r)
        for (isize c = 0; c < width; ++c)
          if (places[static_cast<std::size_t>(r)] >= 0)
            want.at(places[static_cast<std::size_t>(r)], c) += x(r, c);
      cpu_run_foretold(threads,
                       [&](cpu::context& ctx) { add_rows_at(ctx, seq, places.data(), x.view(), y.view()); });
      CHECK(distance(y, want) < tolerance<stream>);
      CHECK(y.gaps_intact());
    }
  });
}

}  // namespace motet
