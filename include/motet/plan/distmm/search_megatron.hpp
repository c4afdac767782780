// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/distmm/published_systems.hpp>
#include <motet/plan/search/plan_ranking.hpp>

namespace motet {

// The baseline of the paper on DistMM, Megatron-LM without a pipeline, which would change the loss: all
// towers on all ranks, one tensor degree for them all, the smallest that fits their sum, over several nodes
// if need be; replicas on the rest. Forwards run again for what does not fit. Of unlike devices it chooses as
// if all were the slowest; plans are played on what there is. Throws MT-P85 where nothing fits, MT-P86 to
// MT-P88 for what cannot be asked.
search_result search_megatron(const model_shape& model, const cluster_facts& on, isize samples,
                              const search_options& options = {});

#if !defined(MOTET_COMPILED_PLANNER)
namespace detail {

// All towers on all ranks, cut alike; of the microbatches for a loss `kept` run forward once, the others
// again for backward.
inline plan monolith(const model_shape& model, const cluster_facts& on, degrees split, isize losses,
                     isize group, isize kept) {
  plan out;
  out.cluster = {on.devices(), on.nodes > 1 ? on.devices_per_node : 0, split.tensor > on.devices_per_node};
  for (const tower_outline& each : model.towers) {
    module_plan own = on_ranks(each.name, 0, split, static_cast<int>(losses * group));
    own.group = static_cast<int>(group);
    if (kept < group && !each.frozen && !each.cached) own.stash = static_cast<int>(kept);
    out.modules.push(own);
  }
  return out;
}

// The largest microbatches that fit, and some smaller ones of which more can be kept.
inline isize offer_monoliths(plan_ranking<>& ranking, const published_question& asked,
                             const cluster_facts& on, degrees split, isize samples) {
  const isize own = (samples / asked.losses + split.data - 1) / split.data;
  isize tried = 0, most = own;
  for (isize group = 1; group <= most && samples >= split.data * asked.losses * group;
       group = more_microbatches(own, group)) {
    const isize kept = kept_of_group(group, [&](isize count) {
      ++tried;
      return ranking.offer(monolith(asked.model, on, split, asked.losses, group, count));
    });
    if (kept >= 0) most = std::min(most, 4 * group);
    if (kept == group) break;
  }
  return tried;
}

// The smallest tensor degree that leaves room for activations, or else any that fits.
inline isize offer_all_monoliths(plan_ranking<>& ranking, const published_question& asked,
                                 const cluster_facts& on, isize samples) {
  constexpr double room[] = {0.8, 1.0};  // of a device's memory, for parameters, gradients and optimizer
  isize tried = 0, heads = asked.model.towers[0].keyed_heads();
  for (const tower_outline& each : asked.model.towers) heads = std::min(heads, each.keyed_heads());
  for (const double share_of_memory : room) {
    for (std::int32_t tensor = 1; tensor <= heads && tensor <= on.devices() && ranking.empty(); tensor *= 2) {
      const bool even = tensor % on.devices_per_node == 0 || on.devices_per_node % tensor == 0;
      if (on.devices() % tensor != 0 || !even) continue;
      double standing = 0;
      for (const tower_outline& each : asked.model.towers)
        standing +=
            held_parameters(each, 0, each.layers, tensor) * bytes_of_parameter(each, asked.options.bytes);
      if (standing > share_of_memory * on.device.memory_bytes) continue;
      // Fewer replicas than there is room for where there are fewer samples.
      const degrees split{
          .data = static_cast<std::int32_t>(std::min<isize>(on.devices() / tensor, samples / asked.losses)),
          .tensor = tensor};
      tried += offer_monoliths(ranking, asked, on, split, samples);
    }
  }
  return tried;
}

[[noreturn]] inline void refuse_monolith(const published_question& asked, const cluster_facts& on,
                                         isize samples) {
  double all = 0;
  isize biggest = 0;
  const list<tower_outline>& towers = asked.model.towers;
  for (isize k = 0; k < towers.size(); ++k) {
    all += parameters_of(towers[k]) * bytes_of_parameter(towers[k], asked.options.bytes);
    if (parameters_of(towers[k]) > parameters_of(towers[biggest])) biggest = k;
  }
  std::string text = sentence({towers[biggest].name.view(), " and the others hold ", in_words(all),
                               " whatever is computed, got ", in_words(on.device.memory_bytes),
                               " on each of ", on.devices(), " devices; "});
  constexpr std::int32_t most_nodes = 64;
  for (cluster_facts wide = on; wide.nodes < most_nodes;) {
    ++wide.nodes;
    plan_ranking there(asked.model, wide, samples, asked.options);
    offer_all_monoliths(there, asked, wide, samples);
    if (there.empty()) continue;
    fail(model_fits_nowhere, sentence({text, "the smallest cluster of this kind that would do has ",
                                       wide.nodes, " nodes of ", wide.devices_per_node, " devices"}));
  }
  fail(model_fits_nowhere,
       text + "no number of such devices would do, as no tensor group is larger than the heads are many");
}

}  // namespace detail

MOTET_BODY search_result search_megatron(const model_shape& model, const cluster_facts& on, isize samples,
                                         const search_options& options) {
  const published_question asked(model, on, samples, options);
  plan_ranking ranking(asked.model, on, samples, asked.options);
  const cluster_facts alike = as_one_kind(on);
  const isize considered = detail::offer_all_monoliths(ranking, asked, alike, samples);
  if (ranking.empty()) detail::refuse_monolith(asked, alike, samples);
  return ranking.result(considered);
}
#endif

}  // namespace motet
