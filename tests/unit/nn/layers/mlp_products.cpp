// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/mlp_products.hpp>

#include <doctest/doctest.h>

namespace motet {
namespace {

template <isize Parts, bool Bias>
struct listed : mlp_products<6, 10, Parts, Bias> {
  static void parameters(parameter_list& list) { listed::list_products(list, "wide", "narrow"); }
};

TEST_CASE_TEMPLATE("what is listed fills what is counted, whatever is cut", L, listed<1, true>,
                   listed<1, false>, listed<2, true>, listed<3, false>) {
  for (std::int32_t shards = 1; shards <= 4; ++shards)
    for (std::int32_t shard = 0; shard < shards; ++shard) {
      const tensor_cut cut{shards, shard};
      parameter_list list(cut);
      L::parameters(list);
      CHECK(list.used() == L::size(cut));
      isize narrow = -1;
      for (const parameter& each : list.items())
        if (each.name == "narrow.weight") narrow = each.offset;
      CHECK(narrow == L::narrow_at(cut));
      if (shards == 1) CHECK(L::size(cut) == L::parameter_size);
    }
}

TEST_CASE("each part of a unit is held where the unit is") {
  parameter_list list({3, 1});
  listed<2, true>::parameters(list);
  const parameter& wide = list.items().front();
  CHECK(wide.name == "wide.weight");
  REQUIRE(wide.held_rows.size() == 2);
  const interval held = tensor_cut{3, 1}.share(10);
  CHECK(wide.held_rows[0].begin == held.begin);
  CHECK(wide.held_rows[1].begin == 10 + held.begin);
  CHECK(wide.held_rows[1].end == 10 + held.end);
  const parameter& bias = list.items().back();
  CHECK(bias.name == "narrow.bias");
  CHECK(bias.by == cut_by::nothing);
}

}  // namespace
}  // namespace motet
