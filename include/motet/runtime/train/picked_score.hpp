// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/runtime/messages.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace motet {

// The score that a step plays, of those that a run has, and a mark of the headers that it was picked by.
struct picked_score {
  std::int32_t score = 0;
  std::uint64_t headers = 0;
};

// Marks below this are exact in a double.
inline constexpr std::uint64_t exact_mark = std::uint64_t{1} << 52;

// Takes from each rank the score that it picked and the mark of its headers, one behind the other; MT-R72
// where they are not the same.
inline void require_same_pick(std::span<const double> of_ranks) {
  for (std::size_t r = 2; r < of_ranks.size(); r += 2) {
    if (of_ranks[r] == of_ranks[0] && of_ranks[r + 1] == of_ranks[1]) continue;
    const auto told = [&](std::size_t at) {
      return sentence({"rank ", at / 2, " plays score ", static_cast<motet::isize>(of_ranks[at]),
                       ", by headers with mark ", static_cast<motet::isize>(of_ranks[at + 1])});
    };
    fail(scores_differ, told(0) + "; " + told(r));
  }
}

// What each rank picked, told to all before a step: ranks elsewhere may have been told another score.
class score_picks {
 public:
  explicit score_picks(std::int32_t ranks) : told_(2 * as_size(ranks)) {}
  // All processes call this; MT-R72.
  template <class Ranks>
  void compare(Ranks& ranks, const picked_score& by) {
    std::fill(told_.begin(), told_.end(), 0.0);
    for (const std::int32_t rank : ranks.local_ranks()) {
      told_[2 * as_size(rank)] = by.score;
      told_[2 * as_size(rank) + 1] = static_cast<double>(by.headers % exact_mark);
    }
    ranks.sum(told_.data(), static_cast<isize>(told_.size()));
    try {
      require_same_pick(told_);
    } catch (const error&) {
      // Who leaves first would end the wait of those that do not know yet.
      double knows = 1;
      try {
        ranks.sum(&knows, 1);
      } catch (const std::exception&) {
      }
      throw;
    }
  }

 private:
  std::vector<double> told_;
};

}  // namespace motet
