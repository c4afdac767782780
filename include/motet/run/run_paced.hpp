// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/front/explain_plan.hpp>
#include <motet/run/opened_run.hpp>
#include <motet/run/run_memory.hpp>
#include <motet/run/tell_run.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/tools/process/this_machine.hpp>
#include <motet/tools/report/metrics.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <istream>
#include <string>
#include <vector>

namespace motet {

// The last steps of a plan as its ranks played them, all by one score: with the times that its stages took
// in them, the simulation says what a step of it takes.
class paced_steps {
 public:
  explicit paced_steps(const opened_run& run) : run_(run), keeps_(run.chosen && !run.s.conduct ? 8 : 0) {}

  // Where to record the next step; null: nowhere.
  timeline* next() {
    if (keeps_ == 0) return nullptr;
    if (steps_.size() < keeps_) steps_.push({});
    return &steps_[count_++ % keeps_];
  }
  void tell(json& out) const {
    if (steps_.empty()) return;
    const program& of = run_.model->of();
    cost_table sharing;
    share_lanes(sharing, run_.chosen->value,
                run_.s.device == "cuda" ? computed_by::gpus : computed_by::processors, run_.model->threads(),
                processors_here());
    timeline planned;
    if (simulate(of, measured_costs(of, steps_, sharing), planned).ok())
      out.set("simulated_seconds", planned.makespan);
  }

 private:
  const opened_run& run_;
  isize keeps_, count_ = 0;
  list<timeline> steps_;
};

// A run does as the peers of benchmarks do: it warms up, says so, then makes a step for each line of `lines`.
inline int run_paced(opened_run& run, std::istream& lines) {
  run.prepare();
  const auto source = run.open_feed();
  const rate_schedule rates = run.s.rates();
  for (int i = 0; i < 3; ++i) run.model->step(source->next(), rates.at(run.model->updates()));
  std::printf("ready\n");
  std::fflush(stdout);
  std::vector<double> seconds;
  step_result last;
  paced_steps played(run);
  for (std::string line; std::getline(lines, line);) {
    const step_input batch = source->next();
    if (const auto following = source->ahead()) run.model->expect(*following);
    const auto began = std::chrono::steady_clock::now();
    last = run.model->step(batch, rates.at(run.model->updates()), played.next());
    run.model->finish();  // a GPU still updates the weights
    if (const reorder_told* const told = run.model->reordered()) run.reordered.add(*told);
    if (const conduct_told* const told = run.model->conducted()) run.conducted.add(*told);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    std::printf("%.9f\n", seconds.back());
    std::fflush(stdout);
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
  const step_input batch = source->next();
  json out;
  out.set("program", "motet");
  out.set("model", run.s.model);
  out.set("precision", run.s.precision);
  out.set("batch", run.s.batch);
  out.set("threads", run.model->threads());
  out.set("seconds", median);
  out.set("samples_per_second", median > 0 ? static_cast<double>(run.s.batch) / median : 0.0);
  out.set("tflops", median > 0 ? run.model->flops(batch) / median / 1e12 : 0.0);
  out.set("peak_bytes", peak_memory());
  out.set("idle_bytes", run.idle);
  out.set("predicted_bytes", memory_of_run(*run.model, run.s, run.folder.get()).total());
  out.set("loss", last.loss);
  for (const loss_part& each : last.parts) out.set(name_of_part(each.told()), each.loss);
  played.tell(out);
  add_reordered(out, run.reordered);
  add_conducted(out, run);
  out.set("machine", run.model->machine());
  std::printf("%s\n", write_json(out).c_str());
  return 0;
}

}  // namespace motet
