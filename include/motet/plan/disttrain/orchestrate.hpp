// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cut_apart.hpp>
#include <motet/plan/disttrain/graph_plans.hpp>
#include <motet/plan/disttrain/long_rows_of_plan.hpp>
#include <motet/plan/disttrain/played_step.hpp>
#include <motet/schedule/core/compile.hpp>

#include <limits>
#include <utility>
#include <vector>

namespace motet {

// A plan, and what a step takes by it.
struct promised_plan {
  plan how;
  double seconds = 0;
};
// The result of orchestrate(), the best plan first.
struct promised_plans {
  std::vector<promised_plan> plans;
  isize considered = 0;
};

namespace detail {

// A microbatch of a module takes so much for each unit of its samples' load, on each of its stages. `load` is
// what a sample brings on average.
inline place_seconds seconds_of_place(const counted_graph& of, isize module, const module_plan& own,
                                      double load) {
  const degrees& split = own.on.split();
  const counted_module& work = of.counted(module, split, own.experts);
  const double stages = own.stages(), parts = static_cast<double>(split.data) * own.microbatches;
  const counted_seconds pace = of.seconds(module, split, load * static_cast<double>(of.samples) / parts);
  const auto seconds = [&](double computes, double bytes, double gap_shares::*share) {
    return (computes + of.waits(own, share, computes, bytes)) / stages;
  };
  const cluster_shape shape = of.shape();
  const double parameters = work.parameters / stages;
  const bool crosses = shape.node(own.on.ranks()[0]) != shape.node(own.on.ranks().back());
  return {{seconds(work.forward_flops * pace.forward, work.forward_bytes, &gap_shares::forward),
           seconds(work.input_flops * pace.input, work.backward_bytes, &gap_shares::input),
           seconds(work.weight_flops * pace.weight, 0, &gap_shares::weight), 0, work.boundary_bytes,
           work.returned_bytes},
          of.facts[module].frozen ? 0 : of.sum_seconds_of(module, own, parameters, crosses),
          of.facts[module].frozen ? 0 : update_seconds(parameters, of.on)};
}

// About what a step takes: all that the busiest rank does, and the rest of the way of one microbatch.
inline double quick_seconds(const counted_graph& of, const list<double>& loads, const plan& how) {
  list<double> busy(of.ranks, 0.0), once(of.ranks, 0.0);  // of each rank, in a step and of one microbatch
  double way = 0;
  for (isize k = 0; k < how.modules.size(); ++k) {
    const module_plan& own = how.modules[k];
    const place_seconds at = seconds_of_place(of, k, own, loads[k]);
    const double one = at.sample.forward + at.sample.backward_input + at.sample.backward_weight,
                 samples = static_cast<double>(of.samples) / own.on.split().data * loads[k],
                 parts = own.microbatches;
    // Of several stages of a rank the first alone has nothing to do while a pipeline fills.
    if (!own.fills) way += samples / parts * one * own.on.split().stages;
    for (const std::int32_t rank : own.on.ranks()) {
      busy[rank] += (samples * one + at.sum + at.update) * own.chunks;
      if (!own.fills) once[rank] += samples / parts * one;
    }
  }
  isize most = 0;
  for (isize r = 0; r < busy.size(); ++r)
    if (busy[r] > busy[most]) most = r;
  return busy[most] + std::max(0.0, way - once[most]);
}

inline double seconds_of(const counted_graph& of, const list<double>& loads, const plan& how) {
  score order;
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!write_plan(how, of.facts, order, of.samples).ok() || !prove(order).ok()) return never;
  const program made = compile(order);
  list<sample_split> splits;
  for (const module_plan& each : how.modules) splits.push(each.split(of.samples));
  list<place_seconds> places;
  for (const voice& sings : made.voices)
    for (std::int32_t s = 0; s < sings.stages; ++s)
      places.push(seconds_of_place(of, sings.module, how.modules[sings.module], loads[sings.module]));
  list<shared_rows> shared;
  for (isize k = 0; k < how.modules.size(); ++k) shared.push(shared_rows_of(of, how, k));
  return played_seconds(made, splits, places, of.on, of.steps, {}, of.ordered, shared);
}

}  // namespace detail

// Plans of modules that feed each other: which ranks and degrees each has, and in how many microbatches. Of
// all that each_graph_plan() knows, those that promise most by a formula are played with the samples of real
// steps, in the order that a run would have them in, and come back with what a step takes. Where modules may
// be cut apart, each of these is also played so. Plans with multiplexed modules, or with experts that
// replicas share, are played beside as many others as there would be without, a quarter as many; and so are
// those in which rows are cut of modules before the loss. Where context parts share samples, each plan is
// also played with those whole that are best so. Whether ranks have room for them is left to the reader.
// Asks for: a question with a step at least, and modules that feed each other.
// Memory: some hundreds of plans, and one program.
// Errors: none of its own.
// Example:
//   double best_seconds(const counted_graph& of) { return orchestrate(of).plans.front().seconds; }
promised_plans orchestrate(const counted_graph& of, isize played = 200);

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY promised_plans orchestrate(const counted_graph& of, isize played) {
  promised_plans out;
  std::vector<promised_plan>& all = out.plans;
  // Plans with multiplexed modules or shared experts, and with rows that are cut before the loss.
  std::vector<promised_plan> beside[2];
  const auto sooner = [](const promised_plan& a, const promised_plan& b) { return a.seconds < b.seconds; };
  const auto keep = [&](std::vector<promised_plan>& from, isize most) {
    if (static_cast<isize>(from.size()) <= most) return;
    std::nth_element(from.begin(), from.begin() + most, from.end(), sooner);
    from.resize(as_size(most));
  };
  const list<double> loads = of.mean_loads();
  each_graph_plan(of, [&](const plan& how) {
    ++out.considered;
    const bool cuts = of.cuts_before_loss(how),
               is_beside = cuts || some_are_multiplexed(how) || some_share_experts(how);
    std::vector<promised_plan>& to = is_beside ? beside[cuts ? 1 : 0] : all;
    const isize most = is_beside ? played / 4 : played;
    to.push_back({how, detail::quick_seconds(of, loads, how)});
    if (static_cast<isize>(to.size()) > 4 * most) keep(to, most);
  });
  keep(all, played);
  for (std::vector<promised_plan>& each : beside) {
    keep(each, played / 4);
    all.insert(all.end(), each.begin(), each.end());
  }
  for (std::size_t k = 0, cut = all.size(); k < cut; ++k)
    if (plan whole = with_long_rows(of, all[k].how); !(whole == all[k].how)) {
      ++out.considered;
      all.push_back({std::move(whole), 0});
    }
  if (of.may_cut_apart)
    for (std::size_t k = 0, whole = all.size(); k < whole; ++k)
      if (plan apart = cut_apart(all[k].how, of.facts, of.samples); !(apart == all[k].how)) {
        ++out.considered;
        all.push_back({std::move(apart), 0});
      }
  for (promised_plan& each : all) each.seconds = detail::seconds_of(of, loads, each.how);
  std::erase_if(all, [](const promised_plan& each) { return each.seconds > 1e300; });
  std::stable_sort(all.begin(), all.end(), sooner);
  return out;
}
#endif

}  // namespace motet
