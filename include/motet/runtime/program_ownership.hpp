// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/stage.hpp>
#include <motet/runtime/gradient_ownership.hpp>
#include <motet/runtime/layer_split.hpp>
#include <motet/runtime/module_choice.hpp>
#include <motet/runtime/stage_groups.hpp>

namespace motet {

// How a rank sums the gradients of a stage that it holds.
inline reduction_plan plan_stage(std::span<const parameter> parameters, index size, const stage_groups& groups, const voice& sings,
                                 std::int32_t stage, std::int32_t rank, bucket_options options, std::span<const interval> layers = {}) {
  const auto seat = [&](std::int32_t group) {
    if (group < 0) return group_place{};
    const std::vector<std::int32_t>& members = groups.reduce()[static_cast<std::size_t>(group)];
    const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
    return group_place{static_cast<std::int32_t>(members.size()), static_cast<std::int32_t>(own)};
  };
  const stage_groups::places& own = groups.of(sings, stage);
  const std::vector<interval> shared = groups.tensor_of(sings) > 1 ? shared_runs(parameters) : std::vector<interval>{};
  return plan_reduction(size, shared, seat(own.cut), seat(own.shared), options, layers);
}

// All stages that learn, of all ranks of a program, for check(). Nothing is allocated for weights, and no rank is asked.
template <class Model>
gradient_ownership ownership_of(const program& of, const stage_groups& groups, const std::vector<module_choice>& choices) {
  gradient_ownership all;
  for (const auto& members : groups.reduce()) all.add_group(members);
  const auto add_module = [&]<std::size_t I>() {
    using stage = typename Model::template module_at<I>::net::stage;
    const module_choice choice = I < choices.size() ? choices[I] : module_choice{};
    for (const voice& sings : of.voices) {
      if (sings.module != static_cast<std::int32_t>(I) || !sings.learns) continue;
      const tensor_cut cut{groups.tensor_of(sings), groups.tensor_member(sings)};
      const std::vector<index> layers = split_layers(Model::names[I], stage::layers, sings.stages, choice.layers);
      stage_range range;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        range = {range.last, range.last + layers[static_cast<std::size_t>(s)]};
        const std::vector<parameter> own = stage::parameters_of(Model::names[I], range, cut);
        const index size = stage::parameter_end(range, cut) - stage::parameter_begin(range, cut);
        bucket_options options;
        options.shards = choice.shard_optimizer;
        const std::int32_t rank = of.place(sings, s);
        const std::vector<interval> layers_of = choice.shard_gradients ? stage::gradient_parts(range, cut) : std::vector<interval>{};
        all.add_stage(rank, own, plan_stage(own, size, groups, sings, s, rank, options, layers_of), groups.of(sings, s).cut,
                      groups.of(sings, s).shared);
      }
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add_module.template operator()<I>(), ...); }(std::make_index_sequence<Model::size>{});
  return all;
}

}  // namespace motet
