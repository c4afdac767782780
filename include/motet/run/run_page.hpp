// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/conduct_words.hpp>
#include <motet/run/opened_run.hpp>
#include <motet/tools/process/commit_of.hpp>
#include <motet/tools/report/progress.hpp>
#include <motet/tools/report/run_charts.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// The shares say where a step's time goes, the longest first.
inline std::vector<section_share> shares_of(const step_costs& costs) {
  std::vector<section_share> out;
  for (const section_cost& each : costs)
    if (each.seconds > 0) out.push_back({costs.path(each), each.seconds});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

// This goes onto the report's page. `told` is what the run wrote so far; without a result the page has no
// pictures.
inline report_page page_of(const opened_run& run, const test_result& found,
                           const std::vector<section_share>& split, const told_run& told) {
  const run_settings& s = run.s;
  session& model = *run.model;
  const session_facts& facts = model.facts();
  report_page page;
  page.title = "Training " + facts.name;
  page.subtitle = std::to_string(model.updates()) + " steps of " + std::to_string(s.batch) +
                  (facts.shape.pieces ? " samples, loss " : " pairs, loss ") + facts.loss + ", precision " +
                  facts.precision;
  page.charts = charts_of({&told, 1});
  double seconds = 0, steps = 0;
  for (const json& line : told.lines)
    if (line.find("loss") != nullptr) seconds += number_of(line, "seconds"), ++steps;
  const double samples_per_second = seconds > 0 ? steps * static_cast<double>(s.batch) / seconds : 0;
  char text[64];
  const auto headline = [&](const char* format, double value, const char* label) {
    std::snprintf(text, sizeof text, format, value);
    page.headline.push_back({text, label});
  };
  if (found.classes.pictures > 0) headline("%.1f %%", 100 * found.classes.accuracy(), "zero-shot accuracy");
  if (found.pairs.samples > 0) headline("%.1f %%", 100 * found.pairs.picture_share(0), "own caption first");
  if (found.captions.pictures > 0) headline("%.1f %%", 100 * found.captions.accuracy(), "caption accuracy");
  if (found.sounds.pictures > 0) headline("%.1f %%", 100 * found.sounds.accuracy(), "sound accuracy");
  if (found.several.pictures > 0)
    headline("%.1f %%", 100 * found.several.exact_share(), "of several pictures or sounds, to the word");
  if (found.drawings.pictures > 0)
    headline("%.1f %%", 100 * found.drawings.share(), "of colours nearer to their own picture");
  headline("%.4f", last_number_of(told, "loss"), "last loss");
  for (const std::string& each : facts.losses)
    headline("%.4f", last_number_of(told, name_of_part(each)), each.c_str());
  if (const double lost = last_number_of(told, "validation_loss"); std::isfinite(lost))
    headline("%.4f", lost, "loss, held out");
  headline("%.0f", samples_per_second, "samples a second");
  page.headline.push_back({clock_text(seconds), "in steps"});
  headline("%.2f M", static_cast<double>(facts.parameters) / 1e6, "parameters");
  page.headline.push_back({bytes_text(static_cast<double>(peak_memory())), "peak memory"});
  page.sections = split;

  if (found.any()) {
    page.pictures = run.test->pictures_told(model.logit_scale());
    page.pictures_note = run.test->note();
    page.pictures_title = run.test->title();
  }
  const auto fact = [&](const char* name, std::string value) {
    page.facts.emplace_back(name, std::move(value));
  };
  fact("machine", model.machine());
  fact("data", s.data);
  if (!s.producers.empty()) fact("producers", s.producers);
  for (const auto& [part, words] : facts.parts) fact(part.c_str(), words);
  if (run.reordered.steps > 0) {
    std::snprintf(text, sizeof text, "%s, %.3f times as fast by simulation", s.reorder.c_str(),
                  run.reordered.gained());
    fact("order of samples", text);
  }
  if (run.conducted.steps > 0) fact("scores that took turns", words_of(run.conducted, *model.scores()));
  fact("motet", version_of_run());
  fact("command", s.command);
  fact("settings", write_json(saved_settings(s)));
  return page;
}

}  // namespace motet
