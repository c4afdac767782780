// SPDX-License-Identifier: Apache-2.0

// Any text is refused, or its configuration gives a header, a list of tensors, and itself when written and
// read again.
#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_clip_write.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto config =
        motet::read_hf_clip_config(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    if (motet::hf_clip_header(config, "fuzzed").empty()) std::abort();
    if (!motet::same_net(config, motet::read_hf_clip_config(motet::write_hf_clip_config(config), "again")))
      std::abort();
    if (config.vision.layers + config.text.layers < 1000 && motet::hf_clip_tensors(config).empty())
      std::abort();
  } catch (const motet::error&) {
  }
  return 0;
}
