// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/distmm/published_systems.hpp>
#include <motet/plan/search/balance.hpp>
#include <motet/plan/search/place.hpp>
#include <motet/plan/search/plan_ranking.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// The planner as it was published (Huang et al., "DistMM", NSDI'24): a ladder of rules says how each tower is
// cut, a dynamic programme over devices how many replicas it has, and no two towers share a rank.
// docs/plan/published.md says what the paper leaves open and how it is read here.

// A tower is cut not at all where it fits a device; else into the fewest tensor parts that fit the devices of
// a node; else into as many parts as a node has devices, and the fewest stages, each on a node. `data` is 1.
// A tower that fits nowhere is cut as far as it goes.
inline degrees distmm_degrees(const tower_outline& of, const cluster_facts& on, double bytes_of_parameter) {
  degrees cut;
  const auto fits = [&] {
    for (isize s = 0; s < cut.stages; ++s) {
      const interval own = share(of.layers, cut.stages, s);
      if (held_parameters(of, own.begin, own.end, cut.tensor) * bytes_of_parameter > on.device.memory_bytes)
        return false;
    }
    return true;
  };
  const auto allowed = [&](std::int32_t tensor) {
    return tensor <= on.devices_per_node && tensor <= of.keyed_heads() && on.devices_per_node % tensor == 0;
  };
  while (!fits() && allowed(2 * cut.tensor)) cut.tensor *= 2;
  while (!fits() && cut.stages < of.layers && isize{cut.stages + 1} * cut.tensor <= on.devices())
    ++cut.stages;
  return cut;
}

// Of unlike devices it chooses as if all were the slowest; plans are played on what there is. Throws MT-P85
// where nothing fits, MT-P86 to MT-P88 for what cannot be asked.
search_result search_distmm(const model_shape& model, const cluster_facts& on, isize samples,
                            const search_options& options = {});

#if !defined(MOTET_COMPILED_PLANNER)
namespace detail {

// One tower with so many replicas, as the balancer sees it.
struct distmm_choice {
  module_plan how;
  phase_seconds seconds;
};

class distmm_tower {
 public:
  distmm_tower(const tower_outline& of, degrees cut, const cluster_facts& on, isize samples,
               const published_question& asked)
      : on_(on), samples_(samples), losses_(asked.losses), options_(asked.options), cut_(cut) {
    alone_.towers.push(of);
    for (const tower_outline& each : asked.model.towers)
      if (!(each.name == of.name))
        others_ += static_cast<double>(samples / asked.losses * each.embedding) * asked.options.bytes.feature;
  }
  const degrees& cut() const { return cut_; }

  // The quickest way that fits, for so many replicas; false where there is none.
  bool quickest(std::int32_t replicas, distmm_choice& out, isize& considered) const {
    const isize own = (samples_ / losses_ + replicas - 1) / replicas;  // of a replica, for one loss
    bool found = false;
    isize most = own;
    for (isize group = 1; group <= most && samples_ >= replicas * losses_ * group;
         group = more_microbatches(own, group)) {
      const isize kept = kept_of_group(group, [&](isize count) {
        if (count < group && !learns()) return false;
        ++considered;
        distmm_choice made;
        const degrees split{.stages = cut_.stages, .data = replicas, .tensor = cut_.tensor};
        made.how = on_ranks(alone_.towers[0].name, 0, split, static_cast<int>(losses_ * group));
        made.how.group = static_cast<int>(group);
        if (count < group) made.how.stash = static_cast<int>(count);
        if (!times(made)) return false;
        if (!found || step_seconds(made.seconds, losses_) < step_seconds(out.seconds, losses_)) out = made;
        return found = true;
      });
      if (cut_.stages > 1) continue;
      // Without a pipeline smaller microbatches are slower, unless more of them can be kept.
      if (kept >= 0) most = std::min(most, 4 * group);
      if (kept == group) break;
    }
    return found;
  }

 private:
  bool learns() const { return !alone_.towers[0].frozen && !alone_.towers[0].cached; }
  // Finds the times of lead-in, from loss to loss, and of the drain; the slowest stage stands for all. The
  // result is false where memory does not do.
  bool times(distmm_choice& of) const {
    plan alone;
    alone.cluster = {static_cast<std::int32_t>(of.how.on.ranks().size()), on_.devices_per_node};
    alone.modules.push(of.how);
    const plan_pricer by(alone, alone_, on_, options_.bytes, samples_, options_.play);
    const isize stages = cut_.stages, group = of.how.group, kept = of.how.stash < 0 ? group : of.how.stash;
    double forward = 0, backward = 0, tail = 0;
    for (isize s = 0; s < stages; ++s) {
      const auto here = static_cast<std::int32_t>(s);
      const stage_seconds at = by.stage(0, s, 0, here, s + 1 < stages ? here + 1 : -1);
      const auto live = static_cast<double>(
          std::min<isize>({of.how.microbatches, group + stages - 1 - s, kept + stages - s}));
      const double features = s + 1 == stages ? feature_bytes(by, 0) + others_ : 0;
      if (standing_bytes(by, 0, s, at.remade).total() + live * kept_bytes(by, 0, s, at.remade) + features >
          on_.device.memory_bytes)
        return false;
      forward = std::max(forward, at.forward());
      if (learns()) backward = std::max(backward, at.backward());
      tail = std::max(tail, at.sum_left + at.update);
    }
    const auto turns = static_cast<double>(group), hops = static_cast<double>(stages - 1),
               again = static_cast<double>(group - kept) * forward;
    of.seconds = {(turns + hops) * forward, turns * (forward + backward) + again,
                  again + (turns + hops) * backward + tail};
    return true;
  }

  model_shape alone_;
  const cluster_facts& on_;
  isize samples_, losses_;
  const search_options& options_;
  degrees cut_;
  double others_ = 0;  // bytes of the other towers' features, which come for each loss
};

// Modules get the balancer's degrees, on the seats that send least out of nodes.
inline bool seated(const list<module_plan>& modules, const published_question& asked, const cluster_facts& on,
                   isize samples, plan& out) {
  out.cluster = {on.devices(), on.nodes > 1 ? on.devices_per_node : 0};
  out.modules = modules;
  list<seating> seats;
  for (isize k = 0; k < modules.size(); ++k) {
    const tower_outline& net = asked.model.towers[k];
    seating seat;
    seat.split = modules[k].on.split();
    seat.boundary_bytes = work_of(net).boundary * static_cast<double>(samples) / seat.split.data /
                          seat.split.tensor * asked.options.bytes.activation;
    seat.gradient_bytes = held_parameters(net, 0, net.layers, seat.split.tensor) / seat.split.stages *
                          asked.options.bytes.gradient;
    seats.push(seat);
  }
  const list<seat_layout> places = seat_layouts(seats, on, false, 1);
  for (isize k = 0; k < modules.size() && !places.empty(); ++k)
    out.modules[k].on = mesh(seats[k].split, places[0].ranks[k]);
  return !places.empty();
}

// Offers what the balancer makes of towers that are cut so.
inline isize offer_balanced(plan_ranking<>& ranking, const published_question& asked,
                            const list<degrees>& cuts, const cluster_facts& on, isize samples) {
  constexpr isize most_replicas = 128;  // numbers of them that are told apart
  constexpr isize most_answers = 12;
  isize considered = 0;
  list<list<tower_choice>> choices;
  std::vector<std::vector<distmm_choice>> ways;
  for (isize k = 0; k < cuts.size(); ++k) {
    const distmm_tower tower(asked.model.towers[k], cuts[k], on, samples, asked);
    const isize unit = cuts[k].size(), most = std::min<isize>(on.devices() / unit, samples / asked.losses);
    const isize step = (most + most_replicas - 1) / most_replicas;
    choices.push({});
    ways.emplace_back();
    for (isize replicas = 1; replicas <= most;
         replicas = step > 1 && replicas < step ? std::min(2 * replicas, step) : replicas + step) {
      distmm_choice way;
      if (!tower.quickest(static_cast<std::int32_t>(replicas), way, considered)) continue;
      choices.back().push({replicas * unit, way.seconds});
      ways.back().push_back(way);
    }
  }
  const list<balanced> answers = balance(choices, on.devices(), asked.losses);
  for (isize i = 0; i < answers.size() && (i < most_answers || ranking.empty()); ++i) {
    list<module_plan> modules;
    for (isize k = 0; k < cuts.size(); ++k)
      modules.push(ways[as_size(k)][as_size(answers[i].choices[k])].how);
    plan made;
    if (seated(modules, asked, on, samples, made)) ranking.offer(made);
  }
  return considered;
}

// The ladder counts so many bytes for a parameter. All published degrees follow from 16 bytes, as mixed
// precision usually has; on a cluster that is too small for this it counts what there is, with room for
// activations or without.
inline list<double> ladder_bytes(const tower_outline& of, const training_bytes& bytes) {
  const double own = bytes_of_parameter(of, bytes);
  return {of.frozen || of.cached ? own : std::max(own, 16.0), 1.5 * own, 1.25 * own, own};
}

// The fewest devices that a tower would do with, of however many, and what it has on a rank of this cluster.
inline tower_need need_of(const tower_outline& of, const published_question& asked, const cluster_facts& on,
                          isize samples) {
  tower_need out;
  const list<double> counted = ladder_bytes(of, asked.options.bytes);
  const degrees here = distmm_degrees(of, on, counted.back());
  out.bytes = held_parameters(of, 0, share(of.layers, here.stages, 0).end, here.tensor) * counted.back();
  cluster_facts wide = on;
  wide.nodes = std::max(on.nodes, (1 << 12) / on.devices_per_node);
  for (const double bytes : counted) {
    const distmm_tower there(of, distmm_degrees(of, wide, bytes), wide, samples, asked);
    const isize unit = there.cut().size(), most = std::min(wide.devices() / unit, samples / asked.losses);
    for (std::int32_t replicas = 1; replicas <= most && (out.ranks == 0 || replicas * unit < out.ranks);
         replicas *= 2) {
      isize ignored = 0;
      if (distmm_choice found; there.quickest(replicas, found, ignored)) out.ranks = replicas * unit;
    }
  }
  return out;
}

inline isize offer_rungs(plan_ranking<>& ranking, const published_question& asked, const cluster_facts& on,
                         isize samples) {
  isize considered = 0;
  const list<tower_outline>& towers = asked.model.towers;
  for (isize rung = 0; rung < ladder_bytes(towers[0], {}).size() && ranking.empty(); ++rung) {
    list<degrees> cuts;
    for (const tower_outline& each : towers)
      cuts.push(distmm_degrees(each, on, ladder_bytes(each, asked.options.bytes)[rung]));
    considered += offer_balanced(ranking, asked, cuts, on, samples);
  }
  return considered;
}

[[noreturn]] inline void refuse_apart(const published_question& asked, const cluster_facts& on,
                                      isize samples) {
  list<tower_need> needs;
  isize sum = 0;
  bool ever = true;
  for (const tower_outline& each : asked.model.towers) {
    needs.push(need_of(each, asked, on, samples));
    sum += needs.back().ranks;
    ever = ever && needs.back().ranks > 0;
  }
  constexpr std::int32_t most_more = 16;
  std::int32_t nodes = 0;
  cluster_facts wide = on;
  wide.nodes = std::max(on.nodes + 1,
                        static_cast<std::int32_t>((sum + on.devices_per_node - 1) / on.devices_per_node));
  for (std::int32_t more = 0; ever && nodes == 0 && more < most_more; ++more, ++wide.nodes) {
    plan_ranking there(asked.model, wide, samples, asked.options);
    offer_rungs(there, asked, wide, samples);
    if (!there.empty()) nodes = wide.nodes;
  }
  search_options options = asked.options;
  options.together = true;
  refuse_model(asked.model, on, needs, nodes, options);
}

}  // namespace detail

MOTET_BODY search_result search_distmm(const model_shape& model, const cluster_facts& on, isize samples,
                                       const search_options& options) {
  const published_question asked(model, on, samples, options);
  plan_ranking ranking(asked.model, on, samples, asked.options);
  const cluster_facts alike = as_one_kind(on);
  const isize considered = detail::offer_rungs(ranking, asked, alike, samples);
  if (ranking.empty()) detail::refuse_apart(asked, alike, samples);
  return ranking.result(considered);
}
#endif

}  // namespace motet
