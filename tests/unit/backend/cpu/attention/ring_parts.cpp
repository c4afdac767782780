// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/attention/ring_parts.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/spread_ranks.hpp"

#include <doctest/doctest.h>

#include <map>

namespace motet {
namespace {

const std::vector<isize> offsets = {0, 1, 1, 4, 61, 68};
const sequences whole{5, 1, offsets.data()};

// The members of a ring together meet each key of a sample with each of its query rows so often.
std::map<std::tuple<isize, isize, isize>, int> meetings(isize members, bool balanced, mask_kind mask,
                                                        int threads) {
  std::map<std::tuple<isize, isize, isize>, int> met;
  for (isize me = 0; me < members; ++me) {
    spread_rows rows({1, 0, members, me, balanced}, whole.samples);
    microbatch_spread is;
    is.context = any_group(static_cast<std::int32_t>(members), static_cast<std::int32_t>(me));
    rows.fill(whole, is);
    std::vector<bool> seen(static_cast<std::size_t>(members), false);
    for (int thread = 0; thread < threads; ++thread) {
      cpu::context ctx;
      ctx.thread = thread, ctx.threads = threads;
      ctx.shared = &is;
      const cpu::detail::attention_ring<float> ring(ctx, {2, 2, 4, mask, 0});
      CHECK(ring.part_at(members) == me);
      for (isize step = 0; step < members; ++step) {
        const isize part = ring.part_at(step);
        seen[static_cast<std::size_t>(part)] = true;
        CHECK(ring.rows_of(part) <= ring.most_rows());
        ring.each_keys(ctx, part, [&](isize sample, interval keys, isize row) {
          CHECK(keys.size() <= ring.recipe.keys);
          CHECK(row >= ring.own_rows(ctx, part).begin);
          CHECK(row + keys.size() <= ring.own_rows(ctx, part).end);
          ring.each_tile(sample, keys, [&](const cpu::detail::ring_tile& tile) {
            CHECK(tile.count <= ring.recipe.query_tile);
            for (isize i = 0; i < tile.count; ++i) {
              const isize local = tile.row + i - is.part.begin(sample),
                          query = is.cut.position(whole.rows_of(sample), me, local);
              const isize visible = tile.visible.of(i, keys.size());
              CHECK(visible <= tile.reach);
              for (isize j = 0; j < visible; ++j) ++met[{sample, query, keys.begin + j}];
            }
          });
        });
      }
    }
    for (const bool each : seen) CHECK(each);
  }
  return met;
}

TEST_CASE("every query meets every key that it may see, once") {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal})
    for (const bool balanced : {false, true})
      for (isize members = 1; members <= 4; ++members)
        for (const int threads : {1, 2}) {
          const auto met = meetings(members, balanced, mask, threads);
          isize wanted = 0;
          bool once = true;
          for (isize s = 0; s < whole.samples; ++s) {
            const isize n = whole.rows_of(s);
            wanted += mask == mask_kind::full ? n * n : n * (n + 1) / 2;
          }
          for (const auto& [pair, times] : met)
            once = once && times == 1 && (mask == mask_kind::full || std::get<2>(pair) <= std::get<1>(pair));
          CHECK(once);
          CHECK(static_cast<isize>(met.size()) == wanted);
        }
}

TEST_CASE("keys and values go round") {
  std::atomic<int> wrong{0};
  const std::string thrown =
      laws::run_shards(1, 3, true, whole, [&](microbatch_spread& is, const spread_seat& at) {
        const attention_shape shape{2, 1, 4, mask_kind::full, 0};
        std::vector<float> k(static_cast<std::size_t>(is.part.rows() * 4),
                             static_cast<float>(at.context_member)),
            v = k;
        for (float& each : v) each += 100;
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          ctx.shared = &is;
          const cpu::detail::attention_ring<float> ring(ctx, shape);
          cpu::detail::key_ring<float> around(ctx, ring);
          if (ctx.measuring()) return;
          around.fill(ctx, ring, matrix<float>{k.data(), is.part.rows(), 4, 4},
                      matrix<float>{v.data(), is.part.rows(), 4, 4});
          for (isize step = 0; step < 3; ++step) {
            around.begin(ctx, ring, step);
            const auto keys = around.keys(), values = around.values();
            wrong += keys.rows != ring.rows_of(ring.part_at(step));
            for (isize r = 0; r < keys.rows; ++r)
              for (isize c = 0; c < 4; ++c) {
                wrong += keys.row(r)[c] != static_cast<float>(ring.part_at(step));
                wrong += values.row(r)[c] != static_cast<float>(100 + ring.part_at(step));
              }
            around.poll();
            around.finish();
          }
        });
      });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace motet
