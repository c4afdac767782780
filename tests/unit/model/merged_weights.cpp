// SPDX-License-Identifier: Apache-2.0
#include <motet/model/merged_weights.hpp>

#include <motet/model/graph.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <map>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4, .patch = 2, .channels = 1, .width = 8, .layers = 1, .heads = 2};
constexpr decoder_config words(isize rank) {
  return {.vocabulary = 9,
          .context = 8,
          .width = 8,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .hidden = 5,
          .adapters = {.rank = rank, .alpha = 6, .queries = false, .keys = true, .out = true, .up = true}};
}
template <class Eye, isize Rank>
using seen = model<
    modules<module<"eye", Eye>, module<"glue", linear<8, 8>>, module<"talk", fed_decoder<words(Rank), 4>>>,
    edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
using adapted = seen<frozen<vit_rows<sight>>, 2>;
using plain = seen<vit_rows<sight>, 0>;

}  // namespace

static_assert(plain::trainable_size == plain::parameter_size);

TEST_CASE("merged weights are those of the model without adapters, in its order") {
  std::vector<double> flat;
  for (isize i = 0; i < adapted::parameter_size; ++i)
    flat.push_back(std::sin(static_cast<double>(i % 10007)));
  const std::vector<double> got = merged_weights<adapted>(flat);
  REQUIRE(got.size() == static_cast<std::size_t>(plain::parameter_size));
  std::map<std::string, isize> places;
  for (const parameter& each : adapted::parameters()) places[each.name] = each.offset;
  // Keys and values are rows 8 to 11 and 12 to 15, and `up` is behind `gate`.
  const std::map<std::string, std::vector<interval>> adapts{
      {"attention.qkv", {{8, 12}, {12, 16}}}, {"attention.out", {{0, 8}}}, {"mlp.gate_up", {{5, 10}}}};
  isize changed = 0;
  for (const parameter& each : plain::parameters()) {
    CAPTURE(each.name);
    std::vector<double> want(flat.begin() + places.at(each.name),
                             flat.begin() + places.at(each.name) + each.size());
    for (const auto& [name, rows] : adapts) {
      if (!each.name.starts_with("talk.") || !each.name.ends_with(name + ".weight")) continue;
      const std::string product = each.name.substr(0, each.name.size() - 6);
      const double *a = flat.data() + places.at(product + "a"), *b = flat.data() + places.at(product + "b");
      for (const interval& of : rows) {
        for (isize row = of.begin; row < of.end; ++row, b += 2, ++changed)
          for (isize i = 0; i < each.width; ++i)
            want[static_cast<std::size_t>(row * each.width + i)] +=
                3 * (b[0] * a[i] + b[1] * a[each.width + i]);
        a += 2 * each.width;
      }
    }
    for (std::size_t i = 0; i < want.size(); ++i)
      CHECK(std::abs(got[static_cast<std::size_t>(each.offset) + i] - want[i]) <= 1e-14);
  }
  CHECK(changed == 2 * (8 + 8 + 5));
}
