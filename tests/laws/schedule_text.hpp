// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

// Scores and times as short text, so that a test shows what it expects in one line. Letters: F forward, f
// forward_only, R re_forward, B backward, I and W its two parts, S join, s join aside; then the microbatch,
// from 0; then, where it is not the rank, `.` and the stage; `+` overlaps with the next one.
namespace motet::laws {

inline constexpr char letters[] = "FfRBIWS";

inline std::string order_of(const score& of, int rank) {
  std::string text;
  for (int i = of.begin_of(rank); i < of.end_of(rank); ++i) {
    const cue it = of[i];
    if (!text.empty()) text += ' ';
    text += it.aside ? 's' : letters[static_cast<int>(it.what)];
    text += std::to_string(it.microbatch);
    if (it.what != op::join && it.stage != rank) text += "." + std::to_string(it.stage);
    if (it.paired) text += '+';
  }
  return text;
}

// Adds the order of one more rank. A stage that is not said is the rank's own number.
inline void play(score& to, const std::string& order, int voice = 0, int stage = -1) {
  to.rank();
  std::istringstream words(order);
  for (std::string word; words >> word;) {
    std::size_t end = 0;
    const int microbatch = std::stoi(word.substr(1), &end);
    const int own = word.find('.') == std::string::npos ? (stage < 0 ? to.ranks() - 1 : stage)
                                                        : std::stoi(word.substr(word.find('.') + 1));
    const auto letter = std::string(letters).find(word[0]);
    if (word[0] == 'S' || word[0] == 's') to.join(0, microbatch, word[0] == 's');
    else to.play(static_cast<op>(letter), voice, own, microbatch);
    if (word.back() == '+') to.pair_with_next();
  }
}
// Stage s of the voice on rank s.
inline score written(const voice& of, const std::vector<std::string>& orders) {
  score made;
  made.add(of, [](int stage) { return stage; });
  for (const std::string& each : orders) play(made, each);
  return made;
}
inline voice a_voice(int stages, int microbatches, int join = -1, int group = 1) {
  voice made;
  made.stages = stages;
  made.microbatches = microbatches;
  made.join = join;
  made.group = group;
  return made;
}

// The computations of a rank as "F0@0 F1@1 B0@4", with numbers as short as they are.
inline std::string times_of(const program& of, const timeline& when, int rank) {
  std::ostringstream text;
  const char* gap = "";
  for (int i = of.starts[rank]; i < of.starts[rank + 1]; ++i) {
    const instruction& it = of.instructions[i];
    if (!is_compute(it.what)) continue;
    text << gap << letters[static_cast<int>(it.what)] << it.microbatch << '@' << when.start[i];
    gap = " ";
  }
  return text.str();
}

// "F1-7@0-6 B1@14" of the papers, which count from 1, as "F0@0 F1@1 ... B0@14".
inline std::string from_paper(const std::string& table) {
  std::istringstream words(table);
  std::ostringstream text;
  const char* gap = "";
  for (std::string word; words >> word;) {
    const auto at = word.find('@'), dash = word.find('-');
    const int first = std::stoi(word.substr(1)), last = dash < at ? std::stoi(word.substr(dash + 1)) : first;
    const int start = at == std::string::npos ? -1 : std::stoi(word.substr(at + 1));
    for (int k = first; k <= last; ++k, gap = " ") {
      text << gap << word[0] << k - 1;
      if (start >= 0) text << '@' << start + k - first;
    }
  }
  return text.str();
}

}  // namespace motet::laws
