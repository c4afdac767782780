// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/program_samples.hpp>
#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

// A clock says what microbatches take at each place of a program, by their work. It begins with what was
// counted, and whenever a step was recorded it draws a line through what each place took: seconds of its own,
// and seconds for each multiplication. Older steps count less.
// Asks for: of each place what a unit of work takes in each of its parts, in any unit of time.
// Memory: some numbers for each place.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   double of_three_units() {
//     const program of = compile(one_f_one_b::write({.stages = 1, .microbatches = 4}));
//     const program_samples samples(of, {sample_split{.samples = 8, .groups = 4}});
//     return place_clock(samples, {stage_cost{1, 1, 1}}).seconds(0, 3);  // 9
//   }
class place_clock {
 public:
  place_clock(const program_samples& samples, const list<stage_cost>& counted);

  // A microbatch with so much work, forward and back.
  double seconds(isize at, double work) const { return places_[at].fixed + places_[at].slope * work; }
  double slope(isize at) const { return places_[at].slope; }
  bool measured() const { return steps_ > 0; }

  // A step that was recorded, with the work of its cells (program_samples::add_work).
  void note(const program_samples& samples, const list<double>& work, const timeline& when);

  // simulate() takes these costs, with this work of the cells.
  cost_table costs(const program_samples& samples, const list<double>& work) const {
    cost_table made = costs_;
    const program& of = samples.of();
    made.scale.resize(of.cells(), 0.0);
    for (const place& each : places_)
      made.stages.push({each.parts.forward, each.parts.input, each.parts.weight});
    for (const voice& sings : of.voices)
      for (std::int32_t s = 0; s < sings.stages; ++s)
        for (std::int32_t m = 0; m < sings.microbatches; ++m)
          made.scale[sings.cell(s, m)] = seconds(sings.first_place + s, work[samples.cell_of(sings, m)]);
    return made;
  }

 private:
  static constexpr double keeps = 0.7;  // of the weight of a step when the next one is measured

  // Least squares.
  struct line {
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    void fade(double by) {
      for (double* const each : {&count, &x, &y, &xx, &xy}) *each *= by;
    }
    void add(double at, double value) { count += 1, x += at, y += value, xx += at * at, xy += at * value; }
  };
  struct parts {
    double forward = 1, input = 0, weight = 0;
  };
  struct place {
    double fixed = 0, slope = 0;
    motet::place_clock::parts parts{};
    motet::place_clock::line line{};

    void fit() {
      if (line.count <= 0) return;
      const double spread = line.count * line.xx - line.x * line.x;
      // Microbatches of equal work do not tell what is fixed.
      slope = spread > 1e-6 * line.count * line.xx ? (line.count * line.xy - line.x * line.y) / spread : -1;
      fixed = slope > 0 ? (line.y - slope * line.x) / line.count : -1;
      if (fixed >= 0) return;
      slope = line.x > 0 ? line.y / line.x : 0;
      fixed = line.x > 0 ? 0 : line.y / line.count;
    }
  };

  // Sums of gradients and updates begin when the last of those who meet is there.
  void note_ends(const program& of, const timeline& when) {
    struct meeting {
      double begins = 0, ends = 0;
    };
    meeting update;
    std::map<std::pair<std::int32_t, std::int32_t>, meeting> sums;
    const auto meet = [&](meeting& at, std::int32_t i) {
      at.begins = std::max(at.begins, when.start[i]);
      at.ends = std::max(at.ends, when.finish[i]);
    };
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (it.what == op::optimizer_step) meet(update, i);
      if (it.what == op::reduce_gradient) meet(sums[{of.voices[it.voice].module, it.stage}], i);
    }
    const auto blend = [&](double& known, double found) {
      known = steps_ == 0 ? found : keeps * known + (1 - keeps) * found;
    };
    for (const voice& sings : of.voices)
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const isize p = sings.first_place + s;
        if (const auto found = sums.find({sings.module, s}); found != sums.end())
          blend(costs_.reductions[p], found->second.ends - found->second.begins);
      }
    // All ranks are through at once, as the norm of the gradients is that of all.
    blend(end_, std::max(0.0, update.ends - update.begins));
    list<std::int32_t> of_rank(of.ranks(), 0);
    for (const std::int32_t rank : of.places) ++of_rank[rank];
    for (isize p = 0; p < of.places.size(); ++p) costs_.updates[p] = end_ / of_rank[of.places[p]];
  }

  list<place> places_;
  cost_table costs_;
  double end_ = 0;  // seconds of an update, behind the last backward
  isize steps_ = 0;
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY place_clock::place_clock(const program_samples& samples, const list<stage_cost>& counted) {
  for (const stage_cost& each : counted) {
    place own;
    own.slope = each.forward + each.backward_input + each.backward_weight;
    const double whole = own.slope > 0 ? own.slope : 1;
    own.parts = {each.forward / whole, each.backward_input / whole, each.backward_weight / whole};
    places_.push(own);
  }
  costs_.joins.resize(samples.of().joins, 0.0);
  costs_.updates.resize(places_.size(), 0.0);
  costs_.reductions.resize(places_.size(), 0.0);
}
MOTET_BODY void place_clock::note(const program_samples& samples, const list<double>& work,
                                  const timeline& when) {
  const program& of = samples.of();
  list<double> took(of.cells(), 0.0);  // of each (stage, microbatch)
  list<double> forward(places_.size(), 0.0), input(places_.size(), 0.0), weight(places_.size(), 0.0),
      whole(places_.size(), 0.0);
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (!is_compute(it.what) || it.what == op::join) continue;
    const voice& sings = of.voices[it.voice];
    const isize at = sings.first_place + it.stage;
    const double seconds = when.finish[i] - when.start[i];
    took[sings.cell(it.stage, it.microbatch)] += seconds;
    (is_forward(it.what)              ? forward
     : it.what == op::backward_input  ? input
     : it.what == op::backward_weight ? weight
                                      : whole)[at] += seconds;
  }
  for (const voice& sings : of.voices)
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      const isize p = sings.first_place + s;
      place& own = places_[p];
      own.line.fade(keeps);
      for (std::int32_t m = 0; m < sings.microbatches; ++m)
        own.line.add(work[samples.cell_of(sings, m)], took[sings.cell(s, m)]);
      own.fit();
      const double all = forward[p] + input[p] + weight[p] + whole[p];
      if (all <= 0) continue;
      // The seconds of a whole backward are cut as it was counted.
      const double back = own.parts.input + own.parts.weight;
      const double share = back > 0 ? own.parts.input / back : 1;
      own.parts = {forward[p] / all, (input[p] + whole[p] * share) / all,
                   (weight[p] + whole[p] * (1 - share)) / all};
    }
  note_ends(of, when);
  ++steps_;
}
#endif

}  // namespace motet
