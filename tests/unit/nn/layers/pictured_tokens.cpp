// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/pictured_tokens.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("text with pictures is text, and starts without any") {
  const pictured_tokens batch;
  const labelled_tokens& text = batch;
  CHECK_EQ(text.seq.rows(), 0);
  CHECK_EQ(batch.seen.samples, 0);
  CHECK(batch.places == nullptr);
}
