// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/train/connect_edges.hpp>
#include <motet/runtime/train/step_long_rows.hpp>

#include <array>
#include <map>
#include <memory>
#include <span>

namespace motet {

namespace detail {

// The rows that cross between the stages of a program's voices, found as both ends of each message find them.
class counted_rows {
 public:
  counted_rows(const model_outline& model, const program& of, const stage_groups& groups,
               const list<sample_split>& splits, const std::vector<module_choice>& choices,
               std::span<const void* const> inputs)
      : model_(model),
        of_(of),
        groups_(groups),
        choices_(choices),
        inputs_(inputs),
        long_rows_(model, of, groups, choices) {
    if (!inputs.empty()) long_rows_.find(inputs, splits);
    for (std::size_t k = 0; k < model.size(); ++k)
      one_sample_.push_back(model.nets[k]->microbatches({1, 1, 1, 1}, 0, {}, {}, {}, 0));
    for (const voice& sings : of.voices) {
      const std::size_t k = as_size(sings.module);
      const spread_seat seat = seat_with(seat_of(sings, groups), choice_of(k));
      parts_.push_back(model.nets[k]->microbatches(
          splits[sings.module], sings.replica, seat,
          any_group(static_cast<int>(seat.tensor), static_cast<int>(seat.tensor_member)),
          any_group(static_cast<int>(seat.context), static_cast<int>(seat.context_member)), 0));
      if (!inputs.empty()) long_rows_.cut(k, *parts_.back(), inputs[k]);
    }
  }

  // The bytes of a microbatch that pass between two stages of its voice.
  double between_stages(std::int32_t v, std::int32_t m) const {
    const voice& sings = of_.voices[v];
    const auto module = as_size(sings.module);
    const net_outline& net = *model_.nets[module];
    const any_microbatches& own = *parts_[as_size(v)];
    if (!inputs_.empty()) return static_cast<double>(own.rows(m).rows() + net.rows_along(own.entering(m)));
    const spread_seat seat = seat_of(sings, groups_);
    const interval shared = samples_of_rank(own.of(m), seat.tensor, seat.tensor_member, 1, 0);
    const isize entering = one_sample_[module]->entering(any_microbatches::largest);
    return static_cast<double>(shared.size() * cut_of(sings).rows_of(longest(module), seat.context_member) +
                               net.rows_along(shared.size() * entering));
  }
  // All of a microbatch that leave its voice.
  double leaving(std::int32_t v, std::int32_t m) const {
    const any_microbatches& own = *parts_[as_size(v)];
    return static_cast<double>(inputs_.empty() ? own.mine(m).size() * given(as_size(of_.voices[v].module))
                                               : own.rows_that_go_on(m));
  }
  // The bytes of these samples alone, of which either end may have a part.
  double leaving(const fed_samples& fed, const cell_seat& from, const cell_seat& to, interval samples) const {
    const voice &giver = of_.voices[from.voice], &taker = of_.voices[to.voice];
    const auto module = as_size(giver.module), other = as_size(taker.module);
    const crossing_rows crossing = crossing_between(
        model_, groups_, giver, taker, choices_, inputs_.data(),
        {fed.leaving(from.voice, from.microbatch), fed.entering(to.voice, to.microbatch)}, long_rows_.all());
    if (inputs_.empty()) {
      const auto share = [&](const part_of_rows& part, std::size_t of) {
        const sequences whole = longest(of);
        return part.is_part() ? static_cast<double>(part.cut.rows_of(whole, part.part)) /
                                    static_cast<double>(whole.rows())
                              : 1;
      };
      return static_cast<double>(samples.size() * given(module)) * share(crossing.given, module) *
             share(crossing.taken, other);
    }
    if (crossing.cuts()) return static_cast<double>(crossing.count(samples));
    const any_microbatches& own = *parts_[as_size(from.voice)];
    const net_outline& net = *model_.nets[module];
    return static_cast<double>(first_row_given(net, own, from.microbatch, samples.end) -
                               first_row_given(net, own, from.microbatch, samples.begin));
  }

 private:
  module_choice choice_of(std::size_t module) const {
    return module < choices_.size() ? choices_[module] : module_choice{};
  }
  row_parts cut_of(const voice& sings) const {
    return {groups_.context_of(sings), choice_of(as_size(sings.module)).balanced};
  }
  // A sample that is as long as any can be has so many rows, and gives so many.
  sequences longest(std::size_t module) const {
    return one_sample_[module]->whole_rows(any_microbatches::largest);
  }
  isize given(std::size_t module) const {
    return one_sample_[module]->rows_that_go_on(any_microbatches::largest);
  }

  const model_outline& model_;
  const program& of_;
  const stage_groups& groups_;
  const std::vector<module_choice>& choices_;
  std::span<const void* const> inputs_;
  step_long_rows long_rows_;
  std::vector<std::unique_ptr<any_microbatches>> one_sample_;  // of each module
  std::vector<std::unique_ptr<any_microbatches>> parts_;       // of each voice
};

}  // namespace detail

// The bytes that each instruction of a program sends, as both ends of the message count them; none where it
// is no message. inputs: of each module what the step has; none: all samples are as long as any can be, and
// rows that enter one have their places evenly in it. A number of a row has `number` bytes.
inline list<double> message_bytes(const model_outline& model, const program& of, const stage_groups& groups,
                                  const std::vector<module_choice>& choices, isize samples, isize number,
                                  std::span<const void* const> inputs = {}) {
  const list<sample_split> splits = splits_of(of, samples);
  const detail::counted_rows rows(model, of, groups, splits, choices, inputs);
  const fed_samples fed = fed_samples_of(model, of, groups, splits);
  // Over an edge as many go to the last stage of a microbatch, and back to the first: part by part.
  std::map<std::array<std::int32_t, 4>, double> over_edges;
  const auto cross = [&](const cell_seat& from, const cell_seat& to, int part, int theirs, double count) {
    count *= static_cast<double>(model.nets[as_size(of.voices[from.voice].module)]->embedding);
    over_edges[{0, from.voice, from.microbatch, part}] = over_edges[{1, to.voice, to.microbatch, theirs}] =
        count;
  };
  fed.each_whole([&](const cell_seat& from, const cell_seat& to) {
    for (std::int32_t m = 0; m < of.voices[from.voice].microbatches; ++m)
      cross({from.voice, from.stage, m}, {to.voice, to.stage, m}, 0, 0, rows.leaving(from.voice, m));
  });
  fed.each_piece([&](const cell_seat& from, const cell_seat& to, int part, int theirs, interval some) {
    cross(from, to, part, theirs, rows.leaving(fed, from, to, some));
  });
  list<double> found(of.instructions.size(), 0);
  for (isize i = 0; i < found.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (!is_send(it.what)) continue;
    const voice& sings = of.voices[it.voice];
    const bool back = it.what == op::send_backward;
    const bool within = back ? it.stage > 0 : it.stage + 1 < sings.stages;
    const double numbers = within ? rows.between_stages(it.voice, it.microbatch) *
                                        static_cast<double>(model.nets[as_size(sings.module)]->width)
                                  : over_edges[{back ? 1 : 0, it.voice, it.microbatch, it.part}];
    found[i] = numbers * static_cast<double>(number);
  }
  return found;
}

}  // namespace motet
