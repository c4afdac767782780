// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/schedule/core/instruction.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

// The share of each lane of a plan, from the first to the last that has a module: as it says, and of lanes
// that say nothing, an even part of what those leave.
constexpr list<double> shares_of_lanes(const plan& of) {
  list<double> shares;
  for (const module_plan& each : of.modules) {
    if (each.lane >= shares.size()) shares.resize(each.lane + 1, 0);
    if (each.share > 0) shares[each.lane] = each.share;
  }
  double rest = 1, open = 0;
  for (const double each : shares) rest -= each, open += each > 0 ? 0 : 1;
  for (double& each : shares)
    if (each <= 0) each = rest / open;
  return shares;
}

// Says whether lanes have shares because a module says so; GPUs divide their multiprocessors by these alone.
constexpr bool says_shares(const plan& of) {
  for (const module_plan& each : of.modules)
    if (each.share > 0) return true;
  return false;
}
// Says of each lane of a plan whether it yields to the others, as all of its modules fill what those leave.
constexpr list<bool> yields_of_lanes(const plan& of) {
  list<bool> yields;
  for (const module_plan& each : of.modules) {
    if (each.lane >= yields.size()) yields.resize(each.lane + 1, false);
    yields[each.lane] = true;
  }
  for (const module_plan& each : of.modules) yields[each.lane] = yields[each.lane] && each.fills;
  return yields;
}

// A lane is one of those that a rank has, all its modules say one share or none, and lanes that say none are
// left something by the others. got and wanted are lanes, or hundredths of a rank.
constexpr verdict check_lanes(const plan& of) {
  double said[lane::most_computing] = {};
  for (isize k = 0; k < of.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    if (own.lane < 0 || own.lane >= lane::most_computing)
      return {reason::bad_lane, k, own.lane, lane::most_computing - 1};
    double& share = said[own.lane];
    if (!(own.share >= 0 && own.share <= 1)) return {reason::bad_lane, k, -1, 100};
    if (own.share > 0 && share > 0 && own.share != share)
      return {reason::bad_lane, k, static_cast<isize>(100 * own.share), static_cast<isize>(100 * share)};
    if (own.share > 0) share = own.share;
  }
  constexpr double rounding = 1e-9;
  double all = 0;
  for (const double each : said) all += each;
  for (isize k = 0; k < of.modules.size(); ++k)
    if (all > 1 + rounding || (said[of.modules[k].lane] <= 0 && all > 1 - rounding))
      return {reason::bad_lane, k, static_cast<isize>(100 * all + 0.5), 100};
  return {};
}

}  // namespace motet
