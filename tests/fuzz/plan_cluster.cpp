// SPDX-License-Identifier: Apache-2.0
#include "cluster_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz_cluster_json(bytes);
  fuzz_cluster_name(bytes);
  return 0;
}
