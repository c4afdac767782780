// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/ranks/executor.hpp>

#include <span>

namespace motet {

// This knows who takes part in each meeting of a program. Joins and reductions come as they are numbered,
// then what only ranks that run need: second exchanges of joins, and the updates.
class meeting_members {
 public:
  explicit meeting_members(const score_sheet& sheet)
      : members_(as_size(sheet.second(sheet.join_meetings())) + 1) {
    const program& of = sheet.of;
    for (std::int32_t r = 0; r < of.ranks(); ++r) {
      bool updates = false;
      for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
        // Shards that compute together meet in their groups, not by the program's messages.
        const std::int32_t meeting = sheet.graph.meetings[i];
        if (meeting >= 0 && meeting < sheet.graph.computations) members_[as_size(meeting)].push_back(r);
        updates = updates || of.instructions[i].what == op::optimizer_step;
      }
      if (updates) members_.back().push_back(r);
    }
    for (std::int32_t m = 0; m < sheet.join_meetings(); ++m)
      members_[as_size(sheet.second(m))] = members_[as_size(m)];
  }

  std::span<const std::vector<std::int32_t>> all() const { return members_; }
  std::int32_t size(std::int32_t meeting) const {
    return static_cast<std::int32_t>(members_[as_size(meeting)].size());
  }
  // Number of a rank within the members; -1: it does not come.
  std::int32_t member(std::int32_t meeting, std::int32_t rank) const {
    const auto& all = members_[as_size(meeting)];
    for (std::size_t m = 0; m < all.size(); ++m)
      if (all[m] == rank) return static_cast<std::int32_t>(m);
    return -1;
  }
  // The meeting of all ranks that update parameters, at the end of a step.
  std::int32_t updaters() const { return static_cast<std::int32_t>(members_.size()) - 1; }

 private:
  std::vector<std::vector<std::int32_t>> members_;
};

}  // namespace motet
