// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_forecast.hpp>
#include <motet/plan/cells/cell_planner.hpp>

#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace motet {

namespace detail {

// Looks at every cut into stages and every split that all stages can have, but for those that begin with
// stages which alone take as long as the best plan so far.
class cell_chooser {
 public:
  cell_chooser(const cell_costs& by, const cell_plan& start) : by_(by), best_(start) {
    if (const double seconds = compared_seconds(by, start); seconds > 0) least_ = seconds;
  }

  cell_plan run() {
    const std::int32_t devices = best_.devices() / by_.stages();
    for (std::int32_t tensor = 1; tensor <= std::min(devices, by_.on().devices_per_node); tensor *= 2) {
      split_ = {0, 0, devices / tensor, tensor};
      known_.assign(2 * as_size(by_.layers().size() + 1) * as_size(by_.layers().size() + 1), {});
      cut(0, 0, 0);
    }
    return best_;
  }

 private:
  struct found {
    priced_stage costs;
    double standing = 0, kept = 0, again = 0;
    bool fits = true;
  };
  const found& stage(std::int32_t number, std::int32_t first, std::int32_t last) {
    cell_stage one = split_;
    one.first = first;
    one.last = last;
    const std::int32_t leaves = by_.leaving(number * one.devices(), one);
    const auto layers = as_size(by_.layers().size() + 1);
    std::optional<found>& known =
        known_[((leaves > 0 ? 1 : 0) * layers + as_size(first)) * layers + as_size(last)];
    if (known) return *known;
    known.emplace();
    for (const stage_part& part : parts_of(one, by_.layers())) {
      const part_price& own = by_.part(part.tower, part.blocks, one, leaves);
      known->fits = known->fits && own.fits;
      known->standing += own.standing;
      known->kept += own.kept;
      known->again = std::max(known->again, own.again);
      known->costs.forth += own.forth();
      known->costs.back += own.back();
      known->costs.sum_left = std::max(known->costs.sum_left, own.sum_left);
      known->costs.update += own.update;
      known->costs.parts.push_back({part.tower, own.forth(), own.back(), own.message});
    }
    return *known;
  }
  void cut(std::int32_t number, std::int32_t first, double before) {
    const auto layers = static_cast<std::int32_t>(by_.layers().size());
    const std::int32_t left = by_.stages() - number;
    if (left == 0) return offer();
    const bool alone = by_.from().model.towers.size() == 1;
    const double held = alone ? std::min(by_.microbatches(), static_cast<int>(left)) : by_.microbatches();
    for (std::int32_t last = left == 1 ? layers : first + 1; last <= layers - (left - 1); ++last) {
      const found& own = stage(number, first, last);
      const double both = own.costs.forth + own.costs.back;
      if (!own.fits || (alone ? before : 0) + by_.microbatches() * both >= least_) return;
      if (own.standing + held * own.kept + own.again > by_.on().device.memory_bytes) return;
      stages_.push_back(own.costs);
      ends_.push_back(last);
      cut(number + 1, last, before + both);
      stages_.pop_back();
      ends_.pop_back();
    }
  }
  void offer() {
    const double seconds = pipeline_seconds(by_, stages_, 0);
    if (seconds >= least_) return;
    least_ = seconds;
    best_.stages.clear();
    std::int32_t first = 0;
    for (const std::int32_t last : ends_) {
      best_.stages.push({first, last, split_.data, split_.tensor});
      first = last;
    }
  }

  const cell_costs& by_;
  cell_plan best_;
  double least_ = std::numeric_limits<double>::infinity();
  cell_stage split_;
  std::vector<std::optional<found>> known_;
  std::vector<priced_stage> stages_;
  std::vector<std::int32_t> ends_;
};

}  // namespace detail

// The plan of a cell that takes least by the library's costs, of those whose stages are alike; `start` is one
// of the cell, as plan_cell() finds it.
inline cell_plan choose_plan(const cell_costs& by, const cell_plan& start) {
  return detail::cell_chooser(by, start).run();
}

}  // namespace motet
