// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"
#include "saved_towers.hpp"

#include <motet/data/make/listing.hpp>
#include <motet/data/pictures/square_reader.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/format/text/json_write.hpp>

#include <cstdio>
#include <span>

// Features of the pictures in a folder, by a run of train_clip.
namespace motet::embed {

inline std::unique_ptr<saved_tower> open_saved(const checkpoint& from, int threads) {
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

// Files that cannot be read are named and left out.
inline void embed_folder(const options& given) {
  const checkpoint from(given.checkpoint);
  const std::unique_ptr<saved_tower> tower = open_saved(from, given.threads);
  const std::vector<std::filesystem::path> files = pictures_below(given.images);
  const isize side = tower->side(), width = tower->width(), pixels = 3 * side * side;
  std::vector<float> shown(as_size(given.batch * pixels)), features;
  std::vector<std::string> names;
  isize waiting = 0;
  const auto flush = [&] {
    features.resize(as_size(static_cast<isize>(names.size()) * width));
    tower->embed(shown.data(), waiting, features.data() + features.size() - waiting * width);
    waiting = 0;
  };
  square_reader reader;
  for (const std::filesystem::path& each : files) {
    try {
      reader.read(each.string(), side, {}, shown.data() + waiting * pixels);
    } catch (const error& problem) {
      std::fprintf(stderr, "skipped: %s\n", problem.what());
      continue;
    }
    names.push_back(each.lexically_relative(given.images).generic_string());
    if (++waiting == given.batch) flush();
  }
  if (waiting > 0) flush();
  if (names.empty()) fail(no_samples, given.images + ": none of its pictures can be read");

  const auto count = static_cast<isize>(names.size());
  json listed(json::array{});
  for (const std::string& each : names) listed.push_back(each);
  safetensors_writer writer(given.output, {{"image_embeds", dtype::f32, {count, width}}},
                            {{"format", "pt"},
                             {"files", write_json(listed)},
                             {"model", from.model()},
                             {"step", std::to_string(from.step())}});
  writer.write("image_embeds", features.data());
  writer.commit();
  std::printf("%s: %td features of width %td by step %lld of %s", given.output.c_str(), count, width,
              static_cast<long long>(from.step()), from.model().c_str());
  const auto skipped = static_cast<isize>(files.size()) - count;
  std::printf("%s\n", skipped == 0
                          ? ""
                          : sentence({"; ", skipped, skipped == 1 ? " file" : " files", " skipped"}).c_str());
}

}  // namespace motet::embed
