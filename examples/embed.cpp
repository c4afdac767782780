// SPDX-License-Identifier: Apache-2.0

// Features of a folder's pictures and of a file's lines by a run of train_clip; or of a Hugging Face CLIP
// model, logits of a language model, which may see, or rows of Whisper's encoder. Such a model's header is
// made when this program is built (-DMOTET_EMBED_HF=DIR); weights are read at run time.
#include "embed/saved_features.hpp"
#include "hf_program.hpp"

#include <charconv>
#include <limits>
#include <thread>

namespace motet::embed {
namespace {

constexpr const char* usage =
    "embed --checkpoint RUN [--images DIR] [--texts FILE] --output Y.safetensors [--tokenizer FILE] "
    "[--threads N] [--batch N]\n"
    "embed --weights DIR [--adapters DIR] --input X.safetensors --output Y.safetensors [--threads N] "
    "[--batch N]\n"
    "embed --weights DIR [--adapters DIR] --sounds DIR --output Y.safetensors [--threads N] [--batch N]\n"
    "\n"
    "Of a run of train_clip Y gets image_embeds, rows of length one for the PNG, JPEG and PPM files below "
    "DIR in the order of their paths, and text_embeds, such rows for the lines of FILE. Paths and lines "
    "stand "
    "in its metadata as lists (files, texts). Pictures that cannot be read are named and skipped.\n"
    "For a CLIP model X holds pixel_values (pictures, channels, side, side), already normalised, or "
    "input_ids "
    "(captions, tokens), or both; Y gets image_embeds and text_embeds, rows of length one.\n"
    "For a language model X holds input_ids (samples, tokens), and pixel_values where it sees, with a "
    "placeholder for each row of each picture; Y gets logits (samples x tokens, vocabulary).\n"
    "For Whisper's encoder X holds input_features (sounds, bins, frames); Y gets last_hidden_state (sounds, "
    "rows, width). Or DIR holds WAV and FLAC files, whose paths then stand in the metadata of Y (files).\n"
    "\n"
    "  --checkpoint RUN   a run of which the newest checkpoint is taken, or one checkpoint\n"
    "  --images DIR    pictures in this folder and below\n"
    "  --texts FILE    texts, each a line; what is longer than the model takes is cut as in training\n"
    "  --tokenizer FILE   default: tokenizer.json in the run\n"
    "  --weights DIR   the model that this program was built for: config.json and model.safetensors, in one "
    "file or several\n"
    "  --sounds DIR    sounds in this folder and below\n"
    "  --adapters DIR  LoRA adapters that the weights get, as the peft package saves them\n"
    "  --threads N     default: all cores\n"
    "  --batch N       samples computed at once (default 32)\n";

options read_options(int count, char** words) {
  options out;
  read_hf_flags(count, words, [&](const std::string& flag, auto&& value) {
    const auto number = [&] {
      const std::string text = value();
      int parsed = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (failed != std::errc{} || end != text.data() + text.size() || parsed < 1 || parsed > 65536)
        fail(hf_command_line, flag + " " + text + " is not a count from 1 to 65536");
      return parsed;
    };
    if (flag == "--checkpoint") out.checkpoint = value();
    else if (flag == "--images") out.images = value();
    else if (flag == "--texts") out.texts = value();
    else if (flag == "--tokenizer") out.tokenizer = value();
    else if (flag == "--weights") out.weights = value();
    else if (flag == "--adapters") out.adapters = value();
    else if (flag == "--input") out.input = value();
    else if (flag == "--sounds") out.sounds = value();
    else if (flag == "--output") out.output = value();
    else if (flag == "--threads") out.threads = number();
    else if (flag == "--batch") out.batch = number();
    else return false;
    return true;
  });
  const bool saved = !(out.checkpoint + out.images + out.texts + out.tokenizer).empty();
  if (saved && !(out.weights + out.input + out.sounds + out.adapters).empty())
    fail(hf_command_line,
         "--checkpoint goes together with --images, --texts and --tokenizer, --weights with --adapters and "
         "--input or --sounds, and not both");
  if (!out.sounds.empty() && !out.input.empty())
    fail(hf_command_line, "--input and --sounds say both what is read");
  if (!out.tokenizer.empty() && out.texts.empty())
    fail(hf_command_line, "--tokenizer is for --texts, which is missing");
  const auto demand = [](const char* flag, const std::string& given) {
    if (given.empty()) fail(hf_command_line, std::string(flag) + " is missing");
  };
  demand(saved ? "--checkpoint" : "--weights", saved ? out.checkpoint : out.weights);
  demand(saved ? "--images or --texts" : "--input or --sounds",
         saved ? out.images + out.texts : out.input + out.sounds);
  demand("--output", out.output);
  if (out.threads == 0) out.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return out;
}

void run(const options& given) {
  if (!given.checkpoint.empty()) return embed_saved(given);
  if (embed_imported == nullptr)
    fail(embed_model, "--weights " + given.weights + ", and this program was built for no folder");
  embed_imported(given);
}

}  // namespace
}  // namespace motet::embed

int main(int count, char** words) {
  return motet::hf_program(count, words, motet::embed::usage, [](int given, char** from) {
    motet::embed::run(motet::embed::read_options(given, from));
  });
}
