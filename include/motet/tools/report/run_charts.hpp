// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/report/metrics.hpp>
#include <motet/tools/report/report.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// A told run is what a run told: its metrics, and its settings where it wrote them.
struct told_run {
  std::string name;
  std::vector<json> lines;
  json settings = json(json::object{});
};

// Reads what a run told from the folder of its report.
inline told_run read_run(const std::filesystem::path& folder) {
  told_run out{folder.string(), metrics_file::read_metrics(folder / "metrics.jsonl")};
  std::error_code ignored;
  if (const auto path = folder / "config.json"; std::filesystem::exists(path, ignored))
    out.settings = read_json(mapped_file(path).text(), path.string());
  return out;
}

// A number of a line; NaN where it has none.
inline double number_of(const json& line, std::string_view name) {
  const json* const found = line.find(name);
  return found != nullptr && found->is_number() ? found->number() : std::numeric_limits<double>::quiet_NaN();
}
// The last one of a run.
inline double last_number_of(const told_run& run, std::string_view name) {
  for (auto line = run.lines.rbegin(); line != run.lines.rend(); ++line)
    if (const double value = number_of(*line, name); std::isfinite(value)) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

namespace detail {

struct told_metric {
  const char *name, *title, *axis;
  enum { plain, smooth, dots, shares } shown = plain;
  bool from_zero = false;
  double unit = 1;
  const char* held_out = nullptr;  // the same, of samples that are never trained on
};
inline constexpr told_metric told_metrics[] = {
    {"loss", "Loss", "loss", told_metric::smooth, false, 1, "validation_loss"},
    {"zero_shot_accuracy", "Zero-shot accuracy", "accuracy", told_metric::shares},
    {"caption_within_1", "Held-out pictures whose own caption comes first", "retrieval", told_metric::shares},
    {"caption_accuracy", "Held-out pictures that are called what they are", "captions", told_metric::shares},
    {"gradient_norm", "Gradient norm", "norm", told_metric::smooth, true},
    {"logit_scale", "What similarities are multiplied by", "scale", told_metric::dots},
    {"learning_rate", "Learning rate", "rate", told_metric::plain, true},
    {"samples_per_second", "Samples a second", "speed", told_metric::smooth, true},
    {"memory_bytes", "Memory, GB", "memory", told_metric::plain, true, 1e-9},
    {"skipped", "Skipped samples", "samples", told_metric::plain, true},
};

inline chart_points points_of(const told_run& run, const char* name, double unit) {
  chart_points out;
  for (const json& line : run.lines) {
    // The last line sums up.
    if (line.find("final") != nullptr) continue;
    const double step = number_of(line, "step"), value = number_of(line, name);
    if (std::isfinite(value) && (out.empty() || out.back().first < step))
      out.emplace_back(step, unit * value);
  }
  return out;
}

// The names that lines have for parts of a loss, in the order of the first of them.
inline std::vector<std::string> parts_told(std::span<const told_run> runs) {
  std::vector<std::string> out;
  for (const told_run& run : runs)
    for (const json& line : run.lines)
      for (const json::member each : line.members())
        if (each.name.starts_with(part_of_loss) && std::find(out.begin(), out.end(), each.name) == out.end())
          out.emplace_back(each.name);
  return out;
}
// Each of several losses by itself, without its weight.
inline report_chart chart_of_parts(std::span<const told_run> runs) {
  report_chart chart{{"Each loss by itself", "loss"}, {}};
  for (const std::string& name : parts_told(runs))
    for (const told_run& run : runs)
      if (chart_points points = points_of(run, name.c_str(), 1); !points.empty())
        chart.series.push_back({std::move(points),
                                (runs.size() > 1 ? run.name + ", " : "") + name.substr(part_of_loss.size()),
                                true, false});
  return chart;
}

}  // namespace detail

// The metrics of some runs over their steps, a chart for each that any of them has. A chart that would show
// nothing but zeros is left out.
inline std::vector<report_chart> charts_of(std::span<const told_run> runs) {
  std::vector<report_chart> out;
  for (const detail::told_metric& each : detail::told_metrics) {
    report_chart chart{{each.title, each.axis}, {}};
    const bool shares = each.shown == detail::told_metric::shares;
    if (shares || each.from_zero) chart.config.low = 0;
    if (shares) chart.config.high = 1;
    chart.config.percent = shares;
    const auto add = [&](const told_run& run, const char* name, const char* what, bool smooth, bool dots) {
      chart_points points = detail::points_of(run, name, each.unit);
      const bool tells =
          std::any_of(points.begin(), points.end(), [](const auto& at) { return at.second != 0; });
      if (!tells) return;
      const std::string of = runs.size() > 1 ? run.name : "";
      chart.series.push_back(
          {std::move(points), of + (of.empty() || *what == '\0' ? "" : ", ") + what, smooth, dots});
    };
    for (const told_run& run : runs) {
      add(run, each.name, each.held_out != nullptr && runs.size() == 1 ? "training" : "",
          each.shown == detail::told_metric::smooth, shares || each.shown == detail::told_metric::dots);
      if (each.held_out != nullptr) add(run, each.held_out, "held out", false, true);
    }
    if (!chart.series.empty()) out.push_back(std::move(chart));
    if (&each != detail::told_metrics) continue;
    if (report_chart parts = detail::chart_of_parts(runs); !parts.series.empty())
      out.push_back(std::move(parts));
  }
  return out;
}

// Some runs on one page: their curves over the same axes, what they came to, and which of their settings
// differ.
inline report_page compare_runs(std::span<const told_run> runs) {
  report_page page;
  page.title = "Runs compared";
  for (const told_run& each : runs) page.subtitle += (page.subtitle.empty() ? "" : ", ") + each.name;
  page.charts = charts_of(runs);
  const auto row = [&](const std::string& name, auto&& value_of) {
    std::string text;
    for (const told_run& each : runs) text += (text.empty() ? "" : "; ") + each.name + ": " + value_of(each);
    page.facts.emplace_back(name, std::move(text));
  };
  for (const detail::told_metric& each : detail::told_metrics)
    for (const char* name : {each.name, each.held_out}) {
      const auto has = [&](const told_run& run) { return std::isfinite(last_number_of(run, name)); };
      if (name == nullptr || std::none_of(runs.begin(), runs.end(), has)) continue;
      row(std::string("last ") + name, [&](const told_run& run) {
        return has(run) ? detail::number_text(last_number_of(run, name)) : "none";
      });
    }
  std::vector<std::string> names;
  for (const told_run& each : runs)
    for (const json::member member : each.settings.members())
      if (std::find(names.begin(), names.end(), member.name) == names.end()) names.emplace_back(member.name);
  const auto value_in = [](const told_run& run, const std::string& name) {
    const json* const found = run.settings.find(name);
    return found != nullptr ? write_json(*found) : std::string("not given");
  };
  for (const std::string& name : names) {
    const auto differs = [&](const told_run& run) {
      return value_in(run, name) != value_in(runs.front(), name);
    };
    if (std::any_of(runs.begin(), runs.end(), differs))
      row("--" + name, [&](const told_run& run) { return value_in(run, name); });
  }
  page.facts_title = "What they came to, and which settings differ";
  return page;
}

}  // namespace motet
