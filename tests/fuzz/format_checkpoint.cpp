// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_checkpoint_index({reinterpret_cast<const char*>(data), size});
  return 0;
}
