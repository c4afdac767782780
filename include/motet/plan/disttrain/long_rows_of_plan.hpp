// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/plan/disttrain/counted_graph.hpp>
#include <motet/plan/disttrain/played_step.hpp>
#include <motet/plan/order/long_rows_of_step.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace motet {

namespace detail {

// The work of a sample by its rows, as a share of the longest one's: two lengths that differ tell rows from
// pairs.
struct work_of_length {
  double row = 0, pair = 0;
  double longest = 0;  // rows with which it is 1

  work_of_length(const list<step_headers>& steps, isize module) {
    double least = std::numeric_limits<double>::infinity(), most = 0, work_of_least = 0, work_of_most = 0;
    for (const step_headers& each : steps)
      for (std::int32_t s = 0; s < each.samples; ++s) {
        const double rows = each.rows[module * each.samples + s],
                     work = each.work_of(static_cast<std::int32_t>(module), s);
        if (!(rows > 0) || !(work > 0)) continue;
        if (rows < least) least = rows, work_of_least = work;
        if (rows > most) most = rows, work_of_most = work;
      }
    if (most == 0) return;
    if (least < most) pair = std::max(0.0, (work_of_most / most - work_of_least / least) / (most - least));
    row = std::max(0.0, work_of_most / most - pair * most);
    longest = pair > 0 ? (std::sqrt(row * row + 4 * pair) - row) / (2 * pair) : 1 / row;
  }
};

}  // namespace detail

// What samples of a module take that its context parts share, as shares of what a part takes of the longest
// one when that is cut.
inline shared_rows shared_rows_of(const counted_graph& of, const plan& how, isize module) {
  const module_plan& own = how.modules[module];
  const degrees& split = own.on.split();
  shared_rows out{static_cast<isize>(own.long_rows), split.context, split.tensor};
  out.longest = detail::work_of_length(of.steps, module).longest;
  if (split.context == 1 || !(out.longest > 0)) return {};
  const auto seconds = [&](const degrees& cut, double& computes, double& exchanges) {
    const counted_module& work = of.counted(module, cut, own.experts);
    const double parts = static_cast<double>(split.data) * own.microbatches;
    const counted_seconds pace =
        of.seconds(module, split, of.mean_load(module) * static_cast<double>(of.samples) / parts);
    computes =
        work.forward_flops * pace.forward + work.input_flops * pace.input + work.weight_flops * pace.weight;
    exchanges = of.waits(own, &gap_shares::forward, work.forward_flops * pace.forward, work.forward_bytes) +
                of.waits(own, &gap_shares::input, work.input_flops * pace.input, work.backward_bytes);
  };
  seconds(split, out.cut_computes, out.cut_exchanges);
  seconds({.tensor = split.tensor}, out.whole_computes, out.whole_exchanges);
  const double all = out.cut_computes + out.cut_exchanges;
  if (!(all > 0)) return {};
  for (double* const each :
       {&out.cut_computes, &out.cut_exchanges, &out.whole_computes, &out.whole_exchanges})
    *each /= all;
  return out;
}

// The number of rows from which on samples of a module with context parts are best cut, by the steps that are
// known: that with which the longest parts of all their microbatches together have least to do. 0: all are
// cut. Parts have room for as many rows as all samples of the largest microbatch would have if they were cut
// and as long as any can be.
// Asks for: a plan that check_plan() passes.
// Memory: some numbers for each sample.
// Errors: none of its own.
// Example:
//   int long_from(const counted_graph& of, const plan& how) { return long_rows_of(of, how, 2); }
inline int long_rows_of(const counted_graph& of, const plan& how, isize module) {
  const shared_rows rows = shared_rows_of(of, how, module);
  if (rows.parts == 1) return 0;
  const detail::work_of_length work(of.steps, module);
  const row_costs costs{
      .row = rows.whole_computes * work.row + rows.whole_exchanges / rows.longest,
      .pair = rows.whole_computes * work.pair,
      // What a cut sample takes beyond its even share.
      .exchanged = std::max(0.0, rows.cut_exchanges - rows.whole_exchanges / rows.parts) / rows.longest};
  const sample_split split = how.modules[module].split(of.samples);
  isize most = 0;
  for (isize g = 0; g < split.groups; ++g)
    for (isize r = 0; r < split.replicas; ++r)
      for (isize m = 0; m < split.microbatches; ++m) most = std::max(most, split.of(g, r, m).size());
  seated_rows seats{.cut = {.parts = rows.parts, .balanced = how.modules[module].balanced}};
  std::int32_t turn = 0;
  for (const step_headers& each : of.steps)
    for (isize g = 0; g < split.groups; ++g)
      for (isize r = 0; r < split.replicas; ++r)
        for (isize m = 0; m < split.microbatches; ++m, ++turn) {
          const interval all = split.of(g, r, m);
          for (isize s = all.begin; s < all.end; ++s)
            seats.samples.push({static_cast<isize>(each.rows[module * each.samples + s]), turn,
                                turn * rows.tensor + rows.member_of(all, s), rows.home_of(all, s)});
          for (std::int32_t t = 0; t < rows.tensor; ++t)
            for (std::int32_t c = 0; c < rows.parts; ++c)
              seats.room.push(share(most, rows.tensor, t).size() *
                              seats.cut.rows_of(static_cast<isize>(rows.longest), c));
        }
  const isize found = find_long_rows(costs, seats);
  return static_cast<int>(found);
}

// The same plan with samples whole that are best so; it stays as it is where none is. Before the loss a
// sample may be several pictures, of which each is whole or cut, and steps tell of all their rows together.
inline plan with_long_rows(const counted_graph& of, plan how) {
  for (isize k = 0; k < how.modules.size(); ++k)
    if (how.modules[k].on.split().context > 1 && of.facts[k].meets)
      how.modules[k].long_rows = long_rows_of(of, how, k);
  return how;
}

// Some samples of a plan stay whole that its context parts share; and the same plan with all of them cut.
inline bool keeps_whole(const plan& of) {
  return std::ranges::any_of(of.modules, [](const module_plan& each) { return each.long_rows > 0; });
}
inline plan with_all_cut(plan of) {
  for (module_plan& each : of.modules) each.long_rows = 0;
  return of;
}

}  // namespace motet
