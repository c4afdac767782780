// SPDX-License-Identifier: Apache-2.0

// Goes on with a text, or says what pictures show or a sound is about: by a checkpoint of train_vlm, or by a
// Hugging Face model that this program was built for.
#include "generate/prompt.hpp"
#include "generate/timestamps.hpp"

#include <motet/data/words/tokenizer_file.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>
#include <optional>
#include <thread>

namespace motet::generate {
namespace {

struct settings {
  std::string checkpoint, weights, adapters, tokenizer, prompt, sound, precision = "fp32";
  std::vector<std::string> pictures;
  isize most = 256, top_k = 0, threads = 0;
  double temperature = 0, top_p = 1;
  std::uint64_t seed = 1;
  bool quiet = false, ema = false, timestamps = false;
};

options command_line(settings& s) {
  options line("generate", "goes on with a text, or says what pictures show or what is heard");
  line.text("--checkpoint", s.checkpoint, "DIR",
            "a run of train_vlm, of which the newest checkpoint is taken, or one checkpoint");
  line.text("--weights", s.weights, "DIR",
            "or the Hugging Face folder that this program was built for (-DMOTET_EMBED_HF=DIR)");
  line.text("--adapters", s.adapters, "DIR",
            "with --weights: LoRA adapters that they get, as the peft package saves them");
  line.texts("--picture", s.pictures, "FILE", "PNG, JPEG or PPM; several times for several pictures");
  line.text("--sound", s.sound, "FILE", "WAV or FLAC, for a model that hears, such as Whisper");
  line.flag("--timestamps", s.timestamps,
            "with --sound: when each part of the text is said, in seconds, for models such as Whisper");
  line.text("--prompt", s.prompt, "TEXT", "what is gone on with");
  line.count("--most", s.most, 1, "tokens to say, unless one ends the text before");
  line.real("--temperature", s.temperature, 0, 1e6, "0: always the likeliest token");
  line.count("--top-k", s.top_k, 0, "only so many of the likeliest tokens; 0: all");
  line.real("--top-p", s.top_p, 1e-6, 1,
            "only the likeliest that have this much of the probability together");
  line.count("--seed", s.seed, "other seeds draw other tokens");
  line.choice("--precision", s.precision, {"fp32", "bf16"}, "of products; bf16 reads half as much");
  line.count("--threads", s.threads, 0, 65536, "0: all cores");
  line.text("--tokenizer", s.tokenizer, "FILE", "default: tokenizer.json beside the weights, or in the run");
  line.flag("--ema", s.ema,
            "of a checkpoint: the moving averages of the weights, not those of the last step");
  line.flag("--quiet", s.quiet, "the text alone");
  return line;
}

struct known_model {
  const char* name;
  std::unique_ptr<spoken_model> (*make)(const model_request&);
};
constexpr known_model known_models[] = {{"say-quick", make_say_quick},
                                        {"say-quick-glue", make_say_quick},
                                        {"say-quick-adapted", make_say_quick_adapted},
                                        {"say-quick-joined", make_say_quick_joined},
                                        {"say-quick-experts", make_say_quick_experts},
                                        {"sense-quick", make_sense_quick},
                                        {"say-small", make_say_small}};

std::unique_ptr<spoken_model> open_saved(const model_request& wanted) {
  const std::string& model = wanted.saved->model();
  std::string names;
  for (const known_model& each : known_models) {
    if (each.make == nullptr) continue;
    if (model.substr(0, model.find('/')) == each.name) return each.make(wanted);
    names += std::string(names.empty() ? "" : ", ") + each.name;
  }
  fail(bad_option_value, "--checkpoint " + wanted.saved->path().string() + " has model \"" + model +
                             "\"; this program was compiled with " + (names.empty() ? "none" : names));
}

void run(const settings& s) {
  if (s.checkpoint.empty() == s.weights.empty())
    fail(s.weights.empty() ? option_missing : bad_option_value, "one of --checkpoint and --weights");
  if (!s.adapters.empty() && s.weights.empty()) fail(option_missing, "--adapters needs --weights");
  if (s.timestamps && s.sound.empty()) fail(option_missing, "--timestamps needs --sound");
  model_request wanted;
  wanted.threads = s.threads > 0 ? static_cast<int>(s.threads)
                                 : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  wanted.rounded = s.precision == "bf16";
  if (s.ema) wanted.which = weights_of::averages;
  std::optional<checkpoint> saved;
  std::unique_ptr<spoken_model> model;
  std::filesystem::path vocabulary = s.tokenizer;
  if (!s.checkpoint.empty()) {
    saved.emplace(s.checkpoint);
    wanted.saved = &*saved;
    if (vocabulary.empty()) vocabulary = saved->path().parent_path() / "tokenizer.json";
    model = open_saved(wanted);
  } else {
    if (make_imported == nullptr)
      fail(bad_option_value, "--weights " + s.weights +
                                 ", in a program that was built for no such folder; build it with "
                                 "-DMOTET_EMBED_HF=" +
                                 s.weights);
    wanted.folder = s.weights;
    wanted.adapters = s.adapters;
    if (vocabulary.empty()) vocabulary = wanted.folder / "tokenizer.json";
    model = make_imported(wanted);
  }
  const tokenizer words = read_tokenizer(vocabulary.string());
  prompt after = write_prompt(words, model->facts(), s.prompt, s.pictures);
  if (!s.sound.empty()) let_hear(s.sound, model->facts(), after);
  else if (model->facts().frames > 0 && model->facts().rows_of_sound == 0)
    fail(option_missing, "--sound, what model \"" + model->facts().name + "\" is to hear");
  std::vector<std::int32_t> ends = model->facts().ends;
  if (ends.empty() && words.end_token() >= 0) ends.push_back(words.end_token());

  saying how;
  how.most = s.most;
  how.temperature = static_cast<float>(s.temperature);
  how.top_k = s.top_k;
  how.top_p = static_cast<float>(s.top_p);
  how.seed = s.seed;
  if (s.timestamps) how.times = times_of(words, model->facts(), ends), ask_for_times(how.times, after);
  std::vector<tokenizer::token> heard;
  std::string told;
  timed_segments segments(how.times);
  const said_tokens said = model->say(after, how, [&](std::int32_t token) {
    if (std::find(ends.begin(), ends.end(), token) != ends.end()) return false;
    if (s.timestamps) {
      print_segment(words, segments.hear(token));
      return true;
    }
    // A model may hold more tokens than its vocabulary has.
    if (token < words.size()) heard.push_back(token);
    // The letters that a token adds may depend on those before it.
    std::string all = words.decode(heard);
    if (all.size() > told.size()) std::fwrite(all.data() + told.size(), 1, all.size() - told.size(), stdout);
    std::fflush(stdout);
    told = std::move(all);
    return true;
  });
  if (s.timestamps) print_segment(words, segments.finish());
  else std::fputc('\n', stdout);
  if (s.quiet) return;
  std::fprintf(stderr, "%zu tokens behind %td rows: the first after %.1f ms, then %.1f tokens/s\n",
               said.tokens.size(), said.prompt, 1e3 * said.prompt_seconds, said.tokens_per_second());
}

int main(int count, char** words) {
  try {
    settings s;
    options line = command_line(s);
    if (!line.parse(count, words))
      return std::fputs((line.help() + exit_table()).c_str(), stdout) < 0 ? 1 : 0;
    run(s);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& problem) {
    return report_failure(problem, "generate");
  }
}

}  // namespace
}  // namespace motet::generate

int main(int count, char** words) { return motet::generate::main(count, words); }
