// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/fed_samples.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/stage/row_pieces.hpp>

#include <array>
#include <vector>

namespace motet {

// Says for each module of a model whether ranks that cut its samples take the rows of their parts, or give
// those.
inline std::vector<std::uint8_t> modules_by_parts(const model_outline& model, bool net_outline::*which) {
  std::vector<std::uint8_t> out;
  for (const net_outline* each : model.nets) out.push_back(each->*which ? 1 : 0);
  return out;
}
// The samples that the feeds of a program carry, of a model.
inline fed_samples fed_samples_of(const model_outline& model, const program& of, const stage_groups& groups,
                                  const list<sample_split>& splits) {
  return {of, groups, splits, modules_by_parts(model, &net_outline::takes_parts),
          modules_by_parts(model, &net_outline::gives_parts)};
}
// The rows that cross from one voice to another: those of the giver's part and of the taker's, where ranks
// cut samples there and may have parts of them. inputs: of each module, in the step under way; null: there is
// none. long_rows: likewise, for modules whose steps find their own. `shared`: the samples of the step that
// ranks share at either end.
inline crossing_rows crossing_between(const model_outline& model, const stage_groups& groups,
                                      const voice& giver, const voice& taker,
                                      const std::vector<module_choice>& choices, const void* const* inputs,
                                      const std::array<interval, 2>& shared = {},
                                      const isize* long_rows = nullptr) {
  const auto part = [&](const voice& sings, bool net_outline::*which, isize source,
                        interval of) -> part_of_rows {
    const auto module = as_size(sings.module);
    const isize parts = groups.context_of(sings);
    if (!(model.nets[module]->*which) || parts == 1) return {};
    const module_choice chosen = module < choices.size() ? choices[module] : module_choice{};
    const void* const* const input = inputs == nullptr ? nullptr : inputs + module;
    const bool varies = chosen.long_rows < 0;
    return {model.nets[module],
            input,
            {parts, chosen.balanced, varies ? 0 : chosen.long_rows},
            groups.context_member(sings),
            of,
            source,
            varies && long_rows != nullptr ? long_rows + module : nullptr};
  };
  const edge_ends& edge = model.edge_between(as_size(giver.module), as_size(taker.module));
  return {part(giver, &net_outline::gives_parts, -1, shared[0]),
          part(taker, &net_outline::takes_parts, static_cast<isize>(edge.into), shared[1])};
}
// Says whether rows of a module are sorted for those behind it, or else at its entry, as ranks cut samples at
// the other end.
inline bool sorts_rows(const model_outline& model, const stage_groups& groups, const program& of,
                       std::size_t module, bool behind) {
  for (const edge_ends& each : model.edges)
    for (const voice& sings : of.voices) {
      const std::size_t other = behind ? each.to : each.from;
      if ((behind ? each.from : each.to) != module || as_size(sings.module) != other) continue;
      const net_outline& net = *model.nets[other];
      if ((behind ? net.takes_parts : net.gives_parts) && groups.context_of(sings) > 1) return true;
    }
  return false;
}

// Rows go on over the edges of a model, from the last stage of one module to the first of another, whole or
// in pieces; `voices` are those with a stage here. `inputs` stay where they are, and change with the step, as
// do long_rows.
template <class Voice>
void connect_edges(const model_outline& model, const program& of, const stage_groups& groups,
                   const list<sample_split>& splits, const std::vector<module_choice>& choices,
                   const void* const* inputs, std::vector<Voice>& voices, const isize* long_rows = nullptr) {
  const fed_samples fed = fed_samples_of(model, of, groups, splits);
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
    const crossing_rows crossing =
        crossing_between(model, groups, giver, taker, choices, inputs,
                         {fed.leaving(from.voice, m), fed.entering(to.voice, n)}, long_rows);
    visit(from, to, [&](auto* one, auto* other, bool here) {
      if (one != nullptr)
        one->connect(true, m,
                     {here ? other : nullptr, n, part, samples, out, theirs, taker.learns, crossing});
      if (other != nullptr)
        other->connect(false, n,
                       {here ? one : nullptr, m, theirs, samples, in, part, giver.learns, crossing});
    });
  });
}

}  // namespace motet
