// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/gradient_ownership.hpp>
#include <motet/runtime/stage/layer_split.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/program_fit.hpp>
#include <motet/runtime/stage/stage_groups.hpp>

namespace motet {

// The options say how a module's gradients are cut. What is packed every rank has whole, so less is where
// weights are shared.
inline bucket_options buckets_of(const module_choice& choice) {
  bucket_options options;
  options.shards = choice.shard_optimizer;
  if (choice.shard_weights) options.packed = 128;
  return options;
}
// The layout says how a rank sums the gradients of a stage that it holds.
inline reduction_layout reduction_of_stage(std::span<const parameter> parameters, isize size,
                                           const stage_groups& groups, const voice& sings, std::int32_t stage,
                                           std::int32_t rank, bucket_options options,
                                           std::span<const interval> layers = {}) {
  const auto seat = [&](std::int32_t group) {
    if (group < 0) return group_seat{};
    const std::vector<std::int32_t>& members = groups.reduce()[as_size(group)];
    const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
    return group_seat{static_cast<std::int32_t>(members.size()), static_cast<std::int32_t>(own)};
  };
  const std::vector<std::int32_t>& numbers = groups.of(sings, stage).sums;
  std::vector<summed_runs> others;
  for (std::size_t l = 1; l < numbers.size(); ++l)
    others.push_back({seat(numbers[l]), runs_of(parameters, [&](cut_by what) {
                        return groups.lane_of(sings, what) == static_cast<int>(l);
                      })});
  return lay_out_reduction(size, seat(numbers[0]), others, options, layers);
}

// All stages that learn, of all ranks of a program, for check(). Nothing is allocated for weights, and no
// rank is asked.
gradient_ownership ownership_of(const model_outline& model, const program& of, const stage_groups& groups,
                                const std::vector<module_choice>& choices);
// Muon's matrices are whole, with their gradients, wherever they are updated; else MT-R29. All ranks find the
// same.
inline void require_whole_matrices(const model_outline& model, const program& of, const stage_groups& groups,
                                   const std::vector<module_choice>& choices, optimizer_kind by) {
  if (by != optimizer_kind::muon) return;
  for (const voice& sings : of.voices) {
    if (!sings.updates()) continue;
    const auto module = as_size(sings.module);
    const net_outline& net = *model.nets[module];
    bool any = false;
    for (const parameter& each : net.parameters_of(model.names[module], {0, net.layers}, {}))
      any = any || moves_as_matrix(each, by);
    if (!any) continue;
    const auto refuse = [&](const std::string& what) {
      fail(optimizer_does_not_fit,
           sentence({"Muon moves whole matrices, and those of ", model.names[module], " are cut by ", what}));
    };
    if (const std::int32_t tensor = groups.tensor_of(sings); tensor > 1)
      refuse(sentence({"tensor = ", tensor}));
    if (const std::int32_t experts = groups.experts_of(sings); experts > 1)
      refuse(sentence({"experts = ", experts}));
    for (std::int32_t s = 0; module < choices.size() && choices[module].shard_optimizer && s < sings.stages;
         ++s)
      if (groups.of(sings, s).sums[0] >= 0) refuse("zero, as ranks share the optimizer");
  }
}
// Where adapters drop what goes into them, samples are whole and so are products; else MT-R38. All ranks find
// the same.
inline void require_whole_dropout(const model_outline& model, const program& of, const stage_groups& groups) {
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    const net_outline& net = *model.nets[module];
    if (!net.drops_by_rows) continue;
    const auto refuse = [&](const char* axis, std::int32_t members) {
      if (members > 1)
        fail(dropout_is_cut,
             sentence({model.names[module], " has adapters with dropout, and ", axis, " = ", members}));
    };
    refuse("tensor", groups.tensor_of(sings));
    refuse("context", groups.context_of(sings));
  }
}
// Blocks that look at rows of another module have samples whole; else MT-N30. All ranks find the same.
inline void require_rows_beside(const model_outline& model, const program& of, const stage_groups& groups) {
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    if (!model.nets[module]->looks_beside) continue;
    if (const int members = groups.context_of(sings); members > 1)
      enforce({reason::beside_in_parts, 0, members, 1}, std::string(model.names[module]));
  }
}
// A table that a net reads at both ends is in one stage, and what both add to its gradient comes together
// before it is summed; else MT-R59. All ranks find the same.
inline void require_whole_tables(const model_outline& model, const program& of,
                                 const std::vector<module_choice>& choices) {
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    if (!model.nets[module]->ends_share_table) continue;
    if (sings.stages > 1)
      fail(table_is_parted, sentence({model.names[module], " is tied, and stages = ", sings.stages}));
    if (sings.updates() && module < choices.size() && choices[module].shard_gradients)
      fail(table_is_parted,
           sentence({model.names[module], " is tied, and zero = ", choices[module].shard_weights ? 3 : 2}));
  }
}
// Weights that are kept in shares come together layer by layer; else MT-R67, and MT-R66 where ranks lend
// none. All ranks find the same.
inline void require_lent_weights(const model_outline& model, const program& of, const stage_groups& groups,
                                 const std::vector<module_choice>& choices, bool lends) {
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    if (!sings.updates() || module >= choices.size() || !choices[module].shard_weights) continue;
    const net_outline& net = *model.nets[module];
    const tensor_cut cut = cut_of(sings, groups);
    const stage_range whole{0, net.layers};
    const std::string name(model.names[module]);
    if (!lends) fail(weights_not_lent, name + ": zero = 3");
    if (net.resting_size(whole, cut) > 0)
      fail(weights_without_layers, name + " learns by adapters, and zero = 3");
    if (net.weight_parts(whole, cut).empty() && net.span_of(whole, cut).size() > 0)
      fail(weights_without_layers, name + " has a stage without weight_parts, and zero = 3");
  }
}
// Each stage of a module that learns has something to learn: halves of blocks may have no adapters. All ranks
// find the same.
inline void require_parameters(const model_outline& model, const program& of, const stage_groups& groups,
                               const std::vector<module_choice>& choices) {
  for (const voice& sings : of.voices) {
    const auto module = as_size(sings.module);
    const net_outline& net = *model.nets[module];
    const tensor_cut cut = cut_of(sings, groups);
    if (!sings.updates() || net.blocks == net.layers) continue;
    const bool chosen = module < choices.size();
    const std::vector<isize> layers = split_layers(model.names[module], net.layers, sings.stages,
                                                   chosen ? choices[module].layers : std::vector<isize>{});
    stage_range range;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      range = {range.last, range.last + layers[as_size(s)]};
      if (net.span_of(range, cut).size() == 0)
        fail(program_does_not_fit, sentence({"stage ", s, " of ", model.names[module],
                                             " is half a block without adapters, so nothing ",
                                             "of it learns; give it two layers, or adapters to that half"}));
    }
  }
}
// Some parts of a net are whole on each rank that has them, whatever the plan.
inline void require_whole_parts(const model_outline& model, const program& of, const stage_groups& groups,
                                const std::vector<module_choice>& choices, optimizer_kind by) {
  require_whole_matrices(model, of, groups, choices, by);
  require_whole_dropout(model, of, groups);
  require_whole_tables(model, of, choices);
  require_rows_beside(model, of, groups);
  require_parameters(model, of, groups, choices);
}
template <class Model>
gradient_ownership ownership_of(const program& of, const stage_groups& groups,
                                const std::vector<module_choice>& choices) {
  return ownership_of(outline_of_model<Model>, of, groups, choices);
}

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY gradient_ownership ownership_of(const model_outline& model, const program& of,
                                           const stage_groups& groups,
                                           const std::vector<module_choice>& choices) {
  gradient_ownership all;
  for (const auto& members : groups.reduce()) all.add_group(members);
  for (const voice& sings : of.voices) {
    if (!sings.updates()) continue;
    const auto module = as_size(sings.module);
    const net_outline& net = *model.nets[module];
    const module_choice choice = module < choices.size() ? choices[module] : module_choice{};
    const tensor_cut cut = cut_of(sings, groups);
    const std::vector<isize> layers =
        split_layers(model.names[module], net.layers, sings.stages, choice.layers);
    stage_range range;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      range = {range.last, range.last + layers[as_size(s)]};
      const std::vector<parameter> own = net.parameters_of(model.names[module], range, cut);
      const isize size = net.span_of(range, cut).size();
      const bucket_options options = buckets_of(choice);
      const std::int32_t rank = of.place(sings, s);
      const std::vector<interval> layers_of =
          choice.shard_gradients ? net.gradient_parts(range, cut) : std::vector<interval>{};
      all.add_stage(rank, own, reduction_of_stage(own, size, groups, sings, s, rank, options, layers_of),
                    groups.of(sings, s).sums);
    }
  }
  return all;
}
#endif

}  // namespace motet
