// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/plan/order/conduct_told.hpp>
#include <motet/plan/prove/scores_of_plan.hpp>

#include <cstdio>
#include <string>
#include <vector>

// What a run says of scores that take turns.
namespace motet {

// Tells which scores take turns, or that there is one alone; and why others do not.
inline std::vector<std::string> words_on(const score_names& of, double margin) {
  std::vector<std::string> out;
  if (of.names.size() > 1) {
    char by[96];
    std::snprintf(by, sizeof by, " where that is shorter by more than %g %%, by simulation", 100 * margin);
    out.push_back(of.told() + " take turns: a step plays another one" + by);
  } else {
    out.push_back(of.told() + " plays every step: the plan has no other score of its cast");
  }
  for (const std::string& each : of.left_out) out.push_back("without " + each);
  return out;
}

// "1f1b played 12 steps, gpipe 8, with 5 changes".
inline std::string words_of(const conduct_sums& of, const score_names& names) {
  std::string out;
  for (std::size_t k = 0; k < names.names.size(); ++k) {
    const isize played = static_cast<isize>(k) < of.played.size() ? of.played[static_cast<isize>(k)] : 0;
    out += (out.empty() ? "" : ", ") + names.names[k] + sentence({k == 0 ? " played " : " ", played});
    if (k == 0) out += played == 1 ? " step" : " steps";
  }
  return out + sentence({", with ", of.changes, of.changes == 1 ? " change" : " changes"});
}

}  // namespace motet
