// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/fed_samples.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/stage/row_pieces.hpp>

#include <vector>

namespace motet {

// Of each module of a model, whether ranks that cut its samples take the rows of their parts.
inline std::vector<std::uint8_t> takers_of(const model_outline& model) {
  std::vector<std::uint8_t> out;
  for (const net_outline* each : model.nets) out.push_back(each->takes_parts ? 1 : 0);
  return out;
}

// Rows go on over the edges of a model, from the last stage of one module to the first of another, whole or
// in pieces; `voices` are those with a stage here. taker_of(voice) knows which rows enter it, where its ranks
// cut samples.
template <class Voice, class Takers>
void connect_edges(const model_outline& model, const fed_samples& fed, const program& of,
                   std::vector<Voice>& voices, Takers taker_of) {
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
        rows_taker takes = taker_of(to.voice);
        takes.source = in;
        one->connect(true, m, {here ? other : nullptr, n, part, samples, out, theirs, taker.learns, takes});
      }
      if (other != nullptr)
        other->connect(false, n, {here ? one : nullptr, m, theirs, samples, in, part, giver.learns});
    });
  });
}

}  // namespace motet
