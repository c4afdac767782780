// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/products/product_choices.hpp>

#include <cstdlib>

// Any bytes are choices of products, the same ones after writing and reading again, or are refused as a
// whole, with their line. Aborts when that does not hold; returns whether they were read.
inline bool fuzz_product_choices(std::string_view bytes) {
  using namespace motet::cuda;
  const product_choices before{"as it was", {{"shape", {1, 2, 3}}}};
  product_choices found = before;
  if (const std::string wrong = parse_product_choices(bytes, found); !wrong.empty()) {
    if (!wrong.starts_with("line ") || !(found == before)) std::abort();
    return false;
  }
  product_choices again;
  if (!parse_product_choices(format_product_choices(found), again).empty() || !(again == found)) std::abort();
  return true;
}
