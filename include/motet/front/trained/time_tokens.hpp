// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace motet {

// A model that hears, such as Whisper, may say when: some of its tokens are times, each a fiftieth of a
// second later than the one before it. The token in front of the first, <|notimestamps|>, asks for none.
struct time_tokens {
  std::int32_t first = -1;  // says 0.00 seconds, and all behind it are times; negative: no times are said
  std::int32_t words = 0;   // tokens below it are words; of those from it on, one ends a text
  isize latest_begin = 50;  // the first segment begins so many fiftieths into the sound, or before

  bool told() const { return first >= 0; }
  bool is_time(std::int32_t token) const { return told() && token >= first; }
  double seconds(std::int32_t time) const { return (time - first) / 50.0; }
};

// Leaves of the logits of a next token those that may follow what was said since the prompt; all others
// become the lowest number there is, but for those that are not finite, which choosing a token refuses.
// A text is segments, each a time, words, and a later time. The next one begins at the time where one ended,
// or later. Where all times together are likelier than any other token, one of them is said.
// Asks for: times that are told, 0 <= words < first; one logit for each token of the vocabulary.
// Memory: none.
// Errors: none of its own.
// Example:
//   // A time of the first second, whatever else is likely.
//   void begin(std::span<float> logits) { keep_timely(logits, {}, {.first = 50364, .words = 50257}); }
template <class T>
void keep_timely(std::span<T> logits, std::span<const std::int32_t> said, const time_tokens& times) {
  const isize end = std::ssize(logits), first = times.first;
  const auto mute = [&](isize from, isize to) {
    for (isize i = from; i < std::min(to, end); ++i)
      if (std::isfinite(static_cast<double>(logits[as_size(i)])))
        logits[as_size(i)] = std::numeric_limits<T>::lowest();
  };
  if (said.empty()) {
    mute(0, first);
    return mute(first + times.latest_begin + 1, end);
  }
  mute(first - 1, first);
  const bool behind_time = times.is_time(said.back());
  if (behind_time && (said.size() == 1 || times.is_time(said[said.size() - 2]))) return mute(first, end);
  if (behind_time) mute(0, times.words);
  isize earliest = first;
  for (const std::int32_t token : said)  // the next segment may begin where one ended, none may end there
    if (times.is_time(token)) earliest = behind_time ? token : token + 1;
  mute(first, earliest);

  double best = std::numeric_limits<double>::lowest(), top = best, likely = 0;
  for (isize i = 0; i < std::min(first, end); ++i)
    best = std::max(best, static_cast<double>(logits[as_size(i)]));
  for (isize i = earliest; i < end; ++i) top = std::max(top, static_cast<double>(logits[as_size(i)]));
  for (isize i = earliest; i < end; ++i) likely += std::exp(static_cast<double>(logits[as_size(i)]) - top);
  if (earliest < end && top + std::log(likely) > best) mute(0, first);
}

// Words have a begin and an end in seconds; no end, if the text broke off before.
struct timed_segment {
  double begin = 0;
  std::optional<double> end{};
  std::vector<std::int32_t> tokens{};
};

// Makes segments of tokens as they are said; keeps the words of one.
class timed_segments {
 public:
  explicit timed_segments(time_tokens times) : times_(times) {}

  // The segment that the token ends, if it ends one.
  std::optional<timed_segment> hear(std::int32_t token) {
    if (!times_.is_time(token)) {
      open_.tokens.push_back(token);
      return {};
    }
    const double now = times_.seconds(token);
    std::optional<timed_segment> ended = finish();
    if (ended) ended->end = now;
    open_.begin = now;
    return ended;
  }
  // The words that no time followed, if there are any.
  std::optional<timed_segment> finish() {
    if (open_.tokens.empty()) return {};
    return std::exchange(open_, {});
  }

 private:
  time_tokens times_;
  timed_segment open_;
};

}  // namespace motet
