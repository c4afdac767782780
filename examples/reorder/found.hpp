// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/plan/order/defer.hpp>
#include <motet/plan/order/step_order.hpp>

#include <utility>
#include <vector>

namespace motet::reorder {

// What was found for all steps; seconds are sums over them.
struct found {
  double random = 0, listed = 0, seconds = 0, bound = 0;
  double none_waits = 0;  // the seconds where each sample runs in its own step
  hands samples;          // of each step
  std::vector<step_order> orders;
};

inline found find(const settings& given, const sample_times& of) {
  const step_shape shape{static_cast<std::int32_t>(given.replicas),
                         static_cast<std::int32_t>(given.microbatches),
                         static_cast<std::int32_t>(given.chunks)};
  const auto judge = [&](const microbatch_times& times, const microbatch_order& order) {
    return shape.chunks > 1 ? interleaved_seconds(times, shape.chunks, order)
                            : one_f_one_b_seconds(times, order);
  };
  const auto ordered = [&](const sample_times& own, isize tries) {
    if (given.order == "none") return order_as_listed(in_turn(own.samples), shape);
    return order_step(
        own, shape, judge,
        {.tries = static_cast<std::int32_t>(tries), .seed = static_cast<std::uint64_t>(given.seed)},
        {.ranks = given.order != "slots", .slots = given.order != "ranks"});
  };
  // Steps of these samples: what they take, and the orders by which they do.
  const auto all_steps = [&](const hands& samples, std::vector<step_order>& orders) {
    double sum = 0;
    orders.clear();
    for (const list<std::int32_t>& each : samples) {
      const sample_times own = times_of_samples(of, each);
      orders.push_back(ordered(own, given.tries));
      sum += seconds_of_step(own, orders.back(), judge);
    }
    return sum;
  };
  const auto steps = static_cast<std::int32_t>(given.defer);
  const std::int32_t each = of.samples / steps;
  found out;
  out.samples = hands(steps);
  for (std::int32_t k = 0; k < of.samples; ++k) out.samples[k / each].push(k);
  for (const list<std::int32_t>& own : out.samples) {
    const sample_times times = times_of_samples(of, own);
    out.listed += seconds_of_step(times, order_as_listed(in_turn(each), shape), judge);
    for (isize k = 0; k < given.draws; ++k)
      out.random +=
          seconds_of_step(times, order_by_chance(each, shape, static_cast<std::uint64_t>(given.seed + k)),
                          judge) /
          static_cast<double>(given.draws);
  }
  out.none_waits = out.seconds = all_steps(out.samples, out.orders);
  out.bound = least_step_seconds(of, shape.replicas);
  if (steps == 1) return out;
  list<double> costs;
  for (std::int32_t k = 0; k < of.samples; ++k) costs.push(of.all_of(k));
  // Swaps are for the steps that are chosen.
  hands waiting =
      defer_heavy(costs, {.samples = each, .together = shape.replicas}, [&](const list<std::int32_t>& which) {
        const sample_times own = times_of_samples(of, which);
        return seconds_of_step(own, ordered(own, 0), judge);
      });
  std::vector<step_order> orders;
  if (const double seconds = all_steps(waiting, orders); seconds < out.seconds) {
    out.seconds = seconds;
    out.samples = std::move(waiting);
    out.orders = std::move(orders);
  }
  return out;
}

}  // namespace motet::reorder
