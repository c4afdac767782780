// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"
#include "picture_folder.hpp"
#include "text_lines.hpp"

#include <motet/data/words/tokenizer_file.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/tools/messages.hpp>

// Features of pictures and of texts by a run of train_clip.
namespace motet::embed {

inline std::unique_ptr<saved_towers> open_saved(const checkpoint& from, int threads) {
  constexpr std::pair<const char*, decltype(&open_quick)> known[] = {{"quick", open_quick},
                                                                     {"tiny", open_tiny},
                                                                     {"small", open_small},
                                                                     {"b16", open_b16},
                                                                     {"l14", open_l14}};
  const std::string model = from.model().substr(0, from.model().find('/'));
  std::string names;
  for (const auto& [name, open] : known) {
    if (open == nullptr) continue;
    if (model == name) return open(from, threads);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  fail(hf_command_line, "--checkpoint " + from.path().string() + " has model \"" + model +
                            (model.starts_with("say-")
                                 ? "\", which says what pictures show and has no features (see generate)"
                                 : "\"; this program was compiled with " + (names.empty() ? "none" : names)));
}

// The vocabulary that the run was trained with lies in its folder.
inline tokenizer words_of(const checkpoint& from, const options& given, const saved_towers& towers) {
  const std::string file =
      given.tokenizer.empty() ? (from.path().parent_path() / "tokenizer.json").string() : given.tokenizer;
  tokenizer words = read_tokenizer(file);
  if (words.size() > towers.vocabulary())
    fail(vocabulary_mismatch, sentence({file, " has ", words.size(), " tokens, model \"", from.model(),
                                        "\" holds ", towers.vocabulary()}));
  return words;
}

inline json list_of(const std::vector<std::string>& names) {
  json out(json::array{});
  for (const std::string& each : names) out.push_back(each);
  return out;
}

// "7 features of width 128 by step 4 of quick/infonce; 1 file skipped; 2 texts cut to 32 tokens".
inline std::string told(const checkpoint& from, const saved_towers& by, const picture_features& seen,
                        const text_features& said) {
  const auto counted = [](isize count, const char* what) {
    return sentence({"; ", count, " ", what, count == 1 ? "" : "s"});
  };
  std::string out = sentence({seen.files.size() + said.texts.size(), " features of width ", by.width(),
                              " by step ", from.step(), " of ", from.model()});
  if (seen.skipped > 0) out += counted(seen.skipped, "file") + " skipped";
  if (said.cut > 0) out += counted(said.cut, "text") + sentence({" cut to ", by.context(), " tokens"});
  return out;
}

inline void embed_saved(const options& given) {
  const checkpoint from(given.checkpoint);
  const std::unique_ptr<saved_towers> towers = open_saved(from, given.threads);
  picture_features seen;
  text_features said;
  if (!given.texts.empty())
    said = embed_lines(*towers, words_of(from, given, *towers), given.texts, given.batch);
  if (!given.images.empty()) seen = embed_pictures(*towers, given.images, given.batch);

  std::vector<declared_tensor> declared;
  safetensors_writer::metadata about{{"format", "pt"}};
  const auto declare = [&](const char* name, const char* of, const std::vector<std::string>& samples) {
    if (samples.empty()) return;
    declared.push_back({name, dtype::f32, {static_cast<isize>(samples.size()), towers->width()}});
    about.emplace_back(of, write_json(list_of(samples)));
  };
  declare("image_embeds", "files", seen.files);
  declare("text_embeds", "texts", said.texts);
  about.emplace_back("model", from.model());
  about.emplace_back("step", std::to_string(from.step()));
  safetensors_writer writer(given.output, declared, about);
  if (!seen.files.empty()) writer.write("image_embeds", seen.rows.data());
  if (!said.texts.empty()) writer.write("text_embeds", said.rows.data());
  writer.commit();
  std::printf("%s: %s\n", given.output.c_str(), told(from, *towers, seen, said).c_str());
}

}  // namespace motet::embed
