// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/tools/held_out/held_out.hpp>

#include <unit/data/written_set.hpp>

// Folders to train on, small ones, and a model that needs no training.

inline motet::sample_shape pair_shape() {
  return {.model = "pairs", .image = 8, .vocabulary = 300, .context = 16};
}
inline motet::sample_shape piece_shape() {
  return {.model = "pieces",
          .image = 8,
          .vocabulary = 300,
          .context = 64,
          .pieces = true,
          .rows_of_picture = 5,
          .lead = 1,
          .most_pictures = 2};
}
inline void write_vocabulary(const scratch& folder) {
  motet::write_file(folder / "tokenizer.json", motet::format_tokenizer(pairs_tokenizer()));
}

// Features of a picture are its first pixels, those of a caption the first of its tokens; all of length one.
// It says "a picture" about everything.
class plain_model final : public motet::tested_model {
 public:
  static constexpr motet::isize width = 4;
  explicit plain_model(const motet::tokenizer& words) : words_(words) {}

  void embed(const motet::pictures& batch, float* features) override {
    const motet::isize pixels = 3 * 8 * 8;
    for (motet::isize s = 0; s < batch.samples; ++s)
      put([&](motet::isize k) { return batch.pixels[s * pixels + 21 * k]; }, features + s * width);
  }
  void embed(const motet::tokens& batch, float* features) override {
    for (motet::isize s = 0; s < batch.seq.samples; ++s)
      put(
          [&](motet::isize k) {
            const motet::isize at = batch.seq.begin(s) + k;
            return at < batch.seq.begin(s + 1) ? static_cast<float>(batch.ids[at]) : 1.0f;
          },
          features + s * width);
  }
  std::vector<std::int32_t> say(const motet::pictured_tokens& sample, std::int32_t, motet::isize) override {
    ++asked;
    sounds += sample.heard.samples;
    const auto ids = words_.encode("a picture");
    return {ids.begin() + 1, ids.end() - 1};
  }
  bool says_captions() const override { return heard; }
  double loss_of(const motet::step_input& batch) override {
    const auto* const pairs = std::get_if<motet::pair_input>(&batch);
    seen.push_back(pairs != nullptr ? std::get<0>(*pairs).samples
                                    : std::get<motet::pictured_tokens>(batch).seq.samples);
    return static_cast<double>(seen.size());
  }
  double logit_scale() const override { return 10; }

  int asked = 0;
  motet::isize sounds = 0;         // of all that it was asked about
  bool heard = false;              // says captions as well
  std::vector<motet::isize> seen;  // samples of each batch whose loss was asked for

 private:
  template <class Of>
  static void put(Of&& of, float* to) {
    float sum = 0;
    for (motet::isize k = 0; k < width; ++k) sum += of(k) * of(k);
    for (motet::isize k = 0; k < width; ++k) to[k] = sum > 0 ? of(k) / std::sqrt(sum) : 0.5f;
  }
  const motet::tokenizer& words_;
};
