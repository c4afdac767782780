// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/run/run_settings.hpp>
#include <motet/schedule/draw/draw_gaps.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>

#include <string>

namespace motet {

// One step of a run, as its ranks really played it (--record, --record-step), in a file of which the ending says
// the form: a picture, or a trace for Perfetto. Above what happened stands the plan, simulated with the times
// that this very step took, of each operation at each stage the median: what differs are waits, and
// microbatches unlike others.
// Asks for: settings as a command line gives them.
// Memory: two times and a number for each instruction of the program while the step is written, and its text.
// Errors: MT-F05, MT-F06, MT-X03, MT-X04
// Example:
//   #include <motet/run/session.hpp>
//   step_result recorded(session& model, const step_input& batch, const run_settings& s) {
//     step_record record(s);
//     const step_result done = model.step(batch, s.rate, record.at(model.updates() + 1));
//     record.write(model.of());
//     return done;
//   }
class step_record {
 public:
  explicit step_record(const run_settings& s) : path_(s.record), step_(s.record_step) {
    if (path_.empty()) {
      if (step_ > 0) fail(option_missing, sentence({"--record, a file for --record-step ", step_}));
      return;
    }
    if (!path_.ends_with(".svg") && !path_.ends_with(".json"))
      fail(bad_option_value, "--record " + path_ + " wants a file that ends in .svg, or .json for a trace");
    if (step_ > s.steps)
      fail(bad_option_value, sentence({"--record-step ", step_, " of ", s.steps, " steps"}));
    if (s.paced)
      fail(bad_option_value, "--record with --paced, which measures steps and tells of none; leave one out");
    if (step_ == 0) step_ = s.steps;
    title_ = std::string(s.program->name) + (s.plan.empty() ? "" : ", plan " + s.plan);
  }

  bool wanted() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  isize step() const { return step_; }  // counted from 1

  // What cannot be written is known before the first step.
  void probe() const {
    if (wanted()) const atomic_file tried(path_);
  }
  // Where to record this step; null: nowhere.
  timeline* at(isize step) {
    recorded_ = wanted() && step == step_;
    return recorded_ ? &when_ : nullptr;
  }
  // Writes the step that at() was last asked for; whether it was the one.
  bool write(const program& of) {
    if (!recorded_) return false;
    recorded_ = false;
    timeline planned;
    const cost_table costs = measured_costs(of, {when_});
    simulate(of, costs, planned);
    const svg_style drawn{.title = title_ + ", step " + std::to_string(step_), .unit = "s", .run_times = 1};
    write_file(path_, path_.ends_with(".svg") ? draw_overlay_svg(of, planned, when_, drawn)
                                              : draw_trace_overlay(of, planned, when_));
    gaps_ = draw_gaps(of, costs);
    when_ = {};
    return true;
  }

  // What the step that was written showed of gaps inside operations, a line for each stage that has some.
  const std::string& gaps() const { return gaps_; }

 private:
  std::string path_, title_, gaps_;
  isize step_ = 0;
  timeline when_;
  bool recorded_ = false;
};

}  // namespace motet
