// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

// A rule says how a caption is cut before its bytes are merged; merges never cross a cut.
enum class piece_rule {
  // letters, digits or marks, each with the one space before them; other white space alone. Nothing is lost,
  // so decoding is exact
  spaced,
  // OpenAI's CLIP: white space only separates, digits stand alone, 's 't 're 've 'm 'll 'd are cut off
  clip,
  // Those of language models tell letters and digits of all scripts; nothing is lost.
  gpt2,    // letters, digits or marks with the one space before them; endings as clip
  llama3,  // digits by threes and alone; letters with any one character before them; line ends go with marks
  qwen2,   // the same with digits one by one
  // SentencePiece's: a text is one piece, or a piece begins at each space.
  whole,
  words,
};
constexpr bool is_of_language_model(piece_rule rule) {
  return rule != piece_rule::spaced && rule != piece_rule::clip;
}

}  // namespace motet
