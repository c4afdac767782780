// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/rules.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/plan/prove/chosen_slices.hpp>
#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

namespace detail {

constexpr verdict check_module_plan(const module_plan& own, const module_facts& facts,
                                    const cluster_shape& cluster, isize k) {
  const auto at = [k](verdict found) {
    found.where = k;
    return found;
  };
  if (own.on.ranks().empty()) return {reason::no_ranks, k, 0, 1};
  if (const verdict found = check(own.on, cluster); !found.ok()) return at(found);
  if (own.chunks < 1 || own.microbatches < 1)
    return {reason::no_stages, k, own.chunks < own.microbatches ? own.chunks : own.microbatches, 1};
  if (own.group < 0 || own.microbatches % own.whole_group() != 0)
    return {reason::group_does_not_divide, k, own.group, own.microbatches};
  const degrees& split = own.on.split();
  if (split.context > 1 && !facts.attends) return {reason::context_without_attention, k, split.context, 1};
  if (facts.key_heads > 0 && split.tensor > facts.key_heads)
    return {reason::too_many_tensor_parts, k, split.tensor, facts.key_heads};
  if (own.pieces < 0 || own.pieces > most_row_pieces || (own.pieces > 1 && split.tensor == 1))
    return {reason::pieces_without_group, k, own.pieces, most_row_pieces};
  if (own.long_rows < long_rows_chosen || (own.long_rows != 0 && split.context == 1))
    return {reason::whole_without_context, k, own.long_rows, 0};
  if (own.experts < 1 || split.data % own.experts != 0)
    return {reason::experts_do_not_divide, k, own.experts, split.data};
  if (const isize sharing = isize{own.experts} * split.tensor; own.experts > 1 && facts.experts < sharing)
    return {reason::too_few_experts, k, sharing, facts.experts};
  if (own.zero < 0 || own.zero > 3) return {reason::unknown_zero_level, k, own.zero, 3};
  if (own.zero > 0 && facts.frozen) return {reason::frozen_with_optimizer, k, own.zero, 0};
  if (own.stages() > facts.layers) return {reason::more_stages_than_layers, k, own.stages(), facts.layers};
  if (!own.layers.empty()) {
    isize sum = 0, least = 1;
    for (const isize each : own.layers) {
      sum += each;
      if (each < 1) least = each;
    }
    if (least < 1 || own.layers.size() != own.stages() || sum != facts.layers)
      return {reason::layers_do_not_add_up, k, sum, facts.layers};
  }
  if (own.multiplexed && (own.fills || own.stash != -1 || own.room != 0 || own.chunks != 1 || own.ahead < 0))
    return {reason::multiplexed_and_kept, k, 0, 0};
  if (own.fills ? own.stash != -1 || own.ahead != 0 : own.room != 0)
    return {reason::filled_and_kept, k, own.fills ? own.ahead : own.room, 0};
  if (!own.remade.empty() && own.remade.size() != own.stages())
    return {reason::recompute_does_not_fit, k, own.remade.size(), own.stages()};
  if (own.offload_beyond < 0 ||
      (own.offload_beyond > 0 && (!own.remade.empty() || (facts.frozen && !facts.passes))))
    return {reason::nothing_to_offload, k, own.offload_beyond, 0};
  return {};
}

// Some modules leave gaps, and no loss has both those that fill and others: it would wait for what nobody
// waits for. The first number of the verdict is 1 where all fill.
constexpr verdict check_what_fills(const list<module_plan>& all, const list<module_facts>& facts) {
  isize fill = 0, last = 0;
  for (isize k = 0; k < all.size(); ++k) {
    if (!all[k].fills) continue;
    ++fill;
    last = k;
    for (isize n = 0; n < all.size(); ++n)
      if (!all[n].fills && facts[k].meets && facts[n].meets && facts[n].join == facts[k].join)
        return {reason::nothing_to_fill, k, 0, n};
  }
  if (fill == all.size()) return {reason::nothing_to_fill, last, 1, 0};
  return {};
}

// What is multiplexed stands before others, on their ranks. The numbers of the verdict are the rank without
// one; or who feeds it, -1 for a loss, -2 where it feeds none.
constexpr verdict check_what_is_multiplexed(const list<module_plan>& all, const list<module_facts>& facts) {
  const auto shared = [&](std::int32_t rank) {
    for (const module_plan& each : all)
      if (!each.multiplexed && !each.fills && each.on.find(rank) >= 0) return true;
    return false;
  };
  for (isize k = 0; k < all.size(); ++k) {
    if (!all[k].multiplexed) continue;
    if (facts[k].meets) return {reason::multiplexed_behind, k, -1, 0};
    for (const std::int32_t source : facts[k].from)
      if (!all[source].multiplexed && !all[source].fills) return {reason::multiplexed_behind, k, source, 0};
    bool feeds = false;
    for (isize n = 0; n < all.size(); ++n)
      for (const std::int32_t source : facts[n].from) feeds = feeds || (source == k && !all[n].fills);
    if (!feeds) return {reason::multiplexed_behind, k, -2, 0};
    for (const std::int32_t rank : all[k].on.ranks())
      if (!shared(rank)) return {reason::multiplexed_alone, k, rank, 0};
  }
  return {};
}

}  // namespace detail

// A plan fits a model and a batch by these rules: every one that does not need the schedule's order. `where`
// is the module, in the model's order. The same function serves static_assert and plans from files.
constexpr verdict check_plan(const plan& of, const list<module_facts>& facts, isize samples) {
  // First what is misspelt: the module that was meant then seems to have no ranks.
  for (isize k = 0; k < of.modules.size(); ++k) {
    bool known = false;
    for (const module_facts& each : facts) known = known || each.name == of.modules[k].name;
    if (!known) return {reason::unknown_module, k, of.modules.size(), facts.size()};
  }
  for (isize k = 0; k < facts.size(); ++k)
    if (k >= of.modules.size() || of.modules[k].name != facts[k].name)
      return {reason::no_ranks, k, of.modules.size(), facts.size()};
  if (of.modules.size() != facts.size())
    return {reason::duplicate_module, facts.size(), of.modules.size(), facts.size()};
  for (isize k = 0; k < facts.size(); ++k)
    if (const verdict found = detail::check_module_plan(of.modules[k], facts[k], of.cluster, k); !found.ok())
      return found;
  if (const verdict found = detail::check_what_fills(of.modules, facts); !found.ok()) return found;
  if (const verdict found = detail::check_what_is_multiplexed(of.modules, facts); !found.ok()) return found;
  if (const verdict found = check_lanes(of); !found.ok()) return found;
  isize voices = 0, cells = 0;
  for (isize k = 0; k < facts.size(); ++k) {
    const module_plan& own = of.modules[k];
    voices += own.on.split().size() / own.on.split().stages;
    cells += own.on.split().size() * own.chunks * own.microbatches;
    if (voices > most_voices) return {reason::too_large, k, voices, most_voices};
    if (cells > most_cells) return {reason::too_large, k, cells, most_cells};
    if (one_way(facts)) {
      // All microbatches have their forwards before any has its backward.
      const bool all_at_once = of.schedule == label(gpipe::name) && own.groups() == 1 &&
                               of.modules[0].groups() == 1 && detail::cut_alike(of.modules);
      if (own.whole_group() != 1 && !all_at_once) return {reason::before_join, k, own.whole_group(), 1};
    } else if (own.groups() != of.modules[0].groups()) {
      return {reason::joins_differ, k, own.groups(), of.modules[0].groups()};
    } else if (samples % own.groups() != 0) {
      return {reason::groups_do_not_divide_batch, k, samples, own.groups()};
    }
    const isize parts = isize{own.on.split().data} * own.microbatches;
    if (samples < parts) return {reason::too_few_samples, k, samples, parts};
  }
  return {};
}

// Checks a plan, and chooses the numbers that it leaves open: `out` has them.
constexpr verdict settle_plan(const plan& from, const list<module_facts>& facts, isize samples, plan& out) {
  out = with_whole_stages(from);
  if (const verdict found = check_plan(out, facts, samples); !found.ok()) return found;
  out = with_chosen_slices(from, facts, samples);
  return {};
}

// Proves a plan with its schedule: the numbers of that, and the order that comes of it.
// Asks for: facts of all modules in the model's order; the plan may have them in any.
// Memory: the order that the plan means, given back at the end.
// Errors: MT-M03, MT-M04, MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P09, MT-P10, MT-P11,
// MT-P28, MT-P38, MT-S01, MT-S02, MT-S03, MT-S04, MT-S05, MT-S06, MT-S07, MT-S08, MT-S09, MT-S10, MT-S11,
// MT-S12, MT-S13, MT-S14, MT-S15, MT-S16, MT-S17, MT-S18, MT-S21, MT-S22, MT-S23, MT-S24, MT-S25, MT-S26,
// MT-S31, MT-S32, MT-S33, MT-S34, MT-S35, MT-S36, MT-S37
// Example:
//   bool fits(const plan& of, const list<module_facts>& facts) { return prove_plan(of, facts, 512).ok(); }
constexpr verdict prove_plan(const plan& from, const list<module_facts>& facts, isize samples) {
  plan of;
  if (const verdict found = settle_plan(from, facts, samples, of); !found.ok()) return found;
  score order;
  if (const verdict found = write_plan(of, facts, order, samples); !found.ok()) return found;
  return prove(order);
}

// Plans that are functions without arguments are proven by static_assert(require<prove_plan<my_model,
// my_plan, 512>()>);
template <class Model, auto Plan, isize Samples>
constexpr verdict prove_plan() {
  return prove_plan(Plan(), facts_of<Model>(), Samples);
}

}  // namespace motet
