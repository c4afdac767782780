// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spoken_model.hpp"

#include <motet/data/pictures/square_reader.hpp>
#include <motet/data/sound/sound_reader.hpp>
#include <motet/data/words/tokenizer.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>

// Text and files of pictures to tokens and pixels.
namespace motet::generate {

// The model sees what whole patches cover of a picture; or all of it, if it takes any shape.
inline void show(const std::string& file, const spoken_facts& facts, square_reader& reader, prompt& into) {
  if (facts.shapes.any()) {
    into.grids.push_back(reader.read_shape(file, facts.shapes, facts.colours, into.pixels));
    ++into.pictures;
    return;
  }
  std::vector<float> planes(as_size(3 * facts.side * facts.side));
  reader.read(file, facts.side, facts.colours, planes.data());
  for (isize row = 0; row < 3 * facts.side; ++row) {
    if (row % facts.side >= facts.covered) continue;
    const float* const from = planes.data() + row * facts.side;
    into.pixels.insert(into.pixels.end(), from, from + facts.covered);
  }
  ++into.pictures;
}

// A sound lies beside the words, or has a place behind the pictures; of another rate, it is resampled.
inline void let_hear(const std::string& file, const spoken_facts& facts, prompt& into) {
  if (facts.frames == 0)
    fail(bad_option_value, "--sound " + file + ": model \"" + facts.name + "\" does not hear");
  sound_reader reader(facts.bins, facts.frames);
  into.features.resize(as_size(facts.bins * facts.frames));
  reader.read(file, into.features.data());
  into.sounds = 1;
  if (facts.rows_of_sound == 0) return;
  const auto last = std::find(into.ids.rbegin(), into.ids.rend(), prompt::picture).base();
  into.ids.insert(last == into.ids.begin() ? into.ids.begin() + into.begin : last, prompt::sound);
}

// A token for a picture, where the model's texts have one, stands in the prompt for each of `files` in order.
// Else pictures all come first: before a caption begins, or behind what begins a text of a language model.
inline prompt write_prompt(const tokenizer& words, const spoken_facts& facts, const std::string& text,
                           const std::vector<std::string>& files) {
  if (!files.empty() && facts.rows == 0)
    fail(bad_option_value, "--picture " + files.front() + ": model \"" + facts.name + "\" does not see");
  prompt out;
  square_reader reader;
  for (const std::string& file : files) show(file, facts, reader, out);
  const tokenizer::parts& vocabulary = words.description();
  std::vector<tokenizer::token> ids = vocabulary.before;
  tokenizer::scratch work;
  words.encode_text(text, ids, work);
  isize marks = 0;
  for (tokenizer::token& id : ids)
    if (facts.picture_token >= 0 && id == facts.picture_token) id = prompt::picture, ++marks;
  out.begin = static_cast<isize>(is_of_language_model(vocabulary.rule) ? vocabulary.before.size() : 0);
  if (marks == 0) {
    ids.insert(ids.begin() + out.begin, files.size(), prompt::picture);
  } else if (marks != out.pictures) {
    fail(bad_option_value,
         sentence({"--prompt has places for ", marks, " pictures, --picture gives ", out.pictures}));
  }
  out.ids.assign(ids.begin(), ids.end());
  return out;
}

}  // namespace motet::generate
