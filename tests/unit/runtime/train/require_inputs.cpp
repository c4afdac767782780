// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/require_inputs.hpp>

#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("inputs are of all samples, and both ends of an edge count the same rows") {
  using speech = small_fed_speech<>;
  const model_outline& model = outline_of_model<speech>;
  const small_seen_text data(6, 1);
  const pictured_tokens all = data.get();
  std::vector<isize> rows;
  for (const isize each : data.picture_offsets) rows.push_back(5 * each);
  const auto batch = [&]() -> speech::batch {
    return {seen_pictures{all.seen, 6, all.picture_offsets}, placed_tokens{all, rows.data(), all.places}};
  };
  const auto right = batch();
  const auto inputs = inputs_of<speech>(right);
  for (std::size_t k = 0; k < model.size(); ++k) CHECK_NOTHROW(require_input(model, k, 6, inputs[k]));
  CHECK_NOTHROW(require_same_rows(model, 6, inputs));
  CHECK_THROWS_WITH_AS(require_input(model, 0, 5, inputs[0]),
                       doctest::Contains("eye has 6 samples, planned for exactly 5"), error);
  ++rows.back();
  const auto wrong = batch();
  CHECK_THROWS_WITH_AS(require_same_rows(model, 6, inputs_of<speech>(wrong)),
                       doctest::Contains("of sample 5 eye makes"), error);
}
