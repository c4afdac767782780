// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "spoken_model.hpp"

#include <motet/data/words/tokenizer.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <cstdio>

// When parts of a text are said, for a model that tells it.
namespace motet::generate {

// Whisper's vocabularies say by name where times begin; a file may leave out the times themselves.
inline time_tokens times_of(const tokenizer& words, const spoken_facts& facts,
                            const std::vector<std::int32_t>& ends) {
  const auto refuse = [&](const std::string& why) {
    fail(bad_option_value, "--timestamps: model \"" + facts.name + "\" tells no times, as " + why);
  };
  const std::vector<added_token>& added = words.description().added;
  const auto none = std::ranges::find(added, std::string("<|notimestamps|>"), &added_token::text);
  if (none == added.end()) refuse("its tokenizer has no <|notimestamps|>, behind which times stand");
  const time_tokens times{none->id + 1, ends.empty() ? 0 : std::ranges::min(ends), facts.latest_begin};
  if (times.first >= facts.vocabulary)
    refuse(sentence({"<|notimestamps|> is token ", none->id, ", and the vocabulary of ", facts.vocabulary,
                     " has none behind it"}));
  if (ends.empty() || times.words >= times.first)
    refuse("no token that ends a text stands before <|notimestamps|>");
  return times;
}

// What its tokenizer begins texts with may ask for none.
inline void ask_for_times(const time_tokens& times, prompt& after) { std::erase(after.ids, times.first - 1); }

inline void print_segment(const tokenizer& words, std::optional<timed_segment> segment) {
  if (!segment) return;
  // A model may hold more tokens than its vocabulary has.
  std::erase_if(segment->tokens, [&](std::int32_t token) { return token >= words.size(); });
  std::string text = words.decode(segment->tokens);
  text.erase(0, text.find_first_not_of(' '));
  if (text.empty()) return;
  if (segment->end) std::printf("[%.2f - %.2f] %s\n", segment->begin, *segment->end, text.c_str());
  else std::printf("[%.2f - ] %s\n", segment->begin, text.c_str());
  std::fflush(stdout);
}

}  // namespace motet::generate
