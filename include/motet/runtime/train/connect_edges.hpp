// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/fed_samples.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/row_pieces.hpp>

#include <vector>

namespace motet {

// Of each module of a model, whether ranks that cut its samples take the rows of their parts.
inline std::vector<std::uint8_t> takers_of(const model_outline& model) {
  std::vector<std::uint8_t> out;
  for (const net_outline* each : model.nets) out.push_back(each->takes_parts ? 1 : 0);
  return out;
}
// The rank of a voice takes these rows, where it and others cut its samples; else none apart. inputs: of each
// module, in the step under way.
inline rows_taker taker_of(const model_outline& model, const stage_groups& groups, const voice& sings,
                           const std::vector<module_choice>& choices, const void* const* inputs) {
  const auto module = as_size(sings.module);
  const isize parts = groups.context_of(sings);
  if (!model.nets[module]->takes_parts || parts == 1) return {};
  const bool balanced = (module < choices.size() ? choices[module] : module_choice{}).balanced;
  return {model.nets[module], inputs + module, {parts, balanced}, groups.context_member(sings)};
}
// Says whether a module feeds one of which ranks take rows so.
inline bool hands_out(const model_outline& model, const stage_groups& groups, const program& of,
                      std::size_t module) {
  for (const edge_ends& each : model.edges)
    for (const voice& sings : of.voices)
      if (each.from == module && as_size(sings.module) == each.to &&
          taker_of(model, groups, sings, {}, nullptr).takes_some())
        return true;
  return false;
}

// Rows go on over the edges of a model, from the last stage of one module to the first of another, whole or
// in pieces; `voices` are those with a stage here. `inputs` stay where they are, and change with the step.
template <class Voice>
void connect_edges(const model_outline& model, const program& of, const stage_groups& groups,
                   const list<sample_split>& splits, const std::vector<module_choice>& choices,
                   const void* const* inputs, std::vector<Voice>& voices) {
  const fed_samples fed(of, groups, splits, takers_of(model));
  // join(one, other, here): the stages at both ends, null where they live elsewhere, and whether they share a
  // rank.
  const auto visit = [&](const cell_seat& from, const cell_seat& to, auto&& join) {
    decltype(&voices[0].held[0].stage->rows()) one = nullptr, other = nullptr;
    std::int32_t one_at = -1, other_at = -2;
    for (auto& each : voices) {
      if (auto* const last = each.held.back().stage.get(); last != nullptr && each.voice == from.voice)
        one = &last->rows(), one_at = last->at().rank;
      if (auto* const first = each.held.front().stage.get(); first != nullptr && each.voice == to.voice)
        other = &first->rows(), other_at = first->at().rank;
    }
    join(one, other, one_at == other_at);
  };
  fed.each_whole([&](const cell_seat& from, const cell_seat& to) {
    visit(from, to, [](auto* one, auto* other, bool here) { here ? one->connect(*other) : void(); });
  });
  fed.each_piece([&](const cell_seat& from, const cell_seat& to, int part, int theirs, interval samples) {
    const voice &giver = of.voices[from.voice], &taker = of.voices[to.voice];
    const edge_ends& edge = model.edge_between(as_size(giver.module), as_size(taker.module));
    const auto in = static_cast<isize>(edge.into), out = static_cast<isize>(edge.out_of);
    const std::int32_t m = from.microbatch, n = to.microbatch;
    visit(from, to, [&](auto* one, auto* other, bool here) {
      if (one != nullptr) {
        rows_taker takes = taker_of(model, groups, taker, choices, inputs);
        takes.source = in;
        one->connect(true, m, {here ? other : nullptr, n, part, samples, out, theirs, taker.learns, takes});
      }
      if (other != nullptr)
        other->connect(false, n, {here ? one : nullptr, m, theirs, samples, in, part, giver.learns});
    });
  });
}

}  // namespace motet
