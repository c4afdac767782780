// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/ring_parts.hpp>

#include <motet/backend/exchange/spread_rows.hpp>

#include <doctest/doctest.h>

#include <map>

#include <cuda_run.hpp>

namespace motet {
namespace {

using motet::cuda::detail::attention_ring;
using motet::cuda::detail::ring_rows;

const std::vector<isize> offsets = {0, 1, 1, 4, 41, 48};
const sequences ragged{5, 1, offsets.data()};

// The rows of a sample that one piece, or all, of a part has, in order.
std::vector<isize> rows_in_sample(const attention_ring& ring, isize part, ring_rows which, isize sample) {
  const isize all = ring.is.whole.rows_of(sample), first = ring.is.cut.piece(all, part, 0).size();
  std::vector<isize> out;
  for (isize i = 0; i < ring.is.cut.rows_of(all, part); ++i)
    if (which == ring_rows::all || (which == ring_rows::first) == (i < first))
      out.push_back(ring.is.cut.position(all, part, i));
  return out;
}

TEST_CASE("every query meets every key that it may see, once") {
  for (const sequences& whole : {ragged, sequences{2, 9, nullptr}})
    for (const mask_kind mask : {mask_kind::full, mask_kind::causal})
      for (const bool balanced : {false, true})
        for (isize members = 1; members <= 4; ++members) {
          std::map<std::tuple<isize, isize, isize>, int> met;
          for (isize me = 0; me < members; ++me) {
            spread_rows rows({1, 0, members, me, balanced}, whole.samples);
            microbatch_spread is;
            is.context = any_group(static_cast<std::int32_t>(members), static_cast<std::int32_t>(me));
            rows.fill(whole, is);
            motet::cuda::context ctx;
            ctx.shared = &is;
            attention_ring ring(ctx, {2, 2, 4, mask, 0});
            CHECK(ring.part_at(members) == me);
            for (isize step = 0; step < members; ++step) {
              const isize part = ring.part_at(step);
              CHECK(ring.rows_of(part) <= ring.most_rows());
              const auto meet = ring.with(part);
              if (meet.queries == ring_rows::none) continue;
              for (isize s = 0; s < whole.samples; ++s) {
                const auto queries = rows_in_sample(ring, me, meet.queries, s),
                           keys = rows_in_sample(ring, part, meet.keys, s);
                CHECK(ring.rows(me, meet.queries).rows_of(s) == static_cast<isize>(queries.size()));
                CHECK(ring.rows(part, meet.keys).rows_of(s) == static_cast<isize>(keys.size()));
                for (std::size_t i = 0; i < queries.size(); ++i)
                  for (std::size_t j = 0; j < (meet.mask == mask_kind::full ? keys.size() : i + 1); ++j)
                    ++met[{s, queries[i], keys[j]}];
              }
            }
          }
          isize wanted = 0;
          for (isize s = 0; s < whole.samples; ++s) {
            const isize n = whole.rows_of(s);
            wanted += mask == mask_kind::full ? n * n : n * (n + 1) / 2;
          }
          for (const auto& [pair, times] : met) {
            if (times == 1 && (mask == mask_kind::full || std::get<2>(pair) <= std::get<1>(pair))) continue;
            CAPTURE(std::get<0>(pair));
            CAPTURE(std::get<1>(pair));
            CAPTURE(std::get<2>(pair));
            CHECK(times == 1);
            CHECK((mask == mask_kind::full || std::get<2>(pair) <= std::get<1>(pair)));
          }
          CHECK(static_cast<isize>(met.size()) == wanted);
        }
}

TEST_CASE("rows of pieces are found on the GPU") {
  for (const sequences& whole : {ragged, sequences{2, 9, nullptr}})
    for (const ring_rows which : {ring_rows::first, ring_rows::second}) {
      spread_rows rows({1, 0, 3, 1, true}, whole.samples);
      microbatch_spread is;
      is.context = any_group(3, 1);
      rows.fill(whole, is);
      const laws::flat_on_gpu<std::int32_t> positions(whole.rows());
      isize count = 0;
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        ctx.shared = &is;
        attention_ring ring(ctx, {2, 2, 4, mask_kind::causal, 0});
        if (ctx.measuring()) return;
        CHECK(motet::cuda::detail::find_piece_rows(ring, 2, which, positions.data()) == positions.data());
        CHECK(motet::cuda::detail::find_piece_rows(ring, 2, ring_rows::all, positions.data()) == nullptr);
        count = ring.rows(2, which).rows();
      });
      const auto found = positions.back();
      std::size_t at = 0;
      isize first = 0;
      for (isize s = 0; s < whole.samples; ++s) {
        const isize all = whole.rows_of(s),
                    before = which == ring_rows::second ? is.cut.piece(all, 2, 0).size() : 0;
        for (isize i = 0; i < is.cut.piece(all, 2, which == ring_rows::second ? 1 : 0).size(); ++i)
          CHECK(found[at++] == first + before + i);
        first += is.cut.rows_of(all, 2);
      }
      CHECK(static_cast<isize>(at) == count);
    }
}

TEST_CASE("equal offsets are kept once, until copies are forgotten") {
  motet::cuda::detail::offset_pool pool;
  const isize* const a = pool.keep({0, 3, 4}, 0);
  CHECK(pool.keep({0, 3, 5}, 0) != a);
  CHECK(pool.keep({0, 3, 4}, 0) == a);
  CHECK(pool.keep({0, 1}, 1)[1] == 1);
}

}  // namespace
}  // namespace motet
