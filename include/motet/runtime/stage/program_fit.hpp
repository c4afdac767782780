// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/stage_groups.hpp>
#include <motet/schedule/core/cast.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/compose.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace motet {

// The program of a score for a model, with the names of its modules. The score's modules are the model's, in
// their order; each has one voice, all meet in one join or feed those that do as the model's edges say, and
// those that are frozen go forward only (schedule/compose.hpp: without_backward).
program program_for(const model_outline& model, const score& order, bool update);
// The programs of all scores that a run takes turns in; MT-R75 where one has another cast.
std::vector<program> programs_for(const model_outline& model, std::span<const score> orders, bool update);
template <class Model>
program program_for(const score& order, bool update) {
  return program_for(outline_of_model<Model>, order, update);
}

// The tensor degree of each of so many modules, which must divide the shards that the program gives it.
inline std::vector<std::int32_t> tensor_degrees_of(const program& of,
                                                   const std::vector<module_choice>& chosen,
                                                   std::size_t modules) {
  std::vector<std::int32_t> all(modules, 1);
  for (std::size_t k = 0; k < std::min(modules, chosen.size()); ++k) all[k] = chosen[k].tensor;
  for (const voice& each : of.voices)
    if (const std::int32_t tensor = all[static_cast<std::size_t>(each.module)];
        tensor < 1 || each.shards % tensor != 0)
      fail(program_does_not_fit,
           sentence({std::string(each.name.view()), " has ", each.shards,
                     " shards in the program, tensor degree ", tensor, " must divide them"}));
  return all;
}

// And how many of its replicas in a row share experts: a part of all.
inline std::vector<std::int32_t> expert_degrees_of(const program& of,
                                                   const std::vector<module_choice>& chosen,
                                                   std::size_t modules) {
  std::vector<std::int32_t> all(modules, 1);
  for (std::size_t k = 0; k < std::min(modules, chosen.size()); ++k) all[k] = chosen[k].experts;
  const list<std::int32_t> voices = replicas_of_modules(of.voices);
  for (const voice& each : of.voices)
    if (const std::int32_t experts = all[static_cast<std::size_t>(each.module)],
        replicas = voices[each.module] / each.shards;
        experts < 1 || replicas % experts != 0)
      fail(program_does_not_fit,
           sentence({std::string(each.name.view()), " has ", replicas, " replicas in the program, of which ",
                     experts, " cannot share experts"}));
  return all;
}
inline stage_groups groups_of(const program& of, const std::vector<module_choice>& chosen,
                              std::size_t modules) {
  return {of, tensor_degrees_of(of, chosen, modules), expert_degrees_of(of, chosen, modules)};
}
// A voice has such a part of each stage's parameters.
inline tensor_cut cut_of(const voice& sings, const stage_groups& groups) {
  return {groups.tensor_of(sings), groups.tensor_member(sings), groups.experts_of(sings),
          groups.experts_member(sings)};
}

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {

// Rows that a microbatch brings again meet stages that wait for them only if all stages of its module run it
// again, or none.
inline void check_replays(const score& order) {
  list<std::int32_t> replays(order.cells(), 0);
  for (const std::int64_t code : order.codes())
    if (const cue each(code); each.what == op::re_forward)
      ++replays[order.voices()[each.voice].cell(each.stage, each.microbatch)];
  for (const voice& each : order.voices())
    for (std::int32_t s = 1; s < each.stages; ++s)
      for (std::int32_t m = 0; m < each.microbatches; ++m)
        if (replays[each.cell(s, m)] != replays[each.cell(s - 1, m)])
          fail(program_does_not_fit,
               sentence({"microbatch ", m, " of module ", each.module, " runs forward again on stage ",
                         replays[each.cell(s, m)] > 0 ? s : s - 1, " and not on its neighbour"}));
}

}  // namespace detail

MOTET_BODY program program_for(const model_outline& model, const score& order, bool update) {
  const auto wrong = [](const std::string& what) { fail(program_does_not_fit, what); };
  const auto size = static_cast<std::int32_t>(model.size());
  list<std::int32_t> voices(size, 0);
  bool learns = false;
  for (const voice& each : order.voices()) {
    if (each.module < 0 || each.module >= size)
      wrong(sentence({"the program has a module ", each.module, ", the model ", size}));
    const auto module = as_size(each.module);
    const std::string name(model.names[module]);
    ++voices[each.module];
    if (each.join != model.join_of[module])
      wrong(name + (model.meets[module]
                        ? sentence({" does not meet the others in join ", model.join_of[module]})
                        : " feeds another module and is in a join"));
    if (each.updates() && model.frozen[module])
      wrong(name + " is frozen in the model and learns in the program");
    if (!each.updates() && !model.frozen[module])
      wrong(name + " learns in the model and is frozen in the program");
    if (each.learns != (!model.frozen[module] || model.passes[module]))
      wrong(name + (each.learns ? " feeds nobody back, and the program goes backward through it"
                                : " passes gradients on in the model and does not in the program"));
    learns = learns || each.updates();
  }
  list<label> names;
  for (std::size_t k = 0; k < model.size(); ++k) {
    if (voices[static_cast<isize>(k)] == 0) wrong("the program lacks " + std::string(model.names[k]));
    names.push(label(model.names[k]));
  }
  for (const fed_cell& each : order.feeds()) {
    bool known = false;
    const auto from = as_size(order.voices()[each.from].module), to = as_size(order.voices()[each.to].module);
    for (const edge_ends& edge : model.edges) known = known || (edge.from == from && edge.to == to);
    if (!known)
      wrong(std::string(model.names[from]) + " feeds " + std::string(model.names[to]) +
            " in the program, and the model has no such edge");
  }
  for (const edge_ends& edge : model.edges) {
    bool known = false;
    for (const fed_cell& each : order.feeds())
      known = known || (as_size(order.voices()[each.from].module) == edge.from &&
                        as_size(order.voices()[each.to].module) == edge.to);
    if (!known)
      wrong(std::string(model.names[edge.from]) + " does not feed " + std::string(model.names[edge.to]) +
            " in the program");
  }
  if (!learns) wrong("every module is frozen, so there is nothing to train");
  detail::check_replays(order);
  return named_voices(compile(order, {messages::in_channels, update, true}), names);
}
MOTET_BODY std::vector<program> programs_for(const model_outline& model, std::span<const score> orders,
                                             bool update) {
  std::vector<program> all;
  for (const score& each : orders) {
    if (const cast_difference other = find_other_cast(orders.front(), each); other.is_there())
      fail(other_cast,
           sentence({"score ", all.size(), " has another cast than the first: "}) + words_of(other));
    all.push_back(program_for(model, each, update));
  }
  return all;
}
#endif

}  // namespace motet
