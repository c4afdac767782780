// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/tail.hpp>

#include <motet/nn/layers/projection.hpp>
#include <motet/nn/towers/attention_pool.hpp>
#include <motet/nn/towers/pool.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {

template <class Reduce>
using pooled_by = tail<reduce_head<layer_norm<6>, Reduce>, projection<Reduce::out, 4>>;

}  // namespace

TEST_CASE("tails keep the laws of a layer") {
  // A projection divides by lengths, which fewer digits feel.
  laws::check_layer<tail<pick_head<layer_norm<6>, pick::first>, projection<6, 4>>, true>({.half = 8e-2});
  laws::check_layer<pooled_by<attention_pool<attention_config{.width = 6, .heads = 2}>>, true>(
      {.half = 8e-2});
}

TEST_CASE("a mean of rows, where every sample has some") {
  for (const sequences& seq : {sequences{0, 5, nullptr}, sequences{1, 1, nullptr}, sequences{3, 5, nullptr}})
    laws::check_laws(laws::layer_subject<pooled_by<mean_pool<6>>>{seq, seq.pooled()}, {.half = 8e-2});
}

TEST_CASE("parameters of the head come first, the projection's have its name") {
  const auto list = layer::parameters_of<pooled_by<mean_pool<6>>>();
  REQUIRE_EQ(list.size(), 3);
  CHECK_EQ(list[0].name, "norm.weight");
  CHECK_EQ(list[2].name, "projection.weight");
  CHECK_EQ(list[2].offset, pooled_by<mean_pool<6>>::project_at);
}
