// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/memory_forecast.hpp>
#include <motet/plan/search/balance.hpp>
#include <motet/plan/search/search_result.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace motet {

// One way to run a tower by itself, and what follows before any program is written. Times are what no plan
// with this point is below: messages go the fast way, gradients are summed by neighbours.
struct tower_point {
  degrees split;
  int microbatches = 1;  // of a replica in each group
  int stash = -1;        // of them
  int zero = 0;
  int experts = 1;  // so many replicas share those of each mixture
  bool remade = false;
  std::uint32_t kinds = 1;  // of devices, which it may take

  phase_seconds seconds = {};  // with the sum of its gradients and its update, were it alone on its ranks
  double last_steady = 0;      // of its last stage from one join to the next
  double busy = 0;             // of a step, the busiest stage with what must come before it and behind
  // One group has this much computation in the stage that has most of it, and in the one that has least,
  // before its join and behind it.
  double forward = 0, backward = 0, least_forward = 0, least_backward = 0;
  // behind the last backward of a stage: with the sum, and the least that an update takes
  double tail = 0, update = 0;
  double bytes = 0, least_bytes = 0;              // of the fullest stage, and of the emptiest
  double boundary_bytes = 0, gradient_bytes = 0;  // as placing asks for them

  isize ranks() const { return split.size(); }
  // Of two equally good ones, the one with less of everything that needs explaining.
  auto complexity() const {
    return std::tuple(zero, experts, remade ? 1 : 0, stash < 0 ? 0 : 1, split.context, split.stages,
                      split.tensor, microbatches, -stash);
  }
};

// A module's plan, before it has ranks.
inline module_plan module_plan_of(const tower_outline& of, const tower_point& how, isize joins) {
  module_plan out;
  out.name = of.name;
  out.on = mesh(how.split, {});
  out.microbatches = how.microbatches * static_cast<int>(joins);
  out.group = how.microbatches;
  out.stash = how.stash;
  out.zero = how.zero;
  out.experts = how.experts;
  if (how.remade) out.remade.resize(how.split.stages, 1);
  return out;
}

// These numbers of microbatches are tried: 1, 2, 3, 4, 6, 8, 12, ... and as many as there are samples.
inline list<int> microbatch_counts(isize most) {
  list<int> out;
  for (isize n = 1; n < most; n *= 2) {
    out.push(static_cast<int>(n));
    if (n > 1 && n * 3 / 2 < most) out.push(static_cast<int>(n * 3 / 2));
  }
  if (most > 0) out.push(static_cast<int>(most));
  return out;
}

// These parts of a group are tried: all of it, a half, a quarter, nothing, and of small groups any number.
inline list<int> stash_counts(int group) {
  list<int> out{-1};
  if (group <= 4) {
    for (int h = group - 1; h >= 0; --h) out.push(h);
  } else {
    for (const int h : {group / 2, group / 4, 0}) out.push(h);
  }
  return out;
}

// A question is asked of the plans of one tower.
struct tower_question {
  const tower_outline& net;
  const cluster_facts& on;
  const training_bytes& bytes;
  isize samples = 1;  // of each join
  isize joins = 1;    // of a step
  tower_pin pin = {};
  std::uint32_t kinds = 1;  // of devices, which `on` has as one
  double room = 1;          // the share of a device's memory that may be filled
  double features = 0;      // bytes that a rank with its last stage has for a join, of the other towers
  // false: only the most that can be kept, zero 2 where 1 does not do, contexts where nothing else does. Zero
  // 3 is for those who ask for it
  bool thorough = true;
  // Whether replicas may share experts: of many devices that is asked apart from all else.
  bool shares_experts = true;
  estimate_options play = {};
};

// Finds the points of one tower on any number of ranks; what a stage takes is worked out once.
class tower_point_finder {
 public:
  explicit tower_point_finder(const tower_question& asked)
      : asked_(asked), learns_(!asked.net.frozen && !asked.net.cached) {}
  tower_point_finder(tower_point_finder&&) = default;  // a copy would know prices of the other one

  // The points on exactly so many ranks that fit into a device's memory by themselves.
  list<tower_point> on(isize ranks) {
    list<tower_point> out = points(ranks, asked_.thorough);
    if (out.empty() && !asked_.thorough) out = points(ranks, true);
    return out;
  }
  // The least that the fullest stage had, of all points seen so far.
  double least_bytes() const { return least_bytes_; }

 private:
  struct stage_price {
    // of the largest microbatch
    double forward = 0, backward = 0, parameters = 0, message = 0, message_bytes = 0;
    double of_experts = 0;  // of the parameters, those of experts that replicas share
    // of each microbatch, bytes
    double kept = 0;
    double layer = 0, part = 0;  // parameters of one, and of the largest that is asked for by itself
    rank_bytes standing;
  };
  static bool pinned(std::int32_t wanted, std::int32_t got) { return wanted <= 0 || wanted == got; }

  list<tower_point> points(isize ranks, bool contexts) {
    list<tower_point> out;
    each_split(ranks, contexts, [&](const degrees& split) {
      list<int> counts = microbatch_counts(asked_.samples / split.data);
      if (asked_.pin.microbatches > 0) counts = {static_cast<int>(asked_.pin.microbatches / asked_.joins)};
      bool any = false;
      for (const int group : counts) {
        if (group < 1 || group > asked_.samples / split.data) continue;
        // More would shorten bubbles that are no longer seen.
        constexpr int enough = 32;
        if (any && !asked_.thorough && group > enough * split.stages) break;
        each_sharing(split, [&](int experts) {
          each_way(split, group, experts, [&](const tower_point& made) {
            const bool fits = made.bytes <= asked_.room * asked_.on.device.memory_bytes;
            least_bytes_ = std::min(least_bytes_, made.bytes);
            if (fits) out.push(made);
            any = any || fits;
            return fits;
          });
        });
      }
    });
    return out;
  }
  template <class Visit>
  void each_split(isize ranks, bool contexts, Visit visit) const {
    const tower_pin& pin = asked_.pin;
    if (pin.ranks > 0 && pin.ranks != ranks) return;
    for (std::int32_t t = 1;
         t <= std::min<isize>({asked_.on.devices_per_node, asked_.net.keyed_heads(), ranks}); ++t) {
      if (ranks % t != 0 || asked_.net.keyed_heads() % t != 0 || !pinned(pin.tensor, t)) continue;
      for (std::int32_t c = 1; c * t <= std::min<isize>(asked_.on.devices_per_node, ranks);
           c = pin.context > 0 ? c + 1 : 2 * c) {
        if (ranks / t % c != 0 || asked_.net.tokens < c || !pinned(pin.context, c)) continue;
        for (std::int32_t p = 1; p <= std::min(asked_.net.layers, ranks / t / c); ++p) {
          const isize data = ranks / t / c / p;
          if (ranks / t / c % p != 0 || data > asked_.samples || !pinned(pin.stages, p)) continue;
          // Samples are cut only where there are more ranks than samples, or nothing else fits.
          if (c > 1 && !contexts && pin.context == 0 && data * c <= asked_.samples) continue;
          if (!pinned(pin.data, static_cast<std::int32_t>(data))) continue;
          visit(degrees{p, static_cast<std::int32_t>(data), c, t});
        }
      }
    }
  }
  // Numbers of replicas that may share experts, first that each has all of them.
  template <class Visit>
  void each_sharing(const degrees& split, Visit visit) const {
    const int pin = asked_.pin.experts, most = asked_.shares_experts || pin > 1
                                                   ? static_cast<int>(asked_.net.experts / split.tensor)
                                                   : 1;
    for (int n = 1; n == 1 || n <= std::min(most, split.data); ++n)
      if (split.data % n == 0 && pinned(pin, n)) visit(n);
  }
  // visit() says whether the point fits.
  template <class Visit>
  void each_way(const degrees& split, int group, int experts, Visit visit) {
    const tower_pin& pin = asked_.pin;
    const int most_zero = learns_ && split.data * split.context > 1 ? std::max(2, pin.zero) : 0;
    for (int zero = 0; zero <= most_zero; ++zero) {
      if (pin.zero >= 0 && pin.zero != zero) continue;
      tower_point made{
          .split = split, .microbatches = group, .zero = zero, .experts = experts, .kinds = asked_.kinds};
      bool fits = false;
      const list<int> stashes =
          pin.stash > -2 ? list<int>{pin.stash < group ? pin.stash : -1} : stash_counts(group);
      for (const int stash : stashes) {
        if (pin.recompute == 1 || (stash >= 0 && !learns_)) break;
        made.stash = stash;
        measure(made);
        fits = visit(made);
        if (fits && !asked_.thorough) break;
      }
      if (learns_ && pin.recompute != 0 && stashes[0] < 0 && (asked_.thorough || !fits || made.stash >= 0)) {
        made.stash = -1;
        made.remade = true;
        measure(made);
        fits = visit(made) || fits;
      }
      if (zero > 0 && fits && !asked_.thorough) break;
    }
  }

  // waited: what was measured under the degrees of the point; null: waits are counted.
  const list<stage_price>& prices(const tower_point& of, isize samples, const gap_shares* waited) {
    const degrees& split = of.split;
    const bool remade = of.remade;
    // The next question is mostly the last one again, of a point that keeps more or less.
    const auto key = std::tuple(split.tensor, split.context, split.stages, of.experts, samples, remade,
                                waited != nullptr ? of.zero : -1, waited != nullptr ? split.data : 1);
    if (last_ != nullptr && last_->first == key) return last_->second;
    if (const auto found = prices_.find(key); found != prices_.end()) return (last_ = &*found)->second;
    // One replica, or those that share experts, each group of which has nodes for itself: stages are priced
    // one at a time, as chunks of one device.
    tower_point alone{.split = split, .experts = of.experts, .remade = remade};
    alone.split.data = of.experts;
    plan one;
    module_plan own = module_plan_of(asked_.net, alone, 1);
    alone.split.stages = 1;
    own.chunks = split.stages;
    one.cluster.ranks = static_cast<std::int32_t>(alone.split.size());
    own.on = mesh::from(0, alone.split);
    one.modules.push(own);
    // Context parts are between the ranks that share experts; nothing is slower where both are near.
    cluster_facts near = asked_.on;
    if (split.context > 1 && of.experts > 1)
      near.devices_per_node = std::max(near.devices_per_node, one.cluster.ranks);
    const model_shape model{"", {asked_.net}};
    const plan_pricer by(one, model, near, asked_.bytes, samples * of.experts, asked_.play);
    const double layer = work_of_part(asked_.net, tower_part::block, split).parameters;
    list<stage_price> out;
    const auto layers = [&](std::int32_t s) { return layers_of_stage(own, asked_.net.layers, s).size(); };
    for (std::int32_t s = 0; s < split.stages; ++s) {
      // Stages between the first and the last differ in their number of layers alone, by one at most.
      std::int32_t like = s;
      for (std::int32_t k = 1; k < s && s + 1 < split.stages && like == s; ++k)
        if (layers(k) == layers(s)) like = k;
      if (like != s) {
        out.push(stage_price(out[like]));
        continue;
      }
      stage_seconds took = by.stage(0, s, 0, 0, -1);
      took.waits_measured = waited != nullptr;
      if (waited != nullptr) took.waited = *waited;
      const part_work work = by.work(0, s);
      const double bytes = s + 1 < split.stages ? by.boundary_bytes(0) : 0;
      out.push({took.forward(), learns_ ? took.backward() : 0, work.parameters,
                bytes > 0 ? asked_.on.inside.latency + asked_.on.inside.seconds(bytes) : 0, bytes,
                of.experts > 1 ? work.of_experts : 0, kept_bytes(by, 0, s, remade), layer,
                by.largest_part(0, s), standing_bytes(by, 0, s, remade)});
    }
    return (last_ = &*prices_.emplace(key, out).first)->second;
  }

  void measure(tower_point& of) {
    const isize own = (asked_.samples + of.split.data - 1) / of.split.data,
                largest = (own + of.microbatches - 1) / of.microbatches;
    const gap_shares* const waited = find_gaps(asked_.play.measured, asked_.net,
                                               gap_degrees_of(of.split, of.experts, of.zero), asked_.bytes);
    const list<stage_price>& stages = prices(of, largest, waited);
    const double group = static_cast<double>(own) / static_cast<double>(largest);  // in largest microbatches
    const double smallest = static_cast<double>(own / of.microbatches) / static_cast<double>(largest);
    const double again = of.stash < 0 ? 0 : group * (of.microbatches - of.stash) / of.microbatches;
    // of the replica that has least
    const double fewest = static_cast<double>(asked_.samples / of.split.data) / static_cast<double>(largest);
    const auto joins = static_cast<double>(asked_.joins);
    double forwards = 0, backwards = 0, most_forward = 0, most_backward = 0, steady = 0, behind_all = 0;
    of.least_forward = of.least_backward = of.least_bytes = of.update = 1e300;
    of.bytes = of.forward = of.backward = of.tail = of.busy = of.gradient_bytes = of.boundary_bytes = 0;
    tail_price behind;
    for (isize s = 0; s < stages.size(); ++s) {
      const stage_price& each = stages[s];
      if (s == 0 || each.parameters != stages[s - 1].parameters || each.backward != stages[s - 1].backward)
        behind = tail_of(of, each, waited != nullptr);
      const double one = each.backward + behind.each;
      const double forward = group * each.forward, backward = group * one + again * each.forward;
      of.busy = std::max(of.busy, forwards + joins * (forward + backward) + std::max(behind.last, backwards));
      behind_all = std::max(behind_all, behind.last - backwards);
      forwards += smallest * (each.forward + each.message);
      backwards += learns_ ? smallest * (one + each.message) : 0;
      most_forward = std::max(most_forward, each.forward);
      most_backward = std::max(most_backward, one);
      steady = std::max(steady, forward + backward);
      of.last_steady = forward + backward;
      of.forward = std::max(of.forward, forward);
      of.backward = std::max(of.backward, backward);
      of.least_forward = std::min(of.least_forward, fewest * each.forward);
      of.least_backward = std::min(of.least_backward, fewest / group * backward);
      of.tail = std::max(of.tail, behind.last);
      of.update = std::min(of.update, behind.update);
      const double bytes = bytes_of(of, each, s);
      of.bytes = std::max(of.bytes, bytes);
      of.least_bytes = std::min(of.least_bytes, bytes);
      of.gradient_bytes = std::max(of.gradient_bytes, each.parameters * asked_.bytes.gradient);
      of.boundary_bytes = std::max(of.boundary_bytes, group * joins * each.message_bytes);
    }
    const double lead = forwards + (group - smallest) * most_forward;
    const double drain =
        backwards + std::max((group - smallest) * most_backward,
                             again * stages.back().forward + (group - smallest) * (stages.back().backward));
    of.seconds = {lead, steady, drain + behind_all};
  }
  // Work that follows each backward of a stage, and the last one, has a price.
  struct tail_price {
    double each = 0, last = 0, update = 0;
  };
  tail_price tail_of(const tower_point& of, const stage_price& stage, bool waits_measured) const {
    tail_price out;
    if (!learns_) return out;
    const double summing = of.split.data * of.split.context;
    out.last = out.update = (of.zero > 0 ? part_of(of, stage) : stage.parameters) *
                            (2 * asked_.bytes.weight + asked_.bytes.gradient + 2 * asked_.bytes.state) /
                            asked_.on.device.bytes_per_second;
    // Measured waits have what follows each backward.
    if (summing < 2 || (waits_measured && of.zero > 1)) return out;
    const auto add = [&](double parameters, std::int32_t members, std::int32_t wide, std::int32_t sharers) {
      if (parameters <= 0 || members < 2) return;
      const std::int32_t nodes = divided_up(wide, asked_.on.devices_per_node);
      const group_layout group{nodes, divided_up(members, nodes), nodes > 1 ? sharers : 1};
      const auto sum = [&](double some) {
        return of.zero > 0 ? reduce_scatter_seconds(some, group, asked_.on)
                           : all_reduce_seconds(some, group, asked_.on);
      };
      const double bytes = parameters * asked_.bytes.gradient;
      double left = sum(bytes);
      if (asked_.play.sums_overlap)
        left = std::max(left - stage.backward, sum(std::min(bytes, bucket_bytes)));
      (of.zero > 1 ? out.each : out.last) += left;
      const double gather = all_gather_seconds(parameters * asked_.bytes.weight, group, asked_.on);
      if (of.zero > 0) (of.zero > 2 ? out.each : out.last) += of.zero > 2 ? 2 * gather : gather;
    };
    const auto members = static_cast<std::int32_t>(summing);
    add(stage.parameters - stage.of_experts, members, members * of.split.tensor, of.split.tensor);
    // Those with the same experts may be neighbours.
    add(stage.of_experts, members / of.experts, members / of.experts, 1);
    return out;
  }
  // What a rank updates of a stage where those who sum a gradient share that.
  static double part_of(const tower_point& of, const stage_price& stage) {
    const double among = of.split.data * of.split.context;
    return (stage.parameters - stage.of_experts) / among + stage.of_experts * of.experts / among;
  }
  double bytes_of(const tower_point& of, const stage_price& stage, isize s) const {
    const double among = of.split.data * of.split.context;
    rank_bytes own = stage.standing;
    const double part = part_of(of, stage);
    if (learns_ && of.zero > 0) own.state *= part / stage.parameters;
    if (learns_ && of.zero > 1 && among > 1) {
      own.gradients = std::min(stage.parameters, part + 2 * stage.layer) * asked_.bytes.gradient;
      if (of.zero > 2) own.weights = (part + stage.part) * asked_.bytes.weight;
    }
    const isize behind = of.split.stages - s, kept = of.stash < 0 ? of.microbatches : of.stash;
    const isize live =
        std::min({kept + behind, of.microbatches + behind - 1, of.microbatches * asked_.joins});
    const double homes = among * of.split.tensor,
                 width = static_cast<double>(asked_.net.embedding) * asked_.bytes.feature;
    if (behind == 1) own.features = asked_.features + 2 * static_cast<double>(asked_.samples) / homes * width;
    return own.total() + static_cast<double>(live) * stage.kept;
  }

  tower_question asked_;
  bool learns_ = true;
  double least_bytes_ = 1e300;
  using price_map =
      std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, int, isize, bool, int, std::int32_t>,
               list<stage_price>>;
  price_map prices_;
  const price_map::value_type* last_ = nullptr;
};

// Points are kept that no other one on equally many ranks beats in time, and in memory too where ranks are
// shared. They are sorted by time.
inline list<tower_point> best_points(const list<tower_point>& all, isize joins, bool memory_counts = false) {
  std::vector<std::pair<double, const tower_point*>> order;
  for (const tower_point& each : all) order.emplace_back(step_seconds(each.seconds, joins), &each);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == b.first && a.second->complexity() < b.second->complexity());
  });
  list<tower_point> out;
  for (const auto& timed : order) {
    const tower_point* const each = timed.second;
    const auto covered = [&](const tower_point& by) {
      return covers(by.seconds, each->seconds, joins) && (!memory_counts || by.bytes <= each->bytes);
    };
    if (std::none_of(out.begin(), out.end(), covered)) out.push(*each);
  }
  return out;
}

}  // namespace motet
