// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/plan/describe/training_bytes.hpp>

namespace motet {

struct rank_bytes {
  double weights = 0, gradients = 0, state = 0, activations = 0, features = 0;
  constexpr double total() const { return weights + gradients + state + activations + features; }
};

// A forecast of one module.
struct module_forecast {
  double forward_seconds = 0, backward_seconds = 0;  // of one microbatch at its slowest stage
  // the largest share of these in which a stage waits for others of its groups, and whether that was measured
  double forward_waits = 0, backward_waits = 0;
  bool waits_measured = false;
  // of its model in a step, forward and backward, nothing twice
  double flops = 0;
  double utilisation = 0;        // of the peak of its ranks over the whole step
  double reduction_seconds = 0;  // of its gradients, were nothing beside it
  rank_bytes bytes;              // of its fullest rank
  int pieces = 1;  // of rows that its tensor groups exchange; where the plan leaves it open, found
};

// A forecast says what a plan would give, so that plans can be compared before anything runs.
struct run_forecast {
  double step_seconds = 0;
  double samples_per_second = 0;
  double bubble_rate = 0;  // idle time of the ranks that hold something, over their time
  // of a step, that it would be shorter were joins' exchanges and sums of gradients free
  double communication_share = 0;
  double memory_bytes = 0;        // of the rank with least room beside it, of all modules on it
  double node_traffic_bytes = 0;  // that leave the busiest node in a step
  list<module_forecast> modules;  // in the model's order
  // of features and what goes with them, that come to the busiest member of the joins in a step
  double exchange_bytes = 0;
  double join_seconds = 0;        // of all joins of a step, were everybody there
  std::int32_t fullest_rank = 0;  // of the plan: this one
};

struct machine_profile;

// A step can be played in several ways; these are the runtime's unless told otherwise.
struct estimate_options {
  // gradients are summed while the last backward still runs, as the runtime does; false: behind all backwards
  // of its rank
  bool sums_overlap = true;
  // joins send the gradients of features back, as other systems do, instead of the numbers of rows
  bool exchange_gradients = false;
  bool fold = true;  // ranks that do the same are played once
  // tells the times of the towers that it has, instead of their FLOPs (profile.hpp), and gaps inside
  // operations instead of those that are counted (measured_gaps.hpp)
  const machine_profile* measured = nullptr;
};

}  // namespace motet
