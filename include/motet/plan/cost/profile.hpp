// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/cost/module_pair.hpp>
#include <motet/plan/cost/module_times.hpp>
#include <motet/plan/cost/tower_times.hpp>
#include <motet/plan/cost/tower_work.hpp>

#include <string>

namespace motet {

// A point says what the parts of a tower took on one rank of a tensor group, without messages.
struct profile_point {
  std::int32_t tensor = 1;  // over how many ranks each layer and the samples are cut
  double samples = 1;       // of all ranks of the group
  part_times before, block, behind;

  constexpr const part_times& of(tower_part which) const {
    return which == tower_part::before ? before : which == tower_part::block ? block : behind;
  }
};

struct module_profile {
  tower_outline of;
  list<profile_point> points;  // by tensor degree, and for each by samples; no two alike
};

// Towers measured on one machine. Each stands for all that have equal parts: as wide, with as many heads and
// tokens, of any number of layers.
struct machine_profile {
  std::string machine;               // in words
  double activation_bytes = 4;       // of a number between layers while it was measured
  double product_flops = 0;          // a second, of one rank that multiplies large matrices
  double copy_bytes_per_second = 0;  // of one rank
  list<module_profile> modules;
  list<module_pair> pairs;   // that were measured beside each other, each two once
  list<measured_gaps> gaps;  // of steps that were recorded, each module under the same degrees once
  list<module_times> times;  // likewise, each module cut the same and on as many threads once
};

// Puts a point in its place; an equal one is replaced.
constexpr void add_point(module_profile& to, const profile_point& made) {
  isize at = 0;
  const auto before = [&](const profile_point& each) {
    return each.tensor != made.tensor ? each.tensor < made.tensor : each.samples < made.samples;
  };
  while (at < to.points.size() && before(to.points[at])) ++at;
  if (at < to.points.size() && to.points[at].tensor == made.tensor && to.points[at].samples == made.samples) {
    to.points[at] = made;
    return;
  }
  to.points.push(made);
  for (isize k = to.points.size() - 1; k > at; --k) std::swap(to.points[k], to.points[k - 1]);
}

// Keeps what tells parts apart, and fills in what is left out.
constexpr tower_outline parts_alone(tower_outline of) {
  of.name = {};
  of.layers = 2;
  of.key_heads = of.keyed_heads();
  of.head_width = of.columns_of_head();
  of.hidden = of.hidden_width();
  of.frozen = of.cached = false;
  of.sharers = 1;
  of.uneven = 0;
  return of;
}

// Finds what was measured of a tower with such parts; null: nothing was. Where the measured one was frozen it
// tells nothing of one that learns.
constexpr const module_profile* find_measured(const machine_profile& in, const tower_outline& like,
                                              const training_bytes& bytes) {
  if (in.activation_bytes != bytes.activation) return nullptr;
  for (const module_profile& each : in.modules)
    if (!each.points.empty() && parts_alone(each.of) == parts_alone(like) && (like.frozen || !each.of.frozen))
      return &each;
  return nullptr;
}

// Gaps of a module of a model, by its name or by that of the tower with its parts; null: it was not measured
// under these degrees, or with other numbers.
constexpr const gap_shares* find_gaps(const machine_profile* in, const tower_outline& like,
                                      const gap_degrees& under, const training_bytes& bytes) {
  if (in == nullptr || in->gaps.empty() || in->activation_bytes != bytes.activation) return nullptr;
  const gap_shares* const found = find_gaps(in->gaps, like.name, under);
  if (found != nullptr) return found;
  const module_profile* const measured = find_measured(*in, like, bytes);
  return measured == nullptr ? nullptr : find_gaps(in->gaps, measured->of.name, under);
}

namespace detail {

// Points of one degree make a line that is exact on them and straight between. The last piece goes on beyond
// them; the first one does below them, down to what no samples at all would take, which is not negative. One
// point alone stands for its proportion.
constexpr double along_points(const profile_point* from, isize count, double samples, tower_part which,
                              double part_times::*time) {
  const auto y = [&](isize i) { return from[i].of(which).*time; };
  const auto x = [&](isize i) { return from[i].samples; };
  if (count == 1) return y(0) * samples / x(0);
  isize i = 1;
  while (i + 1 < count && x(i) < samples) ++i;
  const double slope = (y(i) - y(i - 1)) / (x(i) - x(i - 1));
  if (samples > x(count - 1)) return y(i) + (slope > 0 ? slope : 0) * (samples - x(i));
  if (samples >= x(0)) return samples == x(i) ? y(i) : y(i - 1) + slope * (samples - x(i - 1));
  double nothing = y(0) - slope * x(0);
  if (nothing < 0) nothing = 0;
  if (nothing > y(0)) nothing = y(0);
  return nothing + (y(0) - nothing) * samples / x(0);
}

}  // namespace detail

// Seconds of a part on one rank as measured, for a microbatch of `samples`. A tensor degree that was not
// measured takes the nearest one's times in proportion; a context part has its share of the rows, so the
// times of as many samples.
constexpr part_times measured_times(const module_profile& from, tower_part which, double samples,
                                    degrees split) {
  // Nearest by ratio; of two the lower degree.
  isize first = 0, count = 0;
  double nearest = 0;
  for (isize i = 0; i < from.points.size();) {
    const double own = from.points[i].tensor, wanted = split.tensor,
                 ratio = own > wanted ? own / wanted : wanted / own;
    isize end = i;
    while (end < from.points.size() && from.points[end].tensor == from.points[i].tensor) ++end;
    if (nearest == 0 || ratio < nearest) {
      nearest = ratio;
      first = i;
      count = end - i;
    }
    i = end;
  }
  const double scale = static_cast<double>(from.points[first].tensor) / split.tensor,
               rows = samples / split.context;
  part_times out;
  for (const auto time : {&part_times::forward, &part_times::backward_input, &part_times::backward_weight})
    out.*time = scale * detail::along_points(from.points.data() + first, count, rows, which, time);
  return out;
}

// Recorded steps of a module are a tower's where they have its name, its layers and about its work: nets
// count the same products otherwise than outlines do.
constexpr bool is_of(const module_times& recorded, const tower_outline& of) {
  const double own = work_of_layers(of, 0, of.layers).forward_flops / 2, other = recorded.work;
  return recorded.module == of.name && recorded.layers == of.layers && own < 1.5 * other && other < 1.5 * own;
}
// A device is as fast as one thread that was measured. Null: no steps of such a tower were recorded.
constexpr const module_times* find_recorded(const machine_profile* in, const tower_outline& of, degrees split,
                                            const training_bytes& bytes) {
  if (in == nullptr || of.cached || in->activation_bytes != bytes.activation) return nullptr;
  const module_times* const found = find_times(in->times, of.name, split, 1);
  return found != nullptr && is_of(*found, of) ? found : nullptr;
}
// Seconds of so much of a tower's work at the pace of recorded steps.
constexpr part_times recorded_times(const module_times& from, const tower_outline& of, const part_work& work,
                                    double samples, degrees split) {
  const counted_seconds pace = pace_at(from, samples * work_of_layers(of, 0, of.layers, split).forward_flops);
  return {samples * pace.forward * work.forward_flops, samples * pace.input * work.input_flops,
          samples * pace.weight * work.weight_flops};
}

// Estimates take their times from here: a profile that has such a tower at such numbers, or recorded steps of
// it, otherwise the formulas of tower_work.hpp.
constexpr part_times times_of_layers(const tower_outline& of, isize first, isize last, double samples,
                                     degrees split, const device_facts& on, const training_bytes& bytes,
                                     const machine_profile* measured) {
  const module_profile* const found =
      measured == nullptr || of.cached ? nullptr : find_measured(*measured, of, bytes);
  if (found == nullptr) {
    const module_times* const recorded = find_recorded(measured, of, split, bytes);
    if (recorded == nullptr) return times_of_layers(of, first, last, samples, split, on, bytes);
    part_times out = recorded_times(*recorded, of, work_of_layers(of, first, last, split), samples, split);
    if (of.frozen) out.backward_input = out.backward_weight = 0;
    return out;
  }
  part_times out;
  const auto add = [&](tower_part which, double times) {
    const part_times own = measured_times(*found, which, samples, split);
    for (const auto time : {&part_times::forward, &part_times::backward_input, &part_times::backward_weight})
      out.*time += times * (own.*time);
  };
  const detail::parts_of_layers have(of, first, last);
  if (have.before) add(tower_part::before, 1);
  add(tower_part::block, static_cast<double>(have.blocks));
  if (have.behind) add(tower_part::behind, 1);
  if (of.frozen) out.backward_input = out.backward_weight = 0;
  return out;
}

}  // namespace motet
