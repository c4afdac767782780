// SPDX-License-Identifier: Apache-2.0

// Features of a Hugging Face CLIP model, or logits of a language model, which may see. The model's header is
// made when this program is built (-DMOTET_EMBED_HF=DIR); its weights are read at run time.
#include "embed/language.hpp"
#include "embed/pairs.hpp"
#include "embed/seeing.hpp"
#include "hf_program.hpp"

#include <imported_model.hpp>

#include <charconv>
#include <limits>
#include <thread>

namespace motet::embed {
namespace {

constexpr const char* usage =
    "embed --weights DIR --input X.safetensors --output Y.safetensors [--threads N] [--batch N]\n"
    "\n"
    "For a CLIP model X holds pixel_values (pictures, channels, side, side), already normalised, or "
    "input_ids "
    "(captions, tokens), or both; Y gets image_embeds and text_embeds, rows of length one.\n"
    "For a language model X holds input_ids (samples, tokens), and pixel_values where it sees, with a "
    "placeholder for each row of each picture; Y gets logits (samples x tokens, vocabulary).\n"
    "\n"
    "  --weights DIR   the model that this program was built for: config.json and model.safetensors, in one "
    "file or several\n"
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
    if (flag == "--weights") out.weights = value();
    else if (flag == "--input") out.input = value();
    else if (flag == "--output") out.output = value();
    else if (flag == "--threads") out.threads = number();
    else if (flag == "--batch") out.batch = number();
    else return false;
    return true;
  });
  for (const auto& [flag, given] : {std::pair("--weights", &out.weights), std::pair("--input", &out.input),
                                    std::pair("--output", &out.output)}) {
    if (given->empty()) fail(hf_command_line, std::string(flag) + " is missing");
  }
  if (out.threads == 0) out.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return out;
}

template <class Model>
void run(const options& given) {
  using net = typename Model::template module_at<0>::net;
  if constexpr (requires { net::most_pictures; }) speak_of_pictures<Model>(given);
  else if constexpr (is_own_loss<typename Model::loss>) speak<Model>(given);
  else embed_pairs<Model>(given);
}

}  // namespace
}  // namespace motet::embed

int main(int count, char** words) {
  return motet::hf_program(count, words, motet::embed::usage, [](int given, char** from) {
    motet::embed::run<imported_model::model>(motet::embed::read_options(given, from));
  });
}
