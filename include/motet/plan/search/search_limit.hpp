// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/plan_contest.hpp>

#include <string>
#include <vector>

namespace motet {

// Asks whoever waits for a search whether it goes on, and keeps account of what is left out when it does not.
class search_limit {
 public:
  // Keeps both addresses.
  search_limit(const search_options& options, const plan_contest& contest)
      : options_(options), contest_(contest) {}

  // Says whether the search is to end, which then stays so. It does `doing` for the `done`th of `all`.
  bool over(std::string_view doing, isize done, isize all) {
    if (over_ || !options_.goes_on) return over_;
    const double best = contest_.empty() ? 0 : contest_.best_seconds();
    return over_ = !options_.goes_on({doing, done, all, contest_.simulated(), best}) && !lifted_;
  }
  bool over() const { return over_; }
  // There is no plan yet, so the search goes on to its end after all; it still tells where it stands.
  void lift() {
    lifted_ = true;
    over_ = false;
    left_.clear();
  }
  // So many of all such were left out, if any.
  void leave(isize count, isize all, const std::string& what) {
    if (count > 0) leave(std::to_string(count) + " of " + std::to_string(all) + " " + what);
  }
  void leave(const std::string& what) { left_.push_back(what); }
  // "5 of 8 groups of towers and 20 of 24 plans"; nothing of a search that ended by itself.
  std::string not_tried() const {
    std::string out;
    for (std::size_t i = 0; i < left_.size(); ++i)
      out += (i == 0 ? "" : i + 1 < left_.size() ? ", " : " and ") + left_[i];
    return out;
  }

 private:
  const search_options& options_;
  const plan_contest& contest_;
  bool over_ = false, lifted_ = false;
  std::vector<std::string> left_;
};

}  // namespace motet
