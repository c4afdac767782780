// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/decode.hpp>
#include <motet/data/shards/tar_writer.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/tensor/random.hpp>

#include <unit/format/scratch.hpp>

#include <functional>

// Small picture sets for the tests.

inline motet::bitmap noise_picture(motet::isize width, motet::isize height, std::uint64_t seed) {
  motet::bitmap made{width, height, {}};
  const motet::random_stream draws(seed, "pixels");
  for (motet::isize i = 0; i < width * height * 3; ++i)
    made.pixels.push_back(static_cast<std::uint8_t>(draws.below(static_cast<std::uint64_t>(i), 256)));
  return made;
}

struct made_sample {
  std::string key, picture, caption;
};

// `change` may damage a sample before it is written; an empty picture or caption is left out.
inline std::string write_pairs(const scratch& folder, const std::string& name, motet::isize first,
                               motet::isize count,
                               const std::function<void(motet::isize, made_sample&)>& change = {}) {
  const std::string path = (folder / name).string();
  motet::tar_writer tar(path);
  for (motet::isize i = first; i < first + count; ++i) {
    made_sample made{"pair" + std::to_string(i),
                     motet::encode_ppm(noise_picture(9 + i % 3, 8, static_cast<std::uint64_t>(i))),
                     "a picture of number " + std::to_string(i) + (i % 4 == 0 ? " on the left" : "")};
    if (change) change(i, made);
    if (!made.picture.empty()) tar.add(made.key + ".ppm", made.picture);
    if (!made.caption.empty()) tar.add(made.key + ".txt", made.caption);
  }
  tar.finish();
  tar.commit();
  return path;
}

inline motet::tokenizer pairs_tokenizer() {
  motet::tokenizer_trainer trainer;
  for (int i = 0; i < 50; ++i) trainer.add("a picture of number " + std::to_string(i) + " on the left");
  return trainer.train(300);
}

// The code of the error that `work` throws, or nothing.
inline std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const motet::error& problem) {
    return problem.code();
  }
  return {};
}

inline std::span<const std::uint8_t> bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
