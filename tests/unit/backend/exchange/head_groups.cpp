// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/head_groups.hpp>

#include <doctest/doctest.h>

namespace motet {
namespace {

constexpr head_groups of(isize heads, isize kv_heads) {
  return head_groups(attention_shape{heads, kv_heads, 8, mask_kind::full, 0});
}

static_assert(of(6, 2).kv_of(2) == 0 && of(6, 2).kv_of(3) == 1);
// Six heads that read two, over four members: 2, 2, 1, 1. The second member has a head of each group.
static_assert(of(6, 2).part(share(6, 4, 1)).kv_heads == 2 && of(6, 2).part(share(6, 4, 1)).lead == 2);
static_assert(of(6, 2).part(share(6, 4, 1)).readers(0).size() == 1 && !of(6, 2).part(share(6, 4, 1)).even());
static_assert(of(6, 2).even() && of(6, 2).part({0, 3}).even());

TEST_CASE("a share of the heads reads what the whole reads") {
  for (isize kv_heads = 1; kv_heads <= 4; ++kv_heads)
    for (isize group = 1; group <= 4; ++group)
      for (isize members = 1; members <= 6; ++members) {
        const head_groups all = of(kv_heads * group, kv_heads);
        for (isize m = 0; m < members; ++m) {
          const interval own = share(all.heads, members, m), kv = all.kv_of(own);
          const head_groups part = all.part(own);
          CHECK(part.heads == own.size());
          CHECK(part.kv_heads == kv.size());
          isize readers = 0;
          for (isize k = 0; k < part.kv_heads; ++k) {
            for (isize h = part.readers(k).begin; h < part.readers(k).end; ++h, ++readers) {
              CHECK(part.kv_of(h) == k);
              CHECK(kv.begin + k == all.kv_of(own.begin + h));
            }
            CHECK(part.readers(k).size() > 0);
          }
          CHECK(readers == part.heads);
          if (part.heads == 0) CHECK(part.even());
          // A share of a share.
          const interval half = share(part.heads, 2, 1);
          const head_groups again = part.part(half),
                            direct = all.part({own.begin + half.begin, own.begin + half.end});
          CHECK(again.kv_heads == direct.kv_heads);
          CHECK((again.heads == 0 || again.lead == direct.lead));
        }
      }
}

TEST_CASE("columns of queries lie side by side, those of keys where they are read") {
  const head_columns cut{of(6, 2), 8, 4, true};
  for (isize p = 0; p < 3; ++p) CHECK(cut.piece(3, p).end == (p == 0 ? 48 : p == 1 ? 64 : 80));
  CHECK(cut.piece(1, 0).begin == 16);
  CHECK(cut.piece(0, 1).begin == 48);
  CHECK(cut.piece(0, 1).size() == 8);
  CHECK(cut.piece(1, 2).begin == 64);
  CHECK(cut.piece(1, 2).size() == 16);
  CHECK(cut.width(1) == 48);
  CHECK(cut.width_of_all() == 48 + 2 * 8 * (1 + 2 + 1 + 1));
  const head_columns queries{of(6, 2), 8, 4, false};
  CHECK(queries.width_of_all() == 48);
  // More members than heads: the last have nothing.
  const head_columns few{of(2, 1), 4, 3, true};
  CHECK(few.width(2) == 0);
  CHECK(few.piece(2, 1).size() == 0);
  CHECK(few.width(1) == 12);
}

}  // namespace
}  // namespace motet
