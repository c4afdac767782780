// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/own_schedule.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/core/cast.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// What scores are called that take turns, the plan's own first; and of others that may not, in words, why.
struct score_names {
  std::vector<std::string> names, left_out;

  std::string told() const {
    std::string out;
    for (const std::string& each : names) out += (out.empty() ? "" : ", ") + each;
    return out;
  }
};
struct plan_scores : score_names {
  std::vector<score> orders;
  std::vector<std::string> other_casts;  // of the program's own schedules, those that have another, and which

  void add(std::string name, score order) {
    names.push_back(std::move(name));
    orders.push_back(std::move(order));
  }
  void leave_out(std::size_t which, const std::string& why) {
    left_out.push_back(names[which] + ": " + why);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(which));
    orders.erase(orders.begin() + static_cast<std::ptrdiff_t>(which));
  }
};

// Finds the scores that may take turns in a run by one plan: the plan is written by each schedule of the
// library, by batch_sync with other shares of its groups kept, and by schedules of the program's own. Each is
// proven as a plan is, and has the cast of the plan's own. A schedule of the library that does not fit stays
// out; one that the program gave is refused as a plan is.
// Asks for: a proven plan, with the facts of its model and the samples of a step that it was proven for.
// Memory: a score for each.
// Errors: MT-M03, MT-M04, MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P09, MT-P10, MT-P11,
// MT-P28, MT-P38, MT-S01, MT-S02, MT-S03, MT-S04, MT-S05, MT-S06, MT-S07, MT-S08, MT-S09, MT-S10, MT-S11,
// MT-S12, MT-S13, MT-S14, MT-S15, MT-S16, MT-S17, MT-S18, MT-S21, MT-S22, MT-S23, MT-S24, MT-S25, MT-S26,
// MT-S31, MT-S32, MT-S33, MT-S34, MT-S35, MT-S36, MT-S37
// Example:
//   std::string that_take_turns(const plan& of, const list<module_facts>& facts) {
//     return scores_of_plan(require_proven(of, facts, 512), facts, 512).told();  // "1f1b, gpipe, zb_h1"
//   }
plan_scores scores_of_plan(const proven_plan& of, const list<module_facts>& facts, isize samples,
                           const std::vector<named_schedule>& own = {});

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {

// The same plan by another schedule, of which only batch_sync keeps less than all, or runs ahead.
inline plan written_by(const plan& of, std::string_view schedule, const own_schedule& own = {}) {
  plan out = of;
  out.own = own;
  out.schedule = label(schedule);
  for (module_plan& each : out.modules) {
    if (each.multiplexed) continue;
    each.stash = -1;
    each.ahead = 0;
  }
  return out;
}
// The plan by batch_sync which keeps this share of each group.
inline plan kept_of_groups(const plan& of, int numerator, int denominator) {
  plan out = written_by(of, batch_sync::name);
  for (module_plan& each : out.modules) each.stash = each.whole_group() * numerator / denominator;
  return out;
}

}  // namespace detail

MOTET_BODY plan_scores scores_of_plan(const proven_plan& of, const list<module_facts>& facts, isize samples,
                                      const std::vector<named_schedule>& own) {
  plan_scores out;
  out.add(std::string(of.value.schedule.view()), of.order);
  const auto take = [&](const std::string& name, score order) {
    for (std::size_t k = 0; k < out.orders.size(); ++k)
      if (out.orders[k] == order) return out.left_out.push_back(name + ": the same score as " + out.names[k]);
    out.add(name, std::move(order));
  };
  const auto offer = [&](const std::string& name, const plan& written) {
    proven_plan made;
    const message* row = nullptr;
    explain_plan(written, facts, samples, &row, &made);
    if (row != nullptr) return out.left_out.push_back(name + ": " + row->sentence + " [" + row->code + "]");
    if (const cast_difference other = find_other_cast(of.order, made.order); other.is_there())
      return out.left_out.push_back(name + ": another cast; " + words_of(other));
    take(name, std::move(made.order));
  };
  for (const named_schedule& each : own) {
    proven_plan made =
        require_proven(detail::written_by(of.value, each.name.view(), each.of), facts, samples);
    const std::string name(each.name.view());
    if (const cast_difference other = find_other_cast(of.order, made.order); other.is_there())
      out.other_casts.push_back(name + ": " + words_of(other));
    else take(name, std::move(made.order));
  }
  all_schedules::each([&](auto each) {
    if (of.value.schedule.view() != each.name || of.value.own)
      offer(std::string(each.name), detail::written_by(of.value, each.name));
  });
  if (of.value.schedule.view() != batch_sync::name) return out;
  offer("batch_sync, all kept", detail::kept_of_groups(of.value, 1, 1));
  offer("batch_sync, half kept", detail::kept_of_groups(of.value, 1, 2));
  offer("batch_sync, none kept", detail::kept_of_groups(of.value, 0, 1));
  return out;
}
#endif

}  // namespace motet
