// SPDX-License-Identifier: Apache-2.0
#include "data_targets.hpp"

// clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude tests/fuzz/data_step.cpp
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  fuzz_step({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
