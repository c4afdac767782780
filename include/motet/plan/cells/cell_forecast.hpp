// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_costs.hpp>
#include <motet/plan/cost/memory_forecast.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace motet {

// A forecast says what a plan of a cell would take; no program is written for it, nor played.
struct cell_forecast {
  uncertain step_seconds;
  uncertain memory_bytes;  // of the fullest device
  bool fits = true;        // into memory, with heads and samples that can be cut so
  // parts of its stages whose tensor groups wait for each other, and of these, those of measured gaps
  isize waits = 0, waits_measured = 0;
};

namespace detail {

// A stage, and each tower's part of it, as the time of a pipeline asks for them.
struct priced_stage {
  double forth = 0, back = 0, sum_left = 0, update = 0;
  struct part {
    isize tower = 0;
    double forth = 0, back = 0, message = 0;
  };
  std::vector<part> parts;
};

// One tower, one forward and one backward in turn. Two ways through a stage bound a step from below, and the
// longest of all stages' is taken. One is its own work: before its first backward it has forwards of as many
// microbatches as there are stages behind, and waits for the first to come back if that takes longer; at the
// end it is the other way round. The other way goes from a forward over all stages behind and back, as often
// as microbatches wait for each other.
inline double one_by_one_seconds(const std::vector<priced_stage>& stages, int microbatches) {
  const std::size_t count = stages.size();
  double before = 0, through = 0;
  for (const priced_stage& each : stages) through += each.forth + each.back + 2 * each.parts[0].message;
  double longest = 0, behind = through - 2 * stages.back().parts[0].message;
  std::vector<double> ends(count);
  for (std::size_t s = 0; s < count; ++s) {
    const priced_stage& own = stages[s];
    const double both = own.forth + own.back;
    behind -= both;
    const auto ahead = static_cast<double>(std::min<std::size_t>(count - s, as_size(microbatches)) - 1);
    const double works = (microbatches - ahead) * both + std::max(behind, ahead * own.forth) +
                         std::max(behind, ahead * own.back);
    const double rounds = std::floor((microbatches - 1) / (ahead + 1)),
                 waits =
                     (microbatches - 1 - rounds * (ahead + 1)) * own.forth + (rounds + 1) * (both + behind);
    longest = std::max(longest, before + std::max(works, waits));
    behind -= 2 * own.parts[0].message;
    before += both + 2 * own.parts[0].message;
  }
  // The first stage is the last to end; each one before sums and updates while gradients go on.
  double last = 0, ended = longest;
  for (const priced_stage& each : stages) {
    last = std::max(last, ended + each.sum_left + each.update);
    ended -= each.back + each.parts[0].message;
  }
  return last;
}

// One direction of several towers through the same devices, there or back: each device has all its work of
// every microbatch, which begins when the first rows come and is followed by what the last ones take beyond
// it.
inline double one_way_seconds(const std::vector<priced_stage>& stages, isize towers, int microbatches,
                              bool back) {
  const std::size_t count = stages.size();
  std::vector<double> before(count, std::numeric_limits<double>::infinity()), behind(count, 0),
      work(count, 0);
  double longest = 0;
  struct step {
    std::size_t stage;
    double seconds, message;  // and to the next step
  };
  std::vector<step> steps;
  for (isize k = 0; k < towers; ++k) {
    steps.clear();
    for (std::size_t s = 0; s < count; ++s)
      for (const priced_stage::part& part : stages[s].parts)
        if (part.tower == k) steps.push_back({s, back ? part.back : part.forth, part.message});
    steps.back().message = 0;
    if (back) {
      for (std::size_t i = steps.size() - 1; i > 0; --i) steps[i].message = steps[i - 1].message;
      steps.front().message = 0;
      std::reverse(steps.begin(), steps.end());
      if (steps.front().seconds == 0) continue;
    }
    double sum = 0, slowest = 0;
    for (const step& each : steps) {
      before[each.stage] = std::min(before[each.stage], sum);
      work[each.stage] += each.seconds;
      sum += each.seconds + each.message;
      slowest = std::max(slowest, each.seconds);
    }
    longest = std::max(longest, sum + (microbatches - 1) * slowest);
    double rest = 0;
    for (std::size_t i = steps.size(); i-- > 0;) {
      rest += steps[i].message;
      behind[steps[i].stage] = std::max(behind[steps[i].stage], rest);
      rest += steps[i].seconds;
    }
  }
  for (std::size_t s = 0; s < count; ++s)
    if (work[s] > 0) longest = std::max(longest, before[s] + microbatches * work[s] + behind[s]);
  return longest;
}
// All forwards, the loss in which all towers meet, all backwards. Stages behind the first of a tower sum and
// update while gradients go on.
inline double all_forwards_first_seconds(const std::vector<priced_stage>& stages, isize towers,
                                         int microbatches, double join) {
  double tail = 0;
  std::vector<double> gone_on(as_size(towers), 0);
  for (const priced_stage& each : stages) {
    double hidden = std::numeric_limits<double>::infinity();
    for (const priced_stage::part& part : each.parts) {
      hidden = std::min(hidden, gone_on[as_size(part.tower)]);
      gone_on[as_size(part.tower)] += part.back + part.message;
    }
    tail = std::max(tail, each.sum_left + each.update - hidden);
  }
  return one_way_seconds(stages, towers, microbatches, false) + join +
         one_way_seconds(stages, towers, microbatches, true) + tail;
}

// The parts of a stage with all that is not sure longer by its bar, or as it is.
inline bool price_stages(const cell_costs& by, const cell_plan& of, bool longer,
                         std::vector<priced_stage>& out) {
  const cell_bars& bars = by.from().bars;
  std::int32_t first = 0;
  out.clear();
  for (const cell_stage& each : of.stages) {
    priced_stage made;
    for (const stage_part& part : parts_of(each, by.layers())) {
      const part_price& own = by.part(part.tower, part.blocks, each, by.leaving(first, each));
      if (!own.fits) return false;
      const double works = longer ? 1 + (by.profiled(part.tower) ? bars.profiled : bars.by_rates) : 1,
                   sends = longer ? 1 + own.sent_bar : 1;
      const double forth = works * own.forward + sends * own.forward_sent,
                   back = works * own.backward + sends * own.backward_sent;
      made.forth += forth;
      made.back += back;
      made.sum_left = std::max(made.sum_left, sends * own.sum_left);  // the others hide beside it
      made.update += works * own.update;
      made.parts.push_back({part.tower, forth, back, sends * own.message});
    }
    first += each.devices();
    out.push_back(std::move(made));
  }
  return true;
}
inline double pipeline_seconds(const cell_costs& by, const std::vector<priced_stage>& stages, double join) {
  const isize towers = by.from().model.towers.size();
  return towers == 1 ? one_by_one_seconds(stages, by.microbatches())
                     : all_forwards_first_seconds(stages, towers, by.microbatches(), join);
}
inline double fullest_device(const cell_costs& by, const cell_plan& of) {
  double most = 0;
  std::int32_t first = 0;
  const bool alone = by.from().model.towers.size() == 1;
  for (isize s = 0; s < of.stages.size(); ++s) {
    const cell_stage& each = of.stages[s];
    const double held = alone ? std::min<double>(by.microbatches(), static_cast<double>(of.stages.size() - s))
                              : by.microbatches();
    double bytes = 0, again = 0;
    for (const stage_part& part : parts_of(each, by.layers())) {
      const part_price& own = by.part(part.tower, part.blocks, each, by.leaving(first, each));
      bytes += own.standing + held * own.kept;
      again = std::max(again, own.again);
    }
    first += each.devices();
    most = std::max(most, bytes + again);
  }
  return most;
}

// visit(stage, part, price) for each part of each stage.
template <class Visit>
void each_price(const cell_costs& by, const cell_plan& of, Visit visit) {
  std::int32_t first = 0;
  for (const cell_stage& each : of.stages) {
    for (const stage_part& part : parts_of(each, by.layers()))
      visit(each, part, by.part(part.tower, part.blocks, each, by.leaving(first, each)));
    first += each.devices();
  }
}

// The least sure part of a step says where it is from.
inline provenance source_of(const cell_costs& by, const cell_plan& of) {
  provenance out = provenance::interpolated;
  each_price(by, of, [&](const cell_stage&, const stage_part& part, const part_price& own) {
    if (!by.profiled(part.tower)) out = std::max(out, provenance::modelled);
    out = std::max(out, own.sent_from);
  });
  return out;
}

// Whose tensor groups wait, and of how many that was measured.
inline void count_waits(const cell_costs& by, const cell_plan& of, cell_forecast& to) {
  each_price(by, of, [&](const cell_stage& each, const stage_part&, const part_price& own) {
    if (each.tensor == 1) return;
    ++to.waits;
    if (own.waits_measured) ++to.waits_measured;
  });
}

}  // namespace detail

// Seconds of a step by the stages' prices, without its loss's exchange: what plans of one cell are compared
// by. Negative where heads or samples cannot be cut so, or memory is too small.
inline double compared_seconds(const cell_costs& by, const cell_plan& of) {
  std::vector<detail::priced_stage> stages;
  if (!detail::price_stages(by, of, false, stages) ||
      detail::fullest_device(by, of) > by.on().device.memory_bytes)
    return -1;
  return detail::pipeline_seconds(by, stages, 0);
}

// The whole forecast.
inline cell_forecast forecast_cell(const cell_costs& by, const cell_plan& of) {
  const cell_sources& from = by.from();
  cell_forecast out;
  std::vector<detail::priced_stage> stages, longer;
  out.fits = detail::price_stages(by, of, false, stages) && detail::price_stages(by, of, true, longer);
  if (!out.fits) return out;
  double join = 0, sent = 0, memory = detail::fullest_device(by, of);
  if (from.model.towers.size() > 1) {
    const plan how = plan_of(of, by.layers(), from.model, by.on());
    const join_cost found = join_of(how, from.model, by.on(), from.bytes, from.samples);
    join = found.compute;
    sent = found.exchange;
  }
  const cell_bars& bars = from.bars;
  const double value = detail::pipeline_seconds(by, stages, join + sent),
               most =
                   detail::pipeline_seconds(by, longer, (1 + bars.by_rates) * join + (1 + bars.wires) * sent);
  out.step_seconds = {value, most - value, detail::source_of(by, of)};
  detail::count_waits(by, of, out);
  out.memory_bytes = {memory, 0, provenance::modelled};
  out.fits = memory <= by.on().device.memory_bytes;
  return out;
}

}  // namespace motet
