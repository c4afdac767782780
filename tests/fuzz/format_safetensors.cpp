// SPDX-License-Identifier: Apache-2.0

// Any bytes are refused, or their tensors tile the data and can be read.
#include <motet/format/tensors/convert.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto contents = motet::read_safetensors(std::as_bytes(std::span(data, size)), "fuzz");
    const std::byte* at = nullptr;
    for (const auto& tensor : contents.tensors) {
      if (at != nullptr && tensor.bytes.data() != at) std::abort();
      at = tensor.bytes.data() + tensor.bytes.size();
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      std::vector<std::int64_t> integers(values.size());
      try {
        motet::copy_elements(tensor, values.data());
      } catch (const motet::error&) {
      }
      try {
        motet::copy_elements(tensor, integers.data());
      } catch (const motet::error&) {
      }
    }
    if (at != nullptr && at != reinterpret_cast<const std::byte*>(data) + size) std::abort();
  } catch (const motet::error&) {
  }
  return 0;
}
