// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"

#include <motet/tools/report/chart.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// One page that needs nothing else: the numbers, who had which devices when, and two curves.
namespace motet::schedule_jobs {

namespace detail {

inline constexpr const char* page_style =
    "body{font:15px/1.5 system-ui,sans-serif;margin:0;background:#f6f7f9;color:#1c2430}"
    "main{max-width:1100px;margin:0 auto;padding:24px}h1{font-size:22px}h2{font-size:16px;margin:0 0 8px}"
    ".card{background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:16px;margin:16px 0}"
    "svg{width:100%;height:auto}td{padding:2px 12px 2px 0}.tick{font-size:11px;fill:#5b6675}"
    ".grid{stroke:#b9c1cc;stroke-width:1}.curve{fill:none;stroke:#2563c9;stroke-width:1.2}";
inline constexpr double page_width = 1000, page_left = 60;

// A curve of a value for each round, with the hours below and its largest value at the left.
inline std::string curve_svg(const std::string& title, const std::vector<double>& values,
                             double round_seconds) {
  constexpr double height = 160, top = 10, bottom = 20;
  const double most = std::max(largest_of(values), 1e-9),
               last = std::max(1.0, static_cast<double>(values.size()));
  char text[160];
  std::string out = "<svg viewBox=\"0 0 1000 160\" role=\"img\" aria-label=\"" + escape_html(title) + "\">";
  std::snprintf(text, sizeof text, "<text class=\"tick\" x=\"56\" y=\"18\" text-anchor=\"end\">%.5g</text>",
                most);
  out += text;
  std::snprintf(text, sizeof text,
                "<text class=\"tick\" x=\"56\" y=\"142\" text-anchor=\"end\">0</text>"
                "<text class=\"tick\" x=\"1000\" y=\"158\" text-anchor=\"end\">%.4g h</text>",
                static_cast<double>(values.size()) * round_seconds / 3600);
  out += text;
  out += "<polyline class=\"curve\" points=\"";
  const std::size_t step = std::max<std::size_t>(1, values.size() / 2000);
  for (std::size_t i = 0; i < values.size(); i += step) {
    std::snprintf(text, sizeof text, "%.1f,%.1f ",
                  page_left + static_cast<double>(i) / last * (page_width - page_left),
                  top + (1 - values[i] / most) * (height - top - bottom));
    out += text;
  }
  return out + "\"/></svg>";
}

// Devices downwards, time to the right: a rectangle for each job and time, on the devices of one node that
// lie side by side.
inline std::string gantt_svg(const answer& of) {
  const job_outcome& outcome = of.played.outcome;
  const double seconds = std::max(outcome.lasted, 1.0);
  const isize devices = of.cluster.devices();
  char text[320];
  std::snprintf(text, sizeof text, "<svg viewBox=\"0 0 1000 %td\" role=\"img\" aria-label=\"Devices\">",
                devices);
  std::string out = text;
  isize from = 0;
  for (const device_group& each : of.cluster.kinds) {
    std::snprintf(text, sizeof text,
                  "<line class=\"grid\" x1=\"60\" x2=\"1000\" y1=\"%td\" y2=\"%td\"/>"
                  "<text class=\"tick\" x=\"56\" y=\"%td\" text-anchor=\"end\">%s</text>",
                  from, from, from + 14, escape_html(each.kind).c_str());
    out += text;
    from += each.devices();
  }
  std::vector<device_span> spans = outcome.spans;
  std::sort(spans.begin(), spans.end(), [](const device_span& a, const device_span& b) {
    return std::tie(a.job, a.from, a.to, a.device) < std::tie(b.job, b.from, b.to, b.device);
  });
  for (std::size_t i = 0; i < spans.size();) {
    const device_span& first = spans[i];
    std::size_t n = 1;
    while (i + n < spans.size() && spans[i + n].job == first.job && spans[i + n].from == first.from &&
           spans[i + n].to == first.to && spans[i + n].device == first.device + static_cast<std::int32_t>(n))
      ++n;
    i += n;
    if (first.to <= first.from) continue;
    const double x = page_left + first.from / seconds * (page_width - page_left);
    const double wide = std::max(0.2, (first.to - first.from) / seconds * (page_width - page_left));
    // Neighbouring numbers get colours that differ.
    std::snprintf(
        text, sizeof text,
        "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%zu\" fill=\"hsl(%d 55%% 60%%)\"><title>", x,
        first.device, wide, n, static_cast<int>(first.job * 137L % 360));
    out += text;
    const traced_job& job = of.trace.jobs[as_size(first.job)];
    out += escape_html(job.id + ": " + job.model) + "</title></rect>\n";
  }
  return out + "</svg>";
}

}  // namespace detail

inline std::string page_of(const answer& of) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                    escape_html(heading(of)) + "</title><style>" + detail::page_style +
                    "</style></head><body><main>\n<h1>" + escape_html(heading(of)) +
                    "</h1><section class=\"card\"><table>";
  for (const line_of& each : lines_of(of))
    out += "<tr><td>" + escape_html(each.what) + "</td><td>" + escape_html(each.is) + "</td></tr>\n";
  const job_outcome& outcome = of.played.outcome;
  out += "</table></section>\n<section class=\"card\"><h2>Samples a second</h2>" +
         detail::curve_svg("Samples a second", outcome.throughput, outcome.bin) +
         "</section>\n<section class=\"card\"><h2>Jobs in the queue</h2>" +
         detail::curve_svg("Jobs in the queue", outcome.queue, outcome.bin) +
         "</section>\n<section class=\"card\"><h2>Who had which devices</h2>" + detail::gantt_svg(of) +
         "</section>\n";
  return out + "</main></body></html>\n";
}

}  // namespace motet::schedule_jobs
