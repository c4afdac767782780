// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/plan_costs.hpp>

namespace motet {

// Numbers that one stage keeps of a sample, by the layers of whoever trains.
inline double kept_numbers(const plan_pricer& by, isize k, isize stage) {
  const double uncut = by.bytes().uncut, own = by.work(k, stage).kept;
  if (uncut <= 0) return by.bytes().kept * own;
  const interval layers = layers_of_stage(by.whole().modules[k], by.model().towers[k].layers, stage);
  return by.bytes().kept *
         ((1 - uncut) * own + uncut * work_of_layers(by.model().towers[k], layers.begin, layers.end).kept);
}

// One stage keeps so much for each microbatch between its forward and its backward: where backward makes
// everything again, only the rows that came in.
inline double kept_bytes(const plan_pricer& by, isize k, isize stage, bool remade) {
  if (!by.learns(k)) return 0;
  if (remade) return stage > 0 ? by.boundary_bytes(k) : 0;
  return kept_numbers(by, k, stage) * by.largest_microbatch(k) * by.bytes().activation;
}

// One stage holds so much on each rank whatever is computed; `activations` has what is there once, however
// many microbatches are kept.
inline rank_bytes standing_bytes(const plan_pricer& by, isize k, isize stage, bool remade) {
  const part_work work = by.work(k, stage);
  const module_plan& own = by.whole().modules[k];
  const training_bytes& bytes = by.bytes();
  const double among = by.summing(k), microbatch = by.largest_microbatch(k) * bytes.activation,
               of_experts = own.experts > 1 ? work.of_experts : 0;
  // A share of the parameters, each among those who sum its gradient.
  const double part = (work.parameters - of_experts) / among + of_experts / by.summing_experts(k);
  rank_bytes out;
  out.weights = work.parameters * bytes.weight;
  if (!by.learns(k)) {
    out.activations = 2 * by.boundary_bytes(k);  // rows come in, and go out
    return out;
  }
  out.gradients = work.parameters * bytes.gradient;
  out.state = (own.zero > 0 ? part : work.parameters) * bytes.state;
  if (own.zero > 1 && among > 1) {
    // Two layers' gradients are here, and the sums of what this rank updates.
    const double layer = work_of_part(by.model().towers[k], tower_part::block, own.on.split()).parameters;
    // Its share of the weights, and those of one layer at a time.
    if (own.zero > 2) out.weights = (part + by.largest_part(k, stage)) * bytes.weight;
    out.gradients = std::min(work.parameters, part + 2 * layer) * bytes.gradient;
  }
  if (remade) out.activations = kept_numbers(by, k, stage) * microbatch;
  return out;
}

// A rank with the last stage of a module has room for a join: rows of the others, and its own with their
// gradients.
inline double feature_bytes(const plan_pricer& by, isize k) {
  const auto width = [&](isize j) {
    return static_cast<double>(by.model().towers[j].embedding) * by.bytes().feature;
  };
  const auto homes = [&](isize j) {
    const degrees& split = by.whole().modules[j].on.split();
    return static_cast<double>(split.data) * split.context * split.tensor;
  };
  double out = 2 * by.samples_of_group(k) / homes(k) * width(k);
  for (isize j = 0; j < by.model().towers.size(); ++j) {
    if (j == k) continue;
    // With a sigmoid the rows of two members are here at a time.
    const double part = by.model().join.view() == "sigmoid" ? std::min(1.0, 2 / homes(j)) : 1;
    out += part * by.samples_of_group(j) * width(j);
  }
  return out;
}

struct memory_forecast {
  list<rank_bytes> ranks;    // of each rank of the folded plan
  list<rank_bytes> modules;  // of each module on its fullest rank
};

// The costs of the program tell what its stages keep (kept_bytes). A stage has room for the largest
// microbatch in each of its slots, as the runtime reserves it, whether or not stages of a rank are full at
// the same time.
inline memory_forecast memory_of(const plan_pricer& by, const program& of, const priced_program& priced) {
  memory_forecast out;
  const isize modules = by.whole().modules.size();
  out.ranks.resize(of.ranks());
  out.modules.resize(modules);
  list<list<rank_bytes>> parts(modules, list<rank_bytes>(of.ranks()));
  list<double> again(of.ranks(), 0);  // of what backward makes again, one stage at a time
  const auto add = [](rank_bytes& to, const rank_bytes& more) {
    to.weights += more.weights, to.gradients += more.gradients, to.state += more.state,
        to.features += more.features;
  };
  for (const voice& each : of.voices) {
    const isize k = each.module;
    for (std::int32_t s = 0; s < each.stages; ++s) {
      const isize place = each.first_place + s;
      const std::int32_t rank = of.places[place];
      rank_bytes own = standing_bytes(by, k, s, priced.places[place].remade);
      if (s + 1 == each.stages && of.joins > 0) own.features = feature_bytes(by, k);
      add(out.ranks[rank], own);
      rank_bytes& part = parts[k][rank];
      add(part, own);
      const double kept = of.slots[place] * priced.costs.stages[place].kept_bytes;
      out.ranks[rank].activations += kept;
      part.activations += kept + own.activations;
      again[rank] = std::max(again[rank], own.activations);
    }
  }
  for (std::int32_t rank = 0; rank < of.ranks(); ++rank) {
    out.ranks[rank].activations += again[rank];
    for (isize k = 0; k < modules; ++k)
      if (parts[k][rank].total() > out.modules[k].total()) out.modules[k] = parts[k][rank];
  }
  return out;
}

}  // namespace motet
