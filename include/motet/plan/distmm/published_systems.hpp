// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/search/search_refusals.hpp>

namespace motet {

// The question has what the systems of the paper on DistMM (Huang et al., NSDI'24) have in common, and this
// library does otherwise.
struct published_question {
  model_shape model;  // its tables of tokens are cut by tensor parallelism, as Megatron-LM does
  search_options options;
  isize losses = 1;  // in a step

  // Throws MT-P86 to MT-P88 for what no search could answer.
  published_question(const model_shape& of, const cluster_facts& on, isize samples,
                     const search_options& asked)
      : model(of), options(asked) {
    require_question(of, on, samples, asked);
    if (!asked.pins.empty())
      fail(pins_contradict, std::string(asked.pins[0].name.view()) + ": a pin, and a search by fixed rules");
    for (tower_outline& each : model.towers) each.cut_vocabulary = true;
    // Gradients are summed when all of them are there, and those of features travel.
    options.play.sums_overlap = false;
    options.play.exchange_gradients = true;
    if (asked.contrastive_batch > 0) losses = samples / asked.contrastive_batch;
  }
};

// The next number of microbatches for so many samples that makes them smaller, by an eighth or so; more than
// `samples` at the end.
constexpr isize more_microbatches(isize samples, isize count) {
  const auto size = [&](isize parts) { return (samples + parts - 1) / parts; };
  const isize wanted = std::min(size(count) - 1, size(count + count / 8));
  return wanted < 1 ? samples + 1 : size(wanted);
}

// So many microbatches of a group can be kept from their first forward, while the others run again: the most
// that fits(count) allows; -1: not even none.
template <class Fits>
isize kept_of_group(isize group, Fits fits) {
  if (fits(group)) return group;
  if (!fits(0)) return -1;
  isize low = 0, high = group;
  while (high - low > 1) {
    const isize middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

// A parameter takes so many bytes, with its gradient and what the optimizer keeps for it.
constexpr double bytes_of_parameter(const tower_outline& of, const training_bytes& bytes) {
  return of.frozen || of.cached ? bytes.weight : bytes.weight + bytes.gradient + bytes.state;
}

}  // namespace motet
