// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/cast_scores.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace motet {

// An order of a step's samples, of one's own: from what is known of them. It names each of them once. Orders
// of steps that are expected are asked for by a thread of their own, one after the other.
using step_sorter = std::function<sample_order(const step_headers&)>;

// These options say how orders of a step's samples are looked for.
struct order_search {
  // The library answers one of two questions.
  step_questions asked{};
  // A user's own order takes the place of the library's.
  step_sorter by{};
  // Better orders are looked for as long as this allows. Where ranks live in several processes, `seconds` is
  // not for this.
  swap_limits until{.tries = 100};

  bool wanted() const { return by || asked.ranks || asked.slots; }
};

// The order in which each score of a cast would take the samples of a step, as it is found by the score's own
// clock; looked for when it is asked for, and once. Scores share the swaps evenly, so that several take as
// long to look at as one. Scores and headers outlive it.
// Asks for: samples that are as many as the programs take.
// Memory: an order for each score.
// Errors: none of its own.
// Example:
//   double seconds_in_order(const cast_scores& scores, const step_headers& of, std::int32_t score) {
//     return score_orders(scores, of, {}).of(score).seconds;
//   }
class score_orders {
 public:
  score_orders(const cast_scores& scores, const step_headers& of, const order_search& how)
      : scores_(scores), headers_(of), how_(how), found_(as_size(scores.size())) {
    how_.until.tries = (how.until.tries + scores.size() - 1) / scores.size();
    how_.until.seconds = how.until.seconds / scores.size();
  }

  const ordered_step& of(std::int32_t score) {
    std::optional<ordered_step>& known = found_[as_size(score)];
    if (!known) known = find(score);
    return *known;
  }

 private:
  ordered_step find(std::int32_t score) {
    if (how_.by && !own_) own_ = how_.by(headers_);
    return scores_.ordered(score, [&](const program_order& orders) {
      return own_ ? orders.judged(headers_, *own_) : orders.find(headers_, how_.asked, how_.until);
    });
  }

  const cast_scores& scores_;
  const step_headers& headers_;
  order_search how_;
  std::vector<std::optional<ordered_step>> found_;
  std::optional<sample_order> own_;  // by the user's
};

}  // namespace motet
