// SPDX-License-Identifier: Apache-2.0
#include "data_targets.hpp"

// clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -DMOTET_HAS_SPNG -DMOTET_HAS_JPEG
// tests/fuzz/data_picture.cpp -lspng -ljpeg
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  fuzz_picture({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
