// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/meta/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

// Counts what was left out, by reason, with the names of the first few; strict, it throws instead. Beside it,
// counts what was kept though its sounds had to be resampled, which is no damage. Any thread may report.
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
  explicit skip_log(bool strict = false);
  ~skip_log();

  // A sample that was reported, by its number in its source.
  struct reported {
    std::optional<skip> why;  // none: it was kept, and its sounds resampled
    isize sample = 0;
    std::string detail{};
  };

  // sample: its number; -1: it has none, as its shard was not understood.
  void report(skip why, const std::string& name, const std::string& detail = {}, isize sample = -1);
  // rates: of its sound, and the one that models hear.
  void report_resampled(const std::string& name, const std::string& rates, isize sample = -1);

  bool strict() const { return strict_; }
  isize count(skip why) const;
  isize count() const;
  // Samples that were kept.
  isize resampled() const;
  std::vector<std::string> names(skip why) const;
  // Samples with numbers, those behind the first `known` that were reported, but so many at most.
  std::vector<reported> reports(std::size_t known, std::size_t most) const;
  // "2 damaged pictures (a, b), 1 sample without caption (c)", or nothing.
  std::string summary() const;
  // "3 samples with sounds of another rate (a (8000 to 16000 numbers a second), ...)", or nothing.
  std::string resampled_summary() const;

 private:
  struct tallies;

  bool strict_;
  std::unique_ptr<tallies> told_;
};

}  // namespace motet

#if !defined(MOTET_COMPILED_DATA)
#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_set>

namespace motet {

namespace detail {
inline const message& row_of(skip why) {
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
}  // namespace detail

struct skip_log::tallies {
  struct tally {
    isize count = 0;
    std::vector<std::string> names{};  // of the first few

    void add(const std::string& name, const std::string& detail) {
      ++count;
      if (names.size() < 5) names.push_back(name + (detail.empty() ? "" : " (" + detail + ")"));
    }
    std::string told(const char* what) const {
      std::string out = sentence({count, " ", what, " ("});
      for (std::size_t k = 0; k < names.size(); ++k) out += (k == 0 ? "" : ", ") + names[k];
      return out + (count > static_cast<isize>(names.size()) ? ", ...)" : ")");
    }
  };

  std::mutex guard;
  std::unordered_set<std::string> seen{};
  std::array<tally, skip_kinds> left{};
  tally resampled{};
  std::vector<reported> reports{};  // in their order
};

MOTET_BODY skip_log::skip_log(bool strict) : strict_(strict), told_(std::make_unique<tallies>()) {}
MOTET_BODY skip_log::~skip_log() = default;

MOTET_BODY void skip_log::report(skip why, const std::string& name, const std::string& detail, isize sample) {
  if (strict_) fail(motet::detail::row_of(why), name + (detail.empty() ? "" : " (" + detail + ")"));
  const std::lock_guard hold(told_->guard);
  // Two threads, or two epochs, may meet the same sample; a shard may be damaged in several places.
  if (!told_->seen.insert(why == skip::bad_shard ? name + detail : name).second) return;
  told_->left[as_size(why)].add(name, detail);
  if (sample >= 0) told_->reports.push_back({why, sample, detail});
}
MOTET_BODY void skip_log::report_resampled(const std::string& name, const std::string& rates, isize sample) {
  const std::lock_guard hold(told_->guard);
  // No sample is named like this, so one that is left out later, for another reason, counts as that, too.
  if (!told_->seen.insert(name + "\nresampled").second) return;
  told_->resampled.add(name, rates);
  if (sample >= 0) told_->reports.push_back({std::nullopt, sample, rates});
}

MOTET_BODY isize skip_log::count(skip why) const {
  const std::lock_guard hold(told_->guard);
  return told_->left[as_size(why)].count;
}
MOTET_BODY isize skip_log::count() const {
  const std::lock_guard hold(told_->guard);
  isize sum = 0;
  for (const tallies::tally& each : told_->left) sum += each.count;
  return sum;
}
MOTET_BODY isize skip_log::resampled() const {
  const std::lock_guard hold(told_->guard);
  return told_->resampled.count;
}
MOTET_BODY std::vector<std::string> skip_log::names(skip why) const {
  const std::lock_guard hold(told_->guard);
  return told_->left[as_size(why)].names;
}
MOTET_BODY std::vector<skip_log::reported> skip_log::reports(std::size_t known, std::size_t most) const {
  const std::lock_guard hold(told_->guard);
  const std::vector<reported>& all = told_->reports;
  const std::size_t first = std::min(known, all.size()), end = first + std::min(most, all.size() - first);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

MOTET_BODY std::string skip_log::summary() const {
  static constexpr const char* words[skip_kinds] = {
      "damaged places in shards",     "samples without picture",
      "samples without caption",      "damaged pictures",
      "texts that are not UTF-8",     "samples whose pieces do not fit",
      "samples that ask for nothing", "samples longer than the model takes",
      "samples without sound",        "damaged sounds"};
  const std::lock_guard hold(told_->guard);
  std::string out;
  for (std::size_t i = 0; i < skip_kinds; ++i)
    if (told_->left[i].count > 0) out += (out.empty() ? "" : ", ") + told_->left[i].told(words[i]);
  return out;
}
MOTET_BODY std::string skip_log::resampled_summary() const {
  const std::lock_guard hold(told_->guard);
  return told_->resampled.count > 0 ? told_->resampled.told("samples with sounds of another rate")
                                    : std::string();
}

}  // namespace motet
#endif
