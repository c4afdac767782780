// SPDX-License-Identifier: Apache-2.0

// Prints a Hugging Face model, CLIP, a language model, one that sees, or Whisper, as a C++ header: its
// configurations and module types. The weights stay where they are; embed loads them.
#include "hf_program.hpp"

#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_llava_header.hpp>
#include <motet/format/hf/hf_whisper_header.hpp>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

namespace motet {
namespace {

constexpr const char* usage =
    "import_hf DIR [--name imported_model] [--image SIDE]\n"
    "\n"
    "Prints the model of DIR/config.json as a C++ header.\n"
    "  --name NAME   the namespace of its types\n"
    "  --image SIDE  pictures have so many pixels a side, and positions are interpolated to their patches\n";

// The side of pictures of a model that sees, where it is told.
template <class Config>
isize side_for(const Config& config, isize side) {
  if (side > 0 && side < config.patch)
    fail(hf_command_line, sentence({"--image ", side, " is less than a patch, ", config.patch}));
  return side;
}

void run(int count, char** words) {
  std::string folder, name = "imported_model";
  isize side = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--name") {
      if (i + 1 == count) fail(hf_command_line, "--name needs a value");
      name = words[++i];
    } else if (word == "--image") {
      const std::string_view value = i + 1 == count ? "" : words[++i];
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), side);
      if (failed != std::errc() || end != value.data() + value.size() || side <= 0)
        fail(hf_command_line, "--image needs a side in pixels");
    } else if (word.starts_with("--")) {
      fail(hf_command_line, "unknown flag: " + std::string(word));
    } else if (!folder.empty()) {
      fail(hf_command_line, "more than one folder: " + std::string(word));
    } else {
      folder = word;
    }
  }
  if (folder.empty()) fail(hf_command_line, "the folder of a model is missing");
  if (!is_identifier(name)) fail(hf_command_line, "--name " + name + " cannot be the name of a namespace");
  const std::filesystem::path from(folder);
  const std::string type = read_hf_model_type(from);
  if (side > 0 && (type == "whisper" || is_hf_decoder(type)))
    fail(hf_command_line, "--image is for models that see, and this is " + type);
  const auto header_of = [&] {
    if (type == "whisper") return hf_whisper_header(read_hf_whisper_config(from), name);
    if (is_hf_decoder(type)) return hf_decoder_header(read_hf_decoder_config(from), name);
    if (type == "llava") {
      const hf_llava_config config = read_hf_llava_config(from);
      return hf_llava_header(config, name, side_for(config, side));
    }
    const hf_clip_config config = read_hf_clip_config(from);
    return hf_clip_header(config, name, side_for(config, side));
  };
  const std::string header = header_of();
  if (std::fwrite(header.data(), 1, header.size(), stdout) != header.size() || std::fflush(stdout) != 0)
    fail(file_unwritable, "standard output");
}

}  // namespace
}  // namespace motet

int main(int count, char** words) { return motet::hf_program(count, words, motet::usage, motet::run); }
