// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/schedule/core/program.hpp>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

// These say what ranks, modules and instructions are called in a drawing, and how it writes numbers.

namespace motet {
namespace detail {

// The letters of the papers and of schedule files. Capitals make or bring something, small letters are their
// lesser twins.
constexpr char letter_of(op what) {
  constexpr char letters[] = "FfRBIWS><><><AGgULOo";
  return letters[static_cast<int>(what)];
}
constexpr const char* words_of(op what) {
  constexpr const char* words[] = {
      "forward",          "forward only",   "forward again", "backward",     "backward input",
      "backward weights", "join",           "send rows",     "receive rows", "send rows again",
      "receive again",    "send gradients", "get gradients", "reduce",       "gather",
      "release",          "update",         "load",          "offload",      "fetch"};
  return words[static_cast<int>(what)];
}

// A number has six digits at most, and is never written in the manner of a locale.
inline std::string short_number(double value) {
  char text[32];
  return {text,
          std::to_chars(text, text + sizeof text, value == 0 ? 0 : value, std::chars_format::general, 6).ptr};
}
inline std::string percent(double share) {
  char text[32];
  share = share > 10 ? 10 : share < -10 ? -10 : share;
  return std::string(text,
                     std::to_chars(text, text + sizeof text, 100 * share, std::chars_format::fixed, 1).ptr) +
         " %";
}
// 1, 2 or 5 times a power of ten, and not below `least`.
inline double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1, 2, 5})
    if (least <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

// A name as UTF-8 without control characters, whatever its bytes: a label may end in the middle of a letter.
inline std::string clean_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto byte = [&](std::size_t k) {
      return i + k < name.size() ? static_cast<unsigned char>(name[i + k]) : 0u;
    };
    const unsigned lead = byte(0), second = byte(1);
    const std::size_t size = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
    bool good = size > 1 || (lead >= 0x20 && lead < 0x7f);
    for (std::size_t k = 1; k < size; ++k) good = good && byte(k) >> 6 == 2;
    if (lead == 0xe0 || lead == 0xf0) good = good && second >= (lead == 0xe0 ? 0xa0u : 0x90u);
    if (lead == 0xed || lead == 0xf4) good = good && second < (lead == 0xed ? 0xa0u : 0x90u);
    if (lead == 0xef) good = good && !(second == 0xbf && byte(2) >= 0xbe);
    if (good) out += name.substr(i, size);
    else out += '?';
    i += good ? size : 1;
  }
  return out;
}
inline isize letters_in(std::string_view text) {
  isize count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) >> 6 == 2) ? 0 : 1;
  return count;
}

// The names in one picture.
class drawn_names {
 public:
  // Microbatches are counted from `first`.
  drawn_names(const program& of, int first)
      : of_(of), first_(first), heads_(of.ranks()), marks_(of.places.size()), chunks_(of.places.size(), 0) {
    list<std::int32_t> voices_on(of.ranks(), 0), stages_on(of.ranks(), 0);
    for (std::int32_t v = 0; v < of.voices.size(); ++v) {
      const voice& each = of.voices[v];
      for (std::int32_t s = 0; s < each.stages; ++s) stages_on[of.place(each, s)] = 0;
      for (std::int32_t s = 0; s < each.stages; ++s) {
        const std::int32_t rank = of.place(each, s), before = stages_on[rank]++;
        chunks_[each.first_place + s] = before;
        if (before == 0) ++voices_on[rank];
        add_to_head(heads_[rank], v, s, before);
      }
      for (std::int32_t s = 0; s < each.stages; ++s)
        if (stages_on[of.place(each, s)] > 1) marks_[each.first_place + s] = std::to_string(s);
    }
    for (std::int32_t v = 0; v < of.voices.size(); ++v) {
      const voice& each = of.voices[v];
      for (std::int32_t s = 0; s < each.stages; ++s) {
        if (voices_on[of.place(each, s)] < 2) continue;
        marked_ = true;
        std::string& mark = marks_[each.first_place + s];
        mark = voice_mark(v) + mark;
      }
    }
    // One module, and stage s on rank s: nothing to say.
    if (of.voices.size() != 1 || !of.voices[0].name.view().empty() || of.places.size() != of.ranks()) return;
    for (std::int32_t r = 0; r < of.ranks(); ++r)
      if (of.places[r] != r) return;
    for (std::string& each : heads_) each.clear();
  }

  // "picture"; "" where there is only one and it has no name.
  std::string module(std::int32_t number) const {
    const voice& of = of_.voices[number];
    std::string text = clean_name(of.name.view());
    if (text.empty() && of_.voices.size() > 1) text = "module " + std::to_string(of.module);
    if (of.replica > 0) text += "/" + std::to_string(of.replica);
    if (of.shards > 1) text += "." + std::to_string(of.shard);
    return text;
  }
  // "picture stage 0,4": what a rank holds.
  const std::string& head(std::int32_t rank) const { return heads_[rank]; }
  // Stages of its voice on the same rank that come before.
  std::int32_t chunk(std::int32_t place) const { return chunks_[place]; }
  // This tells apart the stages, voices or joins of one rank; "" where there is one.
  std::string mark(const instruction& it) const {
    if (it.what == op::join) return of_.joins > 1 ? std::to_string(it.voice) : "";
    const isize at = place(it);
    return at < 0 ? "" : marks_[at];
  }
  // "F3"; where a rank holds several stages "4F3", where it holds several voices "b4F3".
  std::string label(const instruction& it) const { return mark(it) + letter_of(it.what) + number(it); }
  std::string number(const instruction& it) const {
    return it.microbatch < 0 ? "" : std::to_string(std::int64_t{it.microbatch} + first_);
  }
  // Labels may name voices, in these ways.
  bool marked() const { return marked_; }
  static std::string voice_mark(std::int32_t number) {
    return number < 26 ? std::string(1, static_cast<char>('a' + number)) : std::to_string(number) + ":";
  }
  // The place of an instruction among program::places; -1 where it has none.
  isize place(const instruction& it) const {
    if (it.what == op::join || it.voice < 0 || it.voice >= of_.voices.size()) return -1;
    const voice& of = of_.voices[it.voice];
    return it.stage < 0 || it.stage >= of.stages ? -1 : of.first_place + it.stage;
  }

 private:
  // "picture stage 0,4,8,12..; caption stage 3".
  void add_to_head(std::string& head, std::int32_t voice, std::int32_t stage, std::int32_t before) const {
    constexpr std::int32_t most_listed = 4;
    if (before == 0) {
      const std::string name = module(voice);
      head += sentence({(head.empty() ? "" : "; "), name, (name.empty() ? "stage " : " stage "), stage});
    } else if (before <= most_listed) {
      head += before < most_listed ? "," + std::to_string(stage) : "..";
    }
  }

  const program& of_;
  std::int64_t first_;
  list<std::string> heads_, marks_;
  list<std::int32_t> chunks_;
  bool marked_ = false;
};

}  // namespace detail
}  // namespace motet
