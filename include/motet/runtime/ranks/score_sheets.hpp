// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/ranks/executor.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace motet {

// The sheets of all scores that ranks may play, of one cast (schedule/core/cast.hpp): those of a step are
// laid out before the first one, and between steps another takes its place. Meetings have the same numbers in
// all.
class score_sheets {
 public:
  explicit score_sheets(std::vector<program> all) {
    sheets_.reserve(all.size());
    for (program& each : all) {
      sheets_.emplace_back(std::move(each));
      messages_ = std::max(messages_, sheets_.back().messages);
    }
  }
  score_sheets(const score_sheets&) = delete;
  score_sheets& operator=(const score_sheets&) = delete;

  std::int32_t size() const { return static_cast<std::int32_t>(sheets_.size()); }
  const score_sheet& operator[](std::int32_t score) const { return sheets_[as_size(score)]; }
  // The sheet of the step that is under way, or was last.
  const score_sheet& now() const { return sheets_[as_size(now_)]; }
  std::int32_t playing() const { return now_; }
  void play(std::int32_t score) { now_ = score; }
  // No score has more.
  std::int32_t messages() const { return messages_; }

 private:
  std::vector<score_sheet> sheets_;
  std::int32_t now_ = 0, messages_ = 0;
};

// One program is the only score.
inline std::vector<program> only(program one) {
  std::vector<program> all;
  all.push_back(std::move(one));
  return all;
}

}  // namespace motet
