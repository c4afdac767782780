// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/heads_exchange.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/tensor/arena.hpp>

#include <doctest/doctest.h>

#include <deque>

namespace motet {
namespace {

struct dry {
  arena memory;
  const microbatch_spread* shared = nullptr;
};

TEST_CASE("what a member sends is what the other one expects, and all of it moves") {
  const std::vector<isize> offsets = {0, 3, 3, 4, 16, 23};
  const sequences whole{5, 1, offsets.data()};
  for (const isize long_rows : {0, 4, 99})
    for (const isize heads : {6, 2, 0})
      for (const bool keys : {false, true})
        for (isize members = 1; members <= 4; ++members) {
          CAPTURE(heads);
          CAPTURE(members);
          const auto count = static_cast<std::size_t>(members);
          const head_columns cut{head_groups(attention_shape{heads, heads / 2, 8, mask_kind::causal, 0}), 8,
                                 members, keys};
          std::deque<spread_rows> rows;
          std::vector<microbatch_spread> all(count);
          std::vector<std::vector<isize>> room(count, std::vector<isize>(2 * count));
          std::vector<heads_transfer<bf16>> wires;
          std::vector<detail::heads_counts> counts;
          for (std::size_t m = 0; m < count; ++m) {
            rows.emplace_back(spread_seat{1, 0, members, static_cast<isize>(m), true, long_rows},
                              whole.samples);
            all[m].context = any_group(static_cast<std::int32_t>(members), static_cast<std::int32_t>(m));
            rows.back().fill(whole, all[m]);
            dry ctx{{}, &all[m]};
            wires.emplace_back(ctx, cut);
            CHECK(wires.back().width == cut.width(static_cast<isize>(m)));
            CHECK(ctx.memory.mark() ==
                  round_up(2 * wires.back().part.width, arena::alignment) +
                      round_up(2 * wires.back().whole.rows * wires.back().whole.width, arena::alignment));
            counts.emplace_back(wires.back(), room[m]);
          }
          for (std::size_t a = 0; a < count; ++a) {
            isize part = 0, together = 0;
            for (std::size_t b = 0; b < count; ++b) {
              CHECK(counts[a].part[b] == counts[b].whole[a]);
              part += counts[a].part[b];
              together += counts[a].whole[b];
            }
            CHECK(part == 2 * wires[a].part.width);
            CHECK(together == 2 * wires[a].whole.rows * wires[a].whole.width);
            // Rows of samples that stay whole are in no message: of 23 rows, 19 are in samples of four or
            // more.
            const isize crosses = members == 1 || long_rows == 0 ? 23 : long_rows == 4 ? 19 : 0;
            CHECK(together == 2 * crosses * cut.width(static_cast<isize>(a)));
          }
        }
}

TEST_CASE("heads that read unevenly are computed one key-value head after the other") {
  const head_groups all(attention_shape{6, 2, 8, mask_kind::full, 0});
  const auto calls = [](const head_groups& groups) {
    std::vector<isize> out;
    detail::each_even(groups, [&](interval heads, interval kv) {
      out.insert(out.end(), {heads.begin, heads.end, kv.begin, kv.end});
    });
    return out;
  };
  CHECK(calls(all) == std::vector<isize>{0, 6, 0, 2});
  CHECK(calls(all.part({2, 5})) == std::vector<isize>{0, 1, 0, 1, 1, 3, 1, 2});
  CHECK(calls(all.part({3, 3})).empty());

  const isize d = 4;
  std::vector<float> qkv(2 * 28), mixed(2 * 12), lse(2 * 3);
  const head_groups mine = all.part({2, 5});
  kept_heads<float, float> kept{{qkv.data(), 2, 28, 28}, {mixed.data(), 2, 12, 12}, {lse.data(), 2, 3, 3}};
  const detail::even_heads some(attention_shape{6, 2, d, mask_kind::full, 0}, mine, kept, {1, 3}, {1, 2});
  CHECK(some.shape.heads == 2);
  CHECK(some.shape.kv_heads == 1);
  CHECK(some.q.data == qkv.data() + d);
  CHECK(some.k.data == qkv.data() + (3 + 1) * d);
  CHECK(some.v.data == qkv.data() + (3 + 2 + 1) * d);
  CHECK(some.y.data == mixed.data() + d);
  CHECK(some.lse.data == lse.data() + 1);
  CHECK(some.columns.size() == 2 * d);
}

struct dry_whole : dry {
  static constexpr bool keeps_samples_whole = true;
};

TEST_CASE("a rank keeps its share of the heads of what is cut, and all heads of what stays whole with it") {
  const std::vector<isize> offsets = {0, 30, 33, 35, 40};
  spread_rows rows({1, 0, 2, 0, false, 10}, 4);
  microbatch_spread is;
  is.context = any_group(2, 0);
  rows.fill({4, 1, offsets.data()}, is);
  dry_whole ctx{{{}, &is}};
  exchanged_heads<bf16, float> kept;
  reserve_exchanged(ctx, {6, 2, 16, mask_kind::full, 0}, kept);
  CHECK(kept.qkv.rows == 30);
  CHECK(kept.qkv.width == (3 + 2 * 1) * 16);
  // Of four samples the first two are embedded here, of which one is short.
  CHECK(kept.whole.qkv.rows == 3);
  CHECK(kept.whole.qkv.width == (6 + 2 * 2) * 16);
  CHECK(kept.whole.mixed.width == 6 * 16);
  CHECK(kept.whole.lse.width == 6);
}

TEST_CASE("a rank keeps its share of the heads, of all rows") {
  spread_rows rows({1, 0, 4, 1, false}, 2);
  microbatch_spread is;
  is.context = any_group(4, 1);
  rows.fill({2, 10, nullptr}, is);
  dry ctx{{}, &is};
  exchanged_heads<bf16, float> kept;
  reserve_exchanged(ctx, {6, 2, 16, mask_kind::full, 0}, kept);
  CHECK(kept.qkv.rows == 20);
  CHECK(kept.qkv.width == (2 + 2 * 2) * 16);
  CHECK(kept.mixed.width == 2 * 16);
  CHECK(kept.lse.width == 2);
}

}  // namespace
}  // namespace motet
