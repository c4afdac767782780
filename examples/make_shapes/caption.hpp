// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene.hpp"

#include <string>

namespace motet::shapes {

inline std::string with_article(const std::string& words) {
  return (std::string_view("aeiou").find(words[0]) != std::string_view::npos ? "an " : "a ") + words;
}

inline std::string describe(dice& roll, const scene& shown) {
  const colour& hue = colours[shown.hue];
  const shape& form = shapes[shown.form];
  const isize word = roll.chance(0.75f) ? 0 : roll.chance(0.8f) ? 0 : 1;
  std::string object = roll.chance(0.7f) ? hue.words[0] : hue.words[1 + roll.below(2)];
  object += " ";
  object += shown.number > 1 ? form.plurals[word] : form.words[word];
  if (*shown.size_word != '\0' && roll.chance(0.4f)) {
    const bool small = shown.size_word[0] == 's';
    object = std::string(roll.chance(0.7f) ? shown.size_word : small ? "little" : "big") + " " + object;
  }
  const std::string subject =
      shown.number > 1 ? std::string(numbers[shown.number]) + " " + object : with_article(object);
  const std::string where = shown.number > 1 ? "" : std::string(" ") + places[shown.where].word;
  const backdrop& behind = backdrops[shown.backdrop_kind];
  const std::string kind =
      std::string(behind.words[roll.chance(0.7f) ? 0 : 1]) + " " + grounds[shown.ground_kind].word;
  const std::string on = (roll.chance(0.7f) ? " on " : " over ") + with_article(kind) + " background";
  // Half of the captions name the object alone: were there always more to tell captions apart by, shapes
  // would be learnt last.
  switch (roll.below(12)) {
    case 0:
    case 1:
    case 2: return "a photo of " + subject;
    case 3: return "a picture of " + subject;
    case 4: return "a drawing of " + subject;
    case 5: return "an image showing " + subject;
    case 6: return "a photo of " + subject + where;
    case 7: return subject + where;
    case 8: return "a picture of " + subject + on;
    case 9: return subject + on;
    case 10: return "an image showing " + subject + where + on;
    default: return (shown.number > 1 ? "there are " : "there is ") + subject + where + on;
  }
}

// Any of the words of a class.
inline std::string synonym(dice& roll, isize class_id) {
  const colour& hue = colours[class_id / shape_count];
  const shape& form = shapes[class_id % shape_count];
  return std::string(hue.words[roll.below(3)]) + " " + form.words[roll.below(2)];
}

inline std::string class_name(isize class_id) {
  return std::string(colours[class_id / shape_count].words[0]) + " " +
         shapes[class_id % shape_count].words[0];
}
inline std::string class_caption(isize class_id) {
  return "a photo of " + with_article(class_name(class_id));
}

}  // namespace motet::shapes
