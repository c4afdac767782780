// SPDX-License-Identifier: Apache-2.0
#include "product_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_product_choices({reinterpret_cast<const char*>(data), size});
  return 0;
}
