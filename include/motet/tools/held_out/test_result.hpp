// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/tools/held_out/caption_test.hpp>
#include <motet/tools/held_out/drawing_test.hpp>
#include <motet/tools/held_out/retrieval.hpp>
#include <motet/tools/held_out/zero_shot.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// A result says how well the model recognises what it never saw: by classes, where there are any, and by
// captions; or what it says about it.
struct test_result {
  zero_shot_result classes;
  retrieval_result pairs;
  caption_result captions, sounds;  // of a model that speaks, about one picture, and about one sound
  caption_result several, texts;    // likewise, of samples with more of these than one, and with none
  drawing_result drawings;          // of a model that draws

  bool any() const {
    return classes.pictures + pairs.samples + captions.pictures + sounds.pictures + several.pictures +
               texts.pictures + drawings.pictures >
           0;
  }
};

// Shares of a test as members of a line.
inline void add_shares(json& line, const test_result& found) {
  if (found.classes.pictures > 0) line.set("zero_shot_accuracy", found.classes.accuracy());
  if (found.captions.pictures > 0) {
    line.set("caption_accuracy", found.captions.accuracy());
    line.set("caption_exact", found.captions.exact_share());
  }
  if (found.sounds.pictures > 0) line.set("sound_accuracy", found.sounds.accuracy());
  if (found.several.pictures > 0) line.set("several_exact", found.several.exact_share());
  if (found.texts.pictures > 0) line.set("text_exact", found.texts.exact_share());
  if (found.drawings.pictures > 0) line.set("drawn_nearer", found.drawings.share());
  for (std::size_t i = 0; found.pairs.samples > 0 && i < retrieval_result::within.size(); ++i) {
    const std::string within = "_within_" + std::to_string(retrieval_result::within[i]);
    line.set("caption" + within, found.pairs.picture_share(i));
    line.set("picture" + within, found.pairs.caption_share(i));
  }
}

// The same in sentences, after so many steps; there are so many classes.
inline std::vector<std::string> sentences_of(const test_result& found, isize step, isize classes) {
  std::vector<std::string> out;
  char text[200];
  if (found.classes.pictures > 0) {
    std::snprintf(text, sizeof text,
                  "zero-shot accuracy %.2f %% after step %td (%td of %td held-out pictures, %td classes)",
                  100 * found.classes.accuracy(), step, found.classes.right, found.classes.pictures, classes);
    out.emplace_back(text);
  }
  if (found.captions.pictures > 0) {
    std::snprintf(
        text, sizeof text,
        "caption accuracy %.2f %% after step %td (%td of %td held-out pictures are called what they "
        "are, %td in the very words)",
        100 * found.captions.accuracy(), step, found.captions.right, found.captions.pictures,
        found.captions.exact);
    out.emplace_back(text);
  }
  if (found.sounds.pictures > 0) {
    std::snprintf(
        text, sizeof text,
        "sound accuracy %.2f %% after step %td (%td of %td held-out sounds are called what they are)",
        100 * found.sounds.accuracy(), step, found.sounds.right, found.sounds.pictures);
    out.emplace_back(text);
  }
  for (const auto& [of, what] : {std::pair(&found.several, "with several pictures or sounds"),
                                 std::pair(&found.texts, "of text alone")}) {
    if (of->pictures == 0) continue;
    std::snprintf(text, sizeof text, "answers     %.2f %% of %td held-out samples %s, in the very words",
                  100 * of->exact_share(), of->pictures, what);
    out.emplace_back(text);
  }
  if (found.drawings.pictures > 0) {
    std::snprintf(text, sizeof text,
                  "drawings   %.2f %% nearer to the colour of their own picture than of another after step "
                  "%td (%td held-out samples; by chance 50)",
                  100 * found.drawings.share(), step, found.drawings.pictures);
    out.emplace_back(text);
  }
  if (found.pairs.samples == 0) return out;
  std::snprintf(text, sizeof text,
                "own caption among the first 1, 5, 10: %.1f, %.1f, %.1f %%; own picture: %.1f, %.1f, %.1f %% "
                "(of %td, step %td)",
                100 * found.pairs.picture_share(0), 100 * found.pairs.picture_share(1),
                100 * found.pairs.picture_share(2), 100 * found.pairs.caption_share(0),
                100 * found.pairs.caption_share(1), 100 * found.pairs.caption_share(2), found.pairs.samples,
                step);
  out.emplace_back(text);
  return out;
}

}  // namespace motet
