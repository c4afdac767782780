// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/disttrain/counted_graph.hpp>
#include <motet/plan/prove/check_plan.hpp>

#include <algorithm>

namespace motet {

namespace detail {

// Walks through the plans of a graph of modules. Modules that follow each other in the model's order share
// ranks, as a group; groups have ranks of their own, one behind the other. In a group the module with most
// work has all degrees, those before it are with its first stage and those behind it with its last one; they
// have whole samples where it cuts the rows of its own, or, where these have rows enough, parts as well, in
// the place of its tensor parts or beside them. Or all modules without a loss are spread over the ranks of
// the others by samples or parts of these, and may compute where these would wait; or by samples between
// their computations. Each of these also with experts that replicas share, where that was counted.
template <class Visit>
class graph_plans {
 public:
  graph_plans(const counted_graph& of, Visit visit) : of_(of), visit_(static_cast<Visit&&>(visit)) {
    for (isize k = 0; k < modules(); ++k) shares_.push(of_.share(k));
    for (const counted_cut& each : of_.cuts)
      if (std::find(sharing_.begin(), sharing_.end(), each.experts) == sharing_.end())
        sharing_.push(each.experts);
  }

  void run() {
    constexpr isize most_cuts = 6;
    const isize cuts = modules() - 1 < most_cuts ? modules() - 1 : most_cuts;
    for (std::uint32_t cut = 0; cut < (std::uint32_t{1} << cuts); ++cut) {
      groups_.clear();
      groups_.push({0, 1});
      for (isize k = 1; k < modules(); ++k) {
        if (k <= cuts && (cut >> (k - 1) & 1) != 0) groups_.push({k, k + 1});
        else groups_.back().end = k + 1;
      }
      made_.clear();
      made_.resize(modules(), {});
      pick_ranks(0, 0);
    }
    nest();
  }

 private:
  using group = interval;
  isize modules() const { return of_.facts.size(); }
  double share_of(const group& all) const {
    double sum = 0;
    for (isize k = all.begin; k < all.end; ++k) sum += shares_[k];
    return sum;
  }
  isize heaviest(const group& all) const {
    isize found = all.begin;
    for (isize k = all.begin; k < all.end; ++k)
      if (shares_[k] > shares_[found]) found = k;
    return found;
  }
  // Few ranks are tried in any number, many in powers of two and whole nodes.
  bool is_tried(std::int32_t ranks) const {
    return of_.ranks <= 16 || (ranks & (ranks - 1)) == 0 || ranks % of_.on.devices_per_node == 0;
  }

  // Each group has ranks about as its work asks for, the last one those that are left.
  void pick_ranks(isize g, std::int32_t first) {
    if (g == groups_.size()) return each_microbatches();
    const std::int32_t left = of_.ranks - first, others = static_cast<std::int32_t>(groups_.size() - g - 1);
    const double even = share_of(groups_[g]) * of_.ranks;
    // Ranks that hardly compute are not worth a place of their own.
    if (groups_.size() > 1 && even < 0.25) return;
    for (std::int32_t ranks = others > 0 ? 1 : left; ranks <= left - others; ++ranks) {
      if (others > 0 && (!is_tried(ranks) || ranks > 3 * even + 1 || 3 * ranks + 3 < even)) continue;
      pick_degrees(g, first, ranks);
    }
    // A rank may idle where the others cannot use it.
    if (others == 0 && left > 1) pick_degrees(g, first, left - 1);
  }
  void pick_degrees(isize g, std::int32_t first, std::int32_t ranks) {
    each_degrees(ranks, heaviest(groups_[g]), [&](const degrees& split) {
      for (const light_modules have : {whole_samples, by_samples, parts_of_rows, all_by_rows}) {
        if (!differs(groups_[g], split, have)) continue;
        put(groups_[g], first, split, have);
        pick_ranks(g + 1, first + ranks);
      }
    });
  }
  template <class Each>
  void each_degrees(std::int32_t ranks, isize module, Each&& each) const {
    for (const counted_cut& cut : of_.cuts) {
      const std::int32_t of_sample = cut.tensor * cut.context;
      if (cut.experts > 1) continue;  // share_experts() asks for these
      if (cut.context > 1 && !of_.cuts_rows(module, cut.context)) continue;
      for (std::int32_t stages = 1; stages * of_sample <= ranks && stages <= of_.facts[module].layers;
           ++stages)
        if (ranks % (stages * of_sample) == 0)
          if (const std::int32_t data = ranks / stages / of_sample; data <= of_.samples)
            each(degrees{.stages = stages, .data = data, .context = cut.context, .tensor = cut.tensor});
    }
  }
  // What a group's light modules have beside the heavy one: whole samples with its tensor parts, or without;
  // or its context parts as it has them, or as many as it has of both.
  enum light_modules : std::uint8_t { whole_samples, by_samples, parts_of_rows, all_by_rows };
  static degrees cut_of(const degrees& split, light_modules have) {
    if (have == by_samples) return {.data = split.data * split.context * split.tensor};
    if (have == parts_of_rows) return {.data = split.data, .context = split.context, .tensor = split.tensor};
    if (have == all_by_rows) return {.data = split.data, .context = split.context * split.tensor};
    return {.data = split.data * split.context, .tensor = split.tensor};
  }
  // Says whether that is another plan than those before. Parts are of modules before the loss, at least.
  bool differs(const group& all, const degrees& split, light_modules have) const {
    if (have == whole_samples) return true;
    if (all.size() == 1 || (have == parts_of_rows ? split.context : split.tensor) == 1) return false;
    if (have == by_samples) return true;
    const degrees light = cut_of(split, have);
    if (!of_.has_cut(light)) return false;
    const isize heavy = heaviest(all);
    bool before_loss = false, others = split.data * split.context > of_.samples;
    for (isize k = all.begin; k < all.end; ++k) {
      const bool cut = k == heavy ? split.context > 1 : of_.cuts_rows(k, light.context);
      before_loss = before_loss || (cut && !of_.facts[k].meets);
      others = others || (cut && k != heavy);
    }
    return before_loss && others;
  }
  // Modules whose rows nobody cuts have whole samples where there are as many.
  degrees light_cut(isize module, const degrees& split, light_modules have) const {
    const degrees cut = cut_of(split, have);
    if (cut.context == 1 || of_.cuts_rows(module, cut.context)) return cut;
    const degrees whole = cut_of(split, have == all_by_rows ? by_samples : whole_samples);
    return whole.data <= of_.samples ? whole
                                     : degrees{.data = split.data, .tensor = split.context * split.tensor};
  }
  void put(const group& all, std::int32_t first, const degrees& split, light_modules have) {
    const isize heavy = heaviest(all);
    const std::int32_t of_stage = split.data * split.context * split.tensor,
                       last = first + (split.stages - 1) * of_stage;
    for (isize k = all.begin; k < all.end; ++k)
      made_[k] = k == heavy
                     ? on_ranks(of_.facts[k].name, first, split)
                     : on_ranks(of_.facts[k].name, k < heavy ? first : last, light_cut(k, split, have));
  }
  void nest() {
    isize first = modules();
    for (isize k = modules(); k-- > 0 && of_.facts[k].meets;) first = k;
    if (first == 0 || first == modules()) return;
    const group meet{first, modules()};
    groups_.clear();
    groups_.push(meet);
    each_degrees(of_.ranks, heaviest(meet), [&](const degrees& split) {
      if (split.stages * split.context * split.tensor == 1) return;
      put(meet, 0, split, whole_samples);
      for (const counted_cut& cut : of_.cuts)
        if (cut.tensor == 1 && cut.experts == 1) spread_before(first, cut.context);
      if (split.stages > 1) multiplex_before(first, made_[heaviest(meet)].on);
    });
  }
  // Modules before the first one with a loss are on all ranks, so many of which share each sample.
  void spread_before(isize first, std::int32_t parts) {
    if (of_.ranks % parts != 0 || of_.ranks / parts > of_.samples) return;
    bool cuts = parts == 1;
    for (isize k = 0; k < first; ++k) cuts = cuts || of_.cuts_rows(k, parts);
    if (!cuts) return;
    for (const bool fills : {false, true}) {
      for (isize k = 0; k < first; ++k) {
        made_[k] = on_ranks(of_.facts[k].name, 0,
                            light_cut(k, {.data = of_.ranks / parts, .tensor = parts}, all_by_rows));
        made_[k].fills = fills;
      }
      each_microbatches();
    }
  }
  // Modules before the first one with a loss have a part of each of its microbatches on each rank, or on each
  // of its tensor groups; the ranks of a replica have parts of its own samples. What messages take is hidden
  // where they come a forward earlier than needed.
  void multiplex_before(isize first, const mesh& talk) {
    const degrees& split = talk.split();
    list<std::int32_t> ranks;
    for (std::int32_t r = 0; r < split.data; ++r)
      for (std::int32_t s = 0; s < split.stages; ++s)
        for (std::int32_t c = 0; c < split.context; ++c)
          for (std::int32_t t = 0; t < split.tensor; ++t) ranks.push(talk.rank({s, r, c, t}));
    for (const std::int32_t tensor : {1, split.tensor}) {
      const auto data = static_cast<std::int32_t>(ranks.size()) / tensor;
      for (const int ahead : {0, 1}) {
        for (isize k = 0; k < first; ++k) {
          made_[k] = {.name = of_.facts[k].name, .on = mesh({.data = data, .tensor = tensor}, ranks)};
          made_[k].multiplexed = true;
          made_[k].ahead = ahead;
        }
        each_microbatches();
      }
      if (split.tensor == 1) break;
    }
  }

  // All modules have equally many microbatches of a step, or one of each replica where these are more; those
  // that are multiplexed have as many as the others.
  void each_microbatches() {
    for (const std::int32_t replicas : sharing_)
      if (share_experts(replicas)) each_number_of_microbatches();
  }
  // As many replicas as can share the experts of each module with some, up to these; false where none do.
  bool share_experts(std::int32_t replicas) {
    bool any = replicas == 1;
    for (isize k = 0; k < modules(); ++k) {
      const degrees& split = made_[k].on.split();
      const bool own = split.data % replicas == 0 && isize{replicas} * split.tensor <= of_.facts[k].experts;
      made_[k].experts = own ? replicas : 1;
      any = any || own;
    }
    return any;
  }
  void each_number_of_microbatches() {
    std::int32_t narrowest = of_.ranks;
    bool flows = groups_.size() > 1 || groups_[0].begin > 0;
    for (const module_plan& each : made_) {
      narrowest = each.on.split().data < narrowest ? each.on.split().data : narrowest;
      flows = flows || each.on.split().stages > 1;
    }
    constexpr int most = 64;
    for (int parts = 1; parts <= most && isize{parts} * narrowest <= of_.samples; parts *= 2) {
      plan out;
      out.cluster = of_.shape();
      for (module_plan each : made_) {
        each.microbatches = each.multiplexed ? parts : parts * narrowest / each.on.split().data;
        if (each.microbatches < 1) each.microbatches = 1;
        each.group = 1;
        out.modules.push(each);
      }
      for (const char* const schedule : {"1f1b", "zb_h1"}) {
        out.schedule = schedule;
        if (check_plan(out, of_.facts, of_.samples).ok()) visit_(out);
        if (!flows || parts == 1) break;
      }
      if (parts > 1) each_chunks(out);
    }
  }
  // The module with the loss may have several stages on each of its ranks, in rounds of microbatches.
  void each_chunks(plan& out) {
    const auto meets = [&](isize k) { return of_.facts[k].meets && out.modules[k].on.split().stages > 1; };
    isize deep = 0;
    while (deep < modules() && !meets(deep)) ++deep;
    if (deep == modules()) return;
    module_plan& own = out.modules[deep];
    const std::int32_t stages = own.on.split().stages;
    out.schedule = "interleaved";
    for (own.chunks = 2; own.chunks <= 4 && own.stages() <= of_.facts[deep].layers; own.chunks *= 2)
      if (own.microbatches % stages == 0 && check_plan(out, of_.facts, of_.samples).ok()) visit_(out);
  }

  const counted_graph& of_;
  Visit visit_;
  list<double> shares_;  // of each module
  list<group> groups_;
  list<module_plan> made_;      // of each module, without its microbatches
  list<std::int32_t> sharing_;  // replicas that share experts: numbers that were counted, first 1
};

}  // namespace detail

// Calls visit(plan) for the plans of a graph that are worth a look; each passes check_plan().
template <class Visit>
void each_graph_plan(const counted_graph& of, Visit visit) {
  detail::graph_plans<Visit>(of, visit).run();
}

}  // namespace motet
