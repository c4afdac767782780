// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/norm.hpp>
#include <motet/nn/towers/vocabulary_tail.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using losing = next_token_tail<rms_norm<8>, 100>;
using speaking = logits_tail<rms_norm<8>, 100>;
}  // namespace

static_assert(losing::in == 8 && losing::out == 1);
static_assert(speaking::out == 100 && speaking::parameter_size == losing::parameter_size);

TEST_CASE("a tail that speaks has the parameters of the one that loses") {
  const auto a = layer::parameters_of<losing>(), b = layer::parameters_of<speaking>();
  REQUIRE_EQ(a.size(), 2);
  CHECK_EQ(a[1].name, "head.weight");
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK_EQ(a[i].name, b[i].name);
    CHECK_EQ(a[i].offset, b[i].offset);
  }
  const std::int32_t targets[] = {3};
  const labelled_tokens batch{{nullptr, {1, 1, nullptr}}, targets, 0.5};
  const labelled_rows rows = losing::rows_of(batch, batch.seq);
  CHECK_EQ(rows.targets, targets);
  CHECK_EQ(rows.share, 0.5);
}
