// SPDX-License-Identifier: Apache-2.0
#include "data_targets.hpp"

// clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude tests/fuzz/data_listing.cpp
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  static const char* const kinds[] = {".csv", ".tsv", ".jsonl", ".json"};
  if (size > 0) fuzz_listing({reinterpret_cast<const char*>(bytes) + 1, size - 1}, kinds[bytes[0] % 4]);
  return 0;
}
