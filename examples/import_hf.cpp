// SPDX-License-Identifier: Apache-2.0

// Prints a Hugging Face model, CLIP, a language model, one that sees, or Whisper's encoder, as a C++ header: its
// configurations and module types. The weights stay where they are; embed loads them.
#include "hf_program.hpp"

#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_llava_header.hpp>
#include <motet/format/hf/hf_whisper_header.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace motet {
namespace {

constexpr const char* usage =
    "import_hf DIR [--name imported_model]\n"
    "\n"
    "Prints the model of DIR/config.json as a C++ header.\n"
    "  --name NAME   the namespace of its types\n";

void run(int count, char** words) {
  std::string folder, name = "imported_model";
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--name") {
      if (i + 1 == count) fail(hf_command_line, "--name needs a value");
      name = words[++i];
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
  const std::string header = type == "llava"       ? hf_llava_header(read_hf_llava_config(from), name)
                             : type == "whisper"   ? hf_whisper_header(read_hf_whisper_config(from), name)
                             : is_hf_decoder(type) ? hf_decoder_header(read_hf_decoder_config(from), name)
                                                   : hf_clip_header(read_hf_clip_config(from), name);
  if (std::fwrite(header.data(), 1, header.size(), stdout) != header.size() || std::fflush(stdout) != 0)
    fail(file_unwritable, "standard output");
}

}  // namespace
}  // namespace motet

int main(int count, char** words) { return motet::hf_program(count, words, motet::usage, motet::run); }
