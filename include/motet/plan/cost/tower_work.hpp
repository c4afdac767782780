// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_steps.hpp>

#include <algorithm>

namespace motet {

// The work is what a part of a tower does for one sample. Numbers that a group exchanges are of whole rows,
// whoever has them: those that an all-gather makes or a reduce-scatter sums.
struct part_work {
  double forward_flops = 0;
  double input_flops = 0;   // of backward, for what came in
  double weight_flops = 0;  // of backward, for the parameters
  double parameters = 0;    // as they lie in memory
  double of_experts = 0;    // of them those of experts
  double kept = 0;          // numbers that backward reads, the rows that came in among them
  // of them those between layers, and statistics, which mixed numbers keep in 4 bytes
  double kept_stream = 0;
  // of them those rows, which are all that stays where backward makes the others again, block by block
  double remade = 0;
  double group_numbers = 0, backward_group_numbers = 0;      // of a tensor group
  double context_numbers = 0, backward_context_numbers = 0;  // of a context group
  // of replicas that share experts: rows that go there, and come back
  double expert_numbers = 0, backward_expert_numbers = 0;

  constexpr void add(const part_work& other, double times = 1) {
    for (const auto field :
         {&part_work::forward_flops, &part_work::input_flops, &part_work::weight_flops,
          &part_work::parameters, &part_work::of_experts, &part_work::kept, &part_work::kept_stream,
          &part_work::remade, &part_work::group_numbers, &part_work::backward_group_numbers,
          &part_work::context_numbers, &part_work::backward_context_numbers, &part_work::expert_numbers,
          &part_work::backward_expert_numbers})
      this->*field += times * other.*field;
  }
  constexpr double backward_flops() const { return input_flops + weight_flops; }
};

// Samples go through `before`, then `blocks` times through `block`, then through `behind`. A last block that
// is computed for one row of a sample alone is in `behind`, so there may be one block less than the tower has
// layers.
struct tower_work {
  part_work before, block, behind;
  isize blocks = 0;
  double boundary = 0;  // numbers between two blocks, or two stages
};

// One rank of a tensor and context group does this for one sample of the group: the largest share. FLOPs are
// counted as dry runs count them, with nothing taken off for a causal mask.
constexpr part_work work_of_part(const tower_outline& of, tower_part which, degrees split = {}) {
  part_work out;
  if (of.cached) return out;
  const part_steps steps = steps_of(of, which, split);
  for (const product_step& each : steps.products) {
    out.forward_flops += each.flops();
    // Nothing comes into the first part that has a gradient.
    if (which != tower_part::before) out.input_flops += each.flops();
    out.weight_flops += each.flops();
  }
  for (const attention_step& each : steps.attention) {
    out.forward_flops += 4 * each.width * each.pairs;
    out.input_flops += 10 * each.width * each.pairs;
  }
  for (const row_step& each : steps.row_by_row) {
    out.forward_flops += each.forward;
    out.input_flops += each.input;
    out.weight_flops += each.weight;
  }
  out.parameters = steps.parameters;
  out.of_experts = steps.of_experts;
  out.kept = steps.kept;
  out.kept_stream = steps.kept_stream;

  const double rows = detail::tower_steps_builder(of, split).all_rows(),
               width = static_cast<double>(of.width);
  if (which == tower_part::before && of.cut_vocabulary && of.vocabulary > 0)
    out.group_numbers = out.backward_group_numbers = rows * width;
  // Attention and perceptron each gather their rows and sum their results; backward does both once more, and
  // gathers again for the weights. Experts keep the rows that came, and where replicas share them rows go to
  // these.
  if (which == tower_part::block || which == tower_part::attention) {
    out.remade = rows * width / split.tensor;
    out.kept += out.remade;
    out.kept_stream += out.remade;
    out.group_numbers = 2 * rows * width;
    out.backward_group_numbers = 3 * rows * width;
    const double own = rows / split.tensor, queries = own * static_cast<double>(of.query_width()),
                 keys = own * static_cast<double>(of.key_width());
    // Keys and values go round to every other rank, their gradients as well; or queries, keys and values go
    // one way and the result the other.
    out.context_numbers = of.ring ? 2 * keys * split.context : 2 * (queries + keys);
    out.backward_context_numbers = (of.ring ? 2 : 1) * out.context_numbers;
  }
  if (which == tower_part::block || which == tower_part::perceptron) {
    if (of.experts > 0 && of.sharers > 1) {
      // A row goes once to each of their ranks that has an expert for it, and its sum comes back.
      out.expert_numbers = out.backward_expert_numbers =
          2 * rows / split.tensor * width *
          static_cast<double>(std::min<isize>(of.chosen, of.sharers * split.tensor)) *
          detail::tower_steps_builder(of, split).uneven();
    } else {
      out.group_numbers += 2 * rows * width;
      out.backward_group_numbers += (of.experts > 0 ? 2 : 3) * rows * width;
    }
  }
  // Embedding and end work on whole samples.
  if (which == tower_part::before || which == tower_part::behind)
    out.context_numbers = out.backward_context_numbers = rows * width / split.tensor;
  if (of.frozen)
    out.input_flops = out.weight_flops = out.kept = out.kept_stream = out.remade =
        out.backward_group_numbers = out.backward_context_numbers = out.backward_expert_numbers = 0;
  return out;
}

constexpr tower_work work_of(const tower_outline& of) {
  return {work_of_part(of, tower_part::before), work_of_part(of, tower_part::block),
          work_of_part(of, tower_part::behind), of.whole_blocks(),
          of.cached ? 0 : static_cast<double>(of.tokens * of.width)};
}

namespace detail {

// Counts a tower's parts in the layers [first, last).
struct parts_of_layers {
  bool before = false, behind = false;
  isize blocks = 0;
  constexpr parts_of_layers(const tower_outline& of, isize first, isize last)
      : before(first == 0), behind(last == of.layers) {
    const isize whole = of.whole_blocks();
    blocks = (last < whole ? last : whole) - (first < whole ? first : whole);
  }
};

}  // namespace detail

// The layers [first, last) do this: with `before` where they begin with the first, with `behind` where they
// end with the last.
constexpr part_work work_of_layers(const tower_outline& of, isize first, isize last, degrees split = {}) {
  const detail::parts_of_layers have(of, first, last);
  part_work out;
  if (have.before) out.add(work_of_part(of, tower_part::before, split));
  out.add(work_of_part(of, tower_part::block, split), static_cast<double>(have.blocks));
  if (have.behind) out.add(work_of_part(of, tower_part::behind, split));
  return out;
}

// Parameters on the rank of a tensor group that has most of them.
constexpr double held_parameters(const tower_outline& of, isize first, isize last, std::int32_t tensor) {
  return work_of_layers(of, first, last, {.tensor = tensor}).parameters;
}
constexpr double parameters_of(const tower_outline& of) { return held_parameters(of, 0, of.layers, 1); }

}  // namespace motet
