// SPDX-License-Identifier: Apache-2.0

// Any text is refused, or its configuration gives a header, a list of tensors, and itself when written and
// read again.
#include <motet/format/hf/hf_llava_header.hpp>
#include <motet/format/hf/hf_llava_write.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    auto config =
        motet::read_hf_llava_config(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    if (motet::hf_llava_header(config, "fuzzed").empty()) std::abort();
    // Layers that are not seen are not written.
    config.eye.layers = config.seen;
    const std::string text = motet::write_hf_llava_config(config);
    if (motet::write_hf_llava_config(motet::read_hf_llava_config(text, "again")) != text) std::abort();
    if (config.words.layers < 1000 && config.seen < 1000 && motet::hf_llava_tensors(config).empty())
      std::abort();
  } catch (const motet::error&) {
  }
  return 0;
}
