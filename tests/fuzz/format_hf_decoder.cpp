// SPDX-License-Identifier: Apache-2.0

// Any text is refused, or its configuration gives a header, a list of tensors, and itself when written and
// read again.
#include <motet/format/hf/hf_decoder_header.hpp>
#include <motet/format/hf/hf_decoder_write.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto config =
        motet::read_hf_decoder_config(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    if (motet::hf_decoder_header(config, "fuzzed").empty()) std::abort();
    const std::string text = motet::write_hf_decoder_config(config);
    if (motet::write_hf_decoder_config(motet::read_hf_decoder_config(text, "again")) != text) std::abort();
    if (config.layers < 1000 && motet::hf_decoder_tensors(config).empty()) std::abort();
  } catch (const motet::error&) {
  }
  return 0;
}
