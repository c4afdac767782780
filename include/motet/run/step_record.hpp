// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/front/explain_plan.hpp>
#include <motet/plan/cost/require_times.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/run/run_settings.hpp>
#include <motet/runtime/train/times_of_steps.hpp>
#include <motet/schedule/draw/draw_gaps.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/tools/process/this_machine.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// One step of a run, as its ranks really played it (--record, --record-step), in a file of which the ending
// says the form: a picture, or a trace for Perfetto. Above what happened stands the plan, simulated with the
// times that this very step took, of each operation at each stage the median: what differs are waits, and
// microbatches unlike others. The gaps inside its operations go to a profile (--record-gaps), and so does
// what modules took in it and in some steps before it (--record-times).
// Asks for: settings as a command line gives them.
// Memory: two times and a number for each instruction of the program while the step is written, and its text.
// Errors: MT-F01, MT-F04, MT-F05, MT-F06, MT-P70, MT-P71, MT-P72, MT-P78, MT-P79, MT-P90, MT-P91, MT-P94,
// MT-P95, MT-P96, MT-P102, MT-P103, MT-X03, MT-X04
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
  explicit step_record(const run_settings& s)
      : path_(s.record),
        profile_(s.record_gaps),
        times_(s.record_times),
        bytes_(s.stream_bytes()),
        step_(s.record_step) {
    for (const auto& [option, file] :
         {std::pair{"--record-gaps ", &profile_}, {"--record-times ", &times_}}) {
      if (file->empty()) continue;
      if (!file->ends_with(".json"))
        fail(bad_option_value, option + *file + " wants a file that ends in .json");
      if (s.device == "cuda")
        fail(bad_option_value, option + *file + " with --device cuda, where no thread sees what waits");
      if (s.plan.empty() && s.orchestrate.empty())
        fail(bad_option_value, option + *file +
                                   (file == &profile_ ? " without --plan: one rank has nobody to wait for"
                                                      : " without --plan, of whose modules it tells"));
    }
    if (!wanted()) {
      if (step_ > 0) fail(option_missing, sentence({"--record, a file for --record-step ", step_}));
      return;
    }
    if (!path_.empty() && !path_.ends_with(".svg") && !path_.ends_with(".json"))
      fail(bad_option_value, "--record " + path_ + " wants a file that ends in .svg, or .json for a trace");
    if (step_ > s.steps)
      fail(bad_option_value, sentence({"--record-step ", step_, " of ", s.steps, " steps"}));
    if (s.paced)
      fail(bad_option_value, "--record with --paced, which measures steps and tells of none; leave one out");
    if (step_ == 0) step_ = s.steps;
    if (!times_.empty()) seen_.resize(std::min<isize>(most_steps, step_), {});
    title_ = std::string(s.program->name) + (s.plan.empty() ? "" : ", plan " + s.plan);
  }

  bool wanted() const { return !path_.empty() || !profile_.empty() || !times_.empty(); }
  // The file of the picture, or where none is drawn of the profile.
  const std::string& path() const { return !path_.empty() ? path_ : profile_.empty() ? times_ : profile_; }
  isize step() const { return step_; }  // counted from 1

  // What cannot be written is known before the first step.
  void probe() const {
    if (!path_.empty()) const atomic_file tried(path_);
    for (const std::string* const each : {&profile_, &times_}) {
      if (each->empty()) continue;
      static_cast<void>(known_profile(*each, ""));
      const atomic_file tried(*each);
    }
  }
  // Where to record this step; null: nowhere.
  timeline* at(isize step) {
    recorded_ = wanted() && step == step_;
    if (const isize earlier = step_ - step; earlier >= 0 && earlier < seen_.size())
      return &seen_[seen_.size() - 1 - earlier];
    return recorded_ ? &when_ : nullptr;
  }
  // Whether the work of this step is to be counted: by count(), before it is written.
  bool counts(isize step) const { return step <= step_ && step > step_ - seen_.size(); }
  void count(program_work work) { works_.push_back(std::move(work)); }
  // Writes the step that at() was last asked for; whether it was the one. from: the plan of the program, on
  // this machine; null: one rank. Times are of modules with these facts, on ranks of so many threads.
  bool write(const program& of, const plan* from = nullptr, const std::string& machine = "",
             const list<module_facts>& facts = {}, int threads = 1) {
    if (!recorded_) return false;
    recorded_ = false;
    if (!seen_.empty()) when_ = seen_.back();
    const cost_table costs = measured_costs(of, {when_});
    if (!path_.empty()) draw(of, costs);
    if (!profile_.empty()) {
      machine_profile all = known_profile(profile_, machine);
      const list<measured_gaps> seen =
          from != nullptr ? gaps_of_step(of, *from, costs) : list<measured_gaps>{};
      for (const measured_gaps& each : seen) put_gaps(all.gaps, each);
      if (!seen.empty()) write_file(profile_, format_profile(all));
      told_ = seen.empty() ? "no ranks of this plan wait for each other inside operations; " + profile_ +
                                 " stays as it was"
                           : sentence({"gaps of ", seen.size(), seen.size() == 1 ? " module" : " modules",
                                       " measured: ", profile_});
    }
    if (!times_.empty() && from != nullptr) write_times(of, *from, machine, facts, threads);
    gaps_ = draw_gaps(of, costs);
    when_ = {};
    return true;
  }

  // What the step that was written showed of gaps inside operations, a line for each stage that has some.
  const std::string& gaps() const { return gaps_; }
  // What became of the profile; no text where none was asked for.
  const std::string& told() const { return told_; }

 private:
  static constexpr isize most_steps = 8;

  // Modules with gaps beside their times: what they wait belongs to both.
  void write_times(const program& of, const plan& from, const std::string& machine,
                   const list<module_facts>& facts, int threads) {
    // Of a run that was gone on with, fewer steps are there.
    list<timeline> steps;
    const isize count = std::min(seen_.size(), std::ssize(works_));
    for (isize k = seen_.size() - count; k < seen_.size(); ++k) steps.push(seen_[k]);
    works_.erase(works_.begin(), works_.end() - count);
    cost_table sharing;
    share_threads(sharing, from, threads, processors_here());
    machine_profile all = known_profile(times_, machine);
    require_times_of(all, times_, facts, bytes_);
    const list<module_times> found = times_of_steps(of, from, facts, steps, works_, threads, sharing);
    for (const module_times& each : found) put_times(all.times, each);
    for (const measured_gaps& each : gaps_of_step(of, from, measured_costs(of, steps, sharing)))
      put_gaps(all.gaps, each);
    write_file(times_, format_profile(all));
    told_ += (told_.empty() ? "" : "; ") +
             sentence({"times of ", found.size(), found.size() == 1 ? " module" : " modules", " in ", count,
                       count == 1 ? " step" : " steps", " measured: ", times_});
  }
  // What is there already, of numbers as this run has.
  machine_profile known_profile(const std::string& file, const std::string& machine) const {
    machine_profile out;
    out.machine = machine;
    out.activation_bytes = bytes_;
    if (!std::filesystem::exists(file)) return out;
    out = load_profile(file);
    if (out.activation_bytes != bytes_)
      fail(profile_unlike_model,
           sentence({file, " was measured with numbers of ", static_cast<isize>(out.activation_bytes),
                     " bytes between layers, and the run has numbers of ", static_cast<isize>(bytes_)}));
    return out;
  }
  void draw(const program& of, const cost_table& costs) const {
    timeline planned;
    simulate(of, costs, planned);
    const svg_style drawn{.title = title_ + ", step " + std::to_string(step_), .unit = "s", .run_times = 1};
    write_file(path_, path_.ends_with(".svg") ? draw_overlay_svg(of, planned, when_, drawn)
                                              : draw_trace_overlay(of, planned, when_));
  }

  std::string path_, profile_, times_, title_, gaps_, told_;
  double bytes_ = 4;  // of a number between layers
  isize step_ = 0;
  timeline when_;
  list<timeline> seen_;  // the last steps, where their times are wanted
  std::vector<program_work> works_;
  bool recorded_ = false;
};

}  // namespace motet
