// SPDX-License-Identifier: Apache-2.0

// Prints a Hugging Face model, CLIP, a language model, one that sees, or Whisper's encoder, as a C++ header: its
// configurations and module types. The weights stay where they are; embed loads them.
#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_llava_header.hpp>
#include <motet/format/hf/hf_whisper_header.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

constexpr const char* usage =
    "import_hf DIR [--name imported_model]\n"
    "\n"
    "Prints the model of DIR/config.json as a C++ header.\n"
    "  --name NAME   the namespace of its types\n";

int refuse(const std::string& what) {
  std::fprintf(stderr, "%s\n", motet::error(motet::hf_command_line, what).what());
  return 2;
}

}  // namespace

int main(int count, char** words) {
  std::string folder, name = "imported_model";
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (word == "--name") {
      if (i + 1 == count) return refuse("--name needs a value");
      name = words[++i];
    } else if (word.starts_with("--")) {
      return refuse("unknown flag: " + std::string(word));
    } else if (!folder.empty()) {
      return refuse("more than one folder: " + std::string(word));
    } else {
      folder = word;
    }
  }
  if (folder.empty()) return refuse("the folder of a model is missing");
  if (!motet::is_identifier(name)) return refuse("--name " + name + " cannot be the name of a namespace");
  try {
    const std::filesystem::path from(folder);
    const std::string type = motet::read_hf_model_type(from);
    const std::string header =
        type == "llava"              ? motet::hf_llava_header(motet::read_hf_llava_config(from), name)
        : type == "whisper"          ? motet::hf_whisper_header(motet::read_hf_whisper_config(from), name)
        : motet::is_hf_decoder(type) ? motet::hf_decoder_header(motet::read_hf_decoder_config(from), name)
                                     : motet::hf_clip_header(motet::read_hf_clip_config(from), name);
    if (std::fwrite(header.data(), 1, header.size(), stdout) != header.size() || std::fflush(stdout) != 0) {
      std::fputs("motet: the header cannot be written to the output\n", stderr);
      return 1;
    }
  } catch (const motet::error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
