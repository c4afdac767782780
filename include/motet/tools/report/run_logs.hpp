// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/report/csv_log.hpp>
#include <motet/tools/report/event_file.hpp>
#include <motet/tools/report/metrics.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace motet {

// The wishes say where a run tells its numbers; empty: not there.
struct log_wishes {
  std::string report;       // folder: metrics.jsonl, and metrics.csv with commas
  std::string metrics;      // file, JSON lines as well
  std::string tensorboard;  // folder
};

// A run tells its numbers here, each line to all files that are asked for. A run that goes on after some
// updates keeps what was told up to there. `losses`: where a model has several, the names of each.
class run_logs {
 public:
  run_logs() = default;  // writes nothing
  explicit run_logs(const log_wishes& to, std::int64_t updates = 0, bool resumed = false,
                    const std::vector<std::string>& losses = {}) {
    const std::int64_t keep = resumed ? updates : -1;
    const std::filesystem::path own = std::filesystem::path(to.report) / "metrics.jsonl";
    if (!to.report.empty()) {
      own_ = metrics_file(own, keep);
      std::string all = columns;
      for (const std::string& each : losses) all += "," + name_of_part(each);
      csv_ = csv_log(std::filesystem::path(own).replace_extension(".csv"), all);
      for (const json& line : metrics_file::read_metrics(own)) csv_.write(line);
    }
    if (!to.metrics.empty() && (to.report.empty() || !is_same(to.metrics, own)))
      asked_ = metrics_file(to.metrics, keep);
    if (!to.tensorboard.empty()) events_ = event_file(to.tensorboard, updates + 1);
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
  static constexpr const char* columns =
      "step,loss,validation_loss,gradient_norm,learning_rate,logit_scale,seconds,samples_per_second,mfu,"
      "memory_bytes,data_wait,reordered,reorder_seconds,reorder_wait,skipped,zero_shot_accuracy,"
      "caption_within_1,caption_within_5,caption_within_10,"
      "picture_within_1,picture_within_5,picture_within_10,caption_accuracy,caption_exact,several_exact,"
      "text_exact";

  static bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
  }

  metrics_file asked_, own_;
  csv_log csv_;
  event_file events_;
};

}  // namespace motet
