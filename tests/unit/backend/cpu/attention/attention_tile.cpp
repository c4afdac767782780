// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/attention/attention_tile.hpp>

#include <vector>

namespace {

using motet::isize;
using motet::mask_kind;
using motet::sequences;
namespace detail = motet::cpu::detail;

TEST_CASE("a causal mask is aligned at the end: the last query sees every key") {
  for (const isize queries : {1, 3, 7})
    for (const isize keys : {3, 7, 20})
      for (isize q = 0; q < queries; ++q) {
        const isize limit = q + keys - queries;  // the last key that it sees
        for (const isize first_key : {0, 2}) {
          const isize want = limit + 1 - first_key < 0 ? 0 : limit + 1 - first_key;
          CHECK(detail::attention_visible(mask_kind::causal, queries, keys, q, first_key).of(0, 100) == want);
        }
        const isize reach = limit + 1 < 0 ? 0 : limit + 1;
        CHECK(detail::attention_reach(mask_kind::causal, queries, keys, q + 1) ==
              (reach < keys ? reach : keys));
        CHECK(detail::attention_reach(mask_kind::full, queries, keys, q + 1) == keys);
      }
}

TEST_CASE("a recipe covers the longest sample, whatever its place, and pairs are counted sample by sample") {
  const isize offsets[] = {0, 2, 2, 702, 705};
  const sequences ragged{4, 0, offsets};
  const motet::attention_shape shape{2, 2, 20, mask_kind::full, 0};
  const detail::attention_recipe<float> recipe(ragged, shape);
  CHECK(recipe.keys == 700);
  CHECK(recipe.panels == 2);
  CHECK(recipe.padded >= 20);
  CHECK(recipe.padded % recipe.lanes == 0);
  CHECK(recipe.tile_row >= recipe.key_tile);
  CHECK(recipe.straight() == 700 * recipe.padded);
  CHECK(detail::attention_pairs(ragged, ragged) == 4 + 700.0 * 700 + 9);
  CHECK(detail::attention_pairs({5, 3, nullptr}, {5, 4, nullptr}) == 60);
}

TEST_CASE("a head is packed and unpacked without touching its neighbours") {
  const isize rows = 5, width = 6, columns = 20;
  std::vector<float> from(static_cast<std::size_t>(rows * columns)), to(from.size(), -1.0f);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const motet::attention_shape shape{2, 2, width, mask_kind::full, 0};
  const detail::attention_recipe<float> recipe(sequences{1, rows, nullptr}, shape);
  std::vector<float> packed(static_cast<std::size_t>(recipe.straight()), 0.0f),
      ones(static_cast<std::size_t>(rows), 1.0f);
  detail::pack_head(motet::matrix<float>{from.data(), rows, columns, columns}, 0, rows, 7, recipe,
                    packed.data());
  detail::unpack_head(packed.data(), rows, ones.data(), recipe,
                      motet::matrix<float>{to.data(), rows, columns, columns}, 0, 7);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(r * columns + c);
      CHECK(to[at] == (c >= 7 && c < 13 ? from[at] : -1.0f));
    }
}

}  // namespace
