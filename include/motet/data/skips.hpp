// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace motet {

enum class skip : std::uint8_t {
  bad_shard,
  no_picture,
  no_caption,
  bad_picture,
  bad_text,       // not UTF-8
  bad_pieces,     // not understood, or a placeholder without its picture, or the reverse
  nothing_asked,  // no text to learn
  too_long,       // more rows, pictures or sounds than the model takes
  no_sound,
  bad_sound,
};
inline constexpr std::size_t skip_kinds = 10;

// Counts what was left out, by reason, with the names of the first few; strict, it throws instead. Any thread
// may report.
// Asks for: the reason, and the sample's name. It outlives those who report to it.
// Memory: the first few names of each reason, and a line for each sample.
// Errors: MT-D04, MT-D05, MT-D07, MT-D17, MT-D18, MT-D19, MT-D20, MT-D21
// Example:
//   std::string told() {
//     skip_log skips;
//     skips.report(skip::no_caption, "shard.tar: 000017");
//     return skips.summary();
//   }
class skip_log {
 public:
  explicit skip_log(bool strict = false) : strict_(strict) {}

  // A sample that was left out, by its number in its source.
  struct left_sample {
    skip why = skip::bad_picture;
    isize sample = 0;
    std::string detail{};
  };

  // sample: its number; -1: it has none, as its shard was not understood.
  void report(skip why, const std::string& name, const std::string& detail = {}, isize sample = -1) {
    const auto which = as_size(why);
    if (strict_) fail(row(why), name + (detail.empty() ? "" : " (" + detail + ")"));
    const std::lock_guard hold(guard_);
    // Two threads, or two epochs, may meet the same sample; a shard may be damaged in several places.
    if (!told_.insert(why == skip::bad_shard ? name + detail : name).second) return;
    ++counts_[which];
    if (sample >= 0) left_.push_back({why, sample, detail});
    if (names_[which].size() < shown)
      names_[which].push_back(name + (detail.empty() ? "" : " (" + detail + ")"));
  }

  bool strict() const { return strict_; }
  isize count(skip why) const {
    const std::lock_guard hold(guard_);
    return counts_[as_size(why)];
  }
  isize count() const {
    const std::lock_guard hold(guard_);
    isize sum = 0;
    for (const isize each : counts_) sum += each;
    return sum;
  }
  std::vector<std::string> names(skip why) const {
    const std::lock_guard hold(guard_);
    return names_[as_size(why)];
  }
  // Samples with numbers, those behind the first `known` that were reported, but so many at most.
  std::vector<left_sample> left_behind(std::size_t known, std::size_t most) const {
    const std::lock_guard hold(guard_);
    const std::size_t first = std::min(known, left_.size()),
                      end = first + std::min(most, left_.size() - first);
    return {left_.begin() + static_cast<std::ptrdiff_t>(first),
            left_.begin() + static_cast<std::ptrdiff_t>(end)};
  }
  // "2 damaged pictures (a, b), 1 sample without caption (c)", or nothing.
  std::string summary() const {
    static constexpr const char* words[skip_kinds] = {
        "damaged places in shards",     "samples without picture",
        "samples without caption",      "damaged pictures",
        "texts that are not UTF-8",     "samples whose pieces do not fit",
        "samples that ask for nothing", "samples longer than the model takes",
        "samples without sound",        "damaged sounds"};
    const std::lock_guard hold(guard_);
    std::string out;
    for (std::size_t i = 0; i < skip_kinds; ++i) {
      if (counts_[i] == 0) continue;
      out += sentence({(out.empty() ? "" : ", "), counts_[i], " ", words[i], " ("});
      for (std::size_t k = 0; k < names_[i].size(); ++k) out += (k == 0 ? "" : ", ") + names_[i][k];
      out += counts_[i] > static_cast<isize>(names_[i].size()) ? ", ...)" : ")";
    }
    return out;
  }

 private:
  static constexpr std::size_t shown = 5;
  static const message& row(skip why) {
    switch (why) {
      case skip::bad_shard: return damaged_tar;
      case skip::bad_picture: return damaged_picture;
      case skip::bad_text: return text_not_utf8;
      case skip::bad_pieces: return bad_sample_pieces;
      case skip::nothing_asked: return sample_asks_nothing;
      case skip::too_long: return sample_too_long;
      case skip::bad_sound: return damaged_sound;
      default: return missing_field;
    }
  }

  bool strict_;
  mutable std::mutex guard_;
  std::unordered_set<std::string> told_;
  std::array<isize, skip_kinds> counts_{};
  std::array<std::vector<std::string>, skip_kinds> names_;
  std::vector<left_sample> left_;  // in the order of the reports
};

}  // namespace motet
