// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "opened_run.hpp"

#include <motet/tools/csv_log.hpp>
#include <motet/tools/event_file.hpp>
#include <motet/tools/metrics.hpp>

namespace motet::train_clip {

// What a run tells as numbers, each line to all files that are asked for: JSON and commas in the report's
// folder, JSON where --metrics says, and TensorBoard's. Of several processes, one writes.
class run_logs {
 public:
  run_logs() = default;  // writes nothing
  run_logs(const opened_run& run, bool report) {
    const settings& s = run.s;
    const std::filesystem::path own = metrics_of(s);
    const std::int64_t keep = run.saved ? run.model->updates() : -1;
    if (report) {
      own_ = metrics_file(own, keep);
      csv_ = csv_log(std::filesystem::path(own).replace_extension(".csv"), {"step",
                                                                            "loss",
                                                                            "validation_loss",
                                                                            "gradient_norm",
                                                                            "learning_rate",
                                                                            "logit_scale",
                                                                            "seconds",
                                                                            "samples_per_second",
                                                                            "mfu",
                                                                            "memory_bytes",
                                                                            "data_wait",
                                                                            "skipped",
                                                                            "zero_shot_accuracy",
                                                                            "caption_within_1",
                                                                            "caption_within_5",
                                                                            "caption_within_10",
                                                                            "picture_within_1",
                                                                            "picture_within_5",
                                                                            "picture_within_10",
                                                                            "caption_accuracy",
                                                                            "caption_exact",
                                                                            "several_exact",
                                                                            "text_exact"});
      for (const json& line : metrics_file::read_metrics(own)) csv_.write(line);
    }
    if (!s.metrics.empty() && !(report && is_same(s.metrics, own))) asked_ = metrics_file(s.metrics, keep);
    if (!s.tensorboard.empty()) events_ = event_file(s.tensorboard, run.model->updates() + 1);
  }
  static std::filesystem::path metrics_of(const settings& s) {
    return std::filesystem::path(s.report) / "metrics.jsonl";
  }

  void write(const json& line) {
    sum_up(line);
    csv_.write(line);
    events_.write(line);
  }
  // A line about the whole run, which is no point of a curve.
  void sum_up(const json& line) {
    asked_.write(line);
    own_.write(line);
  }

 private:
  static bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
  }

  metrics_file asked_, own_;
  csv_log csv_;
  event_file events_;
};

}  // namespace motet::train_clip
