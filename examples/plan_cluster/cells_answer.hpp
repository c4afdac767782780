// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer_text.hpp"
#include "settings.hpp"

#include <motet/plan/cells/search_cells.hpp>
#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/search/search_refusals.hpp>

// Every cell of a job on a kind of device: a row for each number of devices and stages, with the plan that
// stands for it.
namespace motet::plan_cluster {

struct cells_reply {
  model_shape model;
  cluster_facts kind;
  training_bytes bytes;
  std::vector<cell_row> rows;
};

// Throws MT-P85 where nothing runs.
inline cells_reply answer_cells(const settings& given, const answer& asked) {
  cells_reply out{asked.towers, asked.machine, asked.wishes.bytes, {}};
  cell_options options;
  options.bytes = out.bytes;
  options.measured = asked.wishes.play.measured;
  options.by = given.search == "crius" ? cell_choice::published : cell_choice::estimated;
  out.rows = search_cells(out.model, out.kind, given.batch, options);
  if (fastest(out.rows) == nullptr)
    fail(model_fits_nowhere, sentence({given.model, " in none of the ", out.rows.size(), " cells of at most ",
                                       options.limits.devices, " devices with ",
                                       in_words(as_one_kind(out.kind).device.memory_bytes), " each"}));
  return out;
}

namespace detail {

// "4 data x 2 tensor"; stages that differ one behind the other.
inline std::string stages_text(const cell_row& of) {
  const auto split = [](const cell_stage& stage) { return ways_of({1, stage.data, 1, stage.tensor}); };
  std::string layers, ways;
  for (const cell_stage& each : of.proxy.stages) {
    isize blocks = 0;
    for (isize i = each.first; i < each.last; ++i) blocks += of.layers[i].blocks.size();
    layers += (layers.empty() ? "" : "-") + std::to_string(blocks);
    if (!of.proxy.alike() || ways.empty()) ways += (ways.empty() ? "" : ", ") + split(each);
  }
  return layers + " layers, " + ways + (of.proxy.remade ? ", remade" : "");
}

// Says whether its tensor groups wait as long as is counted or as was measured.
inline std::string gaps_text(const cell_forecast& of) {
  return of.waits == 0                   ? "none"
         : of.waits_measured == 0        ? std::string(gaps_are(false))
         : of.waits_measured == of.waits ? std::string(gaps_are(true))
                                         : "measured in part";
}

}  // namespace detail

inline std::string tell_cells(const cells_reply& of, const settings& given) {
  const bool unlike = of.kind.kinds() > 1;
  std::vector<detail::row> rows{
      {"", "devices", "stages", "step", "give or take", "samples/s", "memory", "microbatches", "plan"}};
  if (unlike) rows[0].push_back("kind");
  const cell_row* const best = fastest(of.rows);
  for (const cell_row& each : of.rows) {
    detail::row made{&each == best ? "best" : "", std::to_string(each.cell.devices),
                     std::to_string(each.cell.stages)};
    if (each.runs) {
      const uncertain& step = each.gives.step_seconds;
      made.insert(made.end(), {with_unit(step.value, "s"), with_unit(step.bar, "s"),
                               std::to_string(std::llround(static_cast<double>(given.batch) / step.value)),
                               with_unit(each.gives.memory_bytes.value, "B"),
                               std::to_string(each.proxy.microbatches), detail::stages_text(each)});
    } else {
      made.insert(made.end(), {"-", "-", "-", "-", "-", "does not fit"});
    }
    if (unlike) made.emplace_back(of.kind.of_kind(each.cell.kind).device.name.view());
    rows.push_back(std::move(made));
  }
  const std::string from(name_of(best->gives.step_seconds.from));
  return given.model + " on " + given.cluster + ", " + std::to_string(given.batch) +
         " samples a step: " + std::to_string(of.rows.size()) + " cells, times " + from +
         "; gaps of the best plan: " + detail::gaps_text(best->gives) + "\n\n" + detail::table_of(rows, 1);
}

// Plan files hold the plan of the best cell first.
inline std::string write_cells(const cells_reply& of, const settings& given) {
  const cell_row* const best = fastest(of.rows);
  json cells{json::array{}}, plans{json::array{}}, out;
  for (const cell_row& each : of.rows) {
    json one;
    one.set("devices", each.cell.devices).set("stages", each.cell.stages).set("runs", each.runs);
    one.set("considered", each.considered);
    if (of.kind.kinds() > 1) one.set("kind", of.kind.of_kind(each.cell.kind).device.name.view());
    if (each.runs) {
      const uncertain& step = each.gives.step_seconds;
      one.set("step_seconds", step.value).set("step_seconds_bar", step.bar);
      one.set("provenance", name_of(step.from));
      one.set("gaps", detail::gaps_text(each.gives));
      one.set("samples_per_second", static_cast<double>(given.batch) / step.value);
      one.set("memory_bytes", each.gives.memory_bytes.value);
      one.set("microbatches", each.proxy.microbatches);
      one.set("imbalance", each.proxy.imbalance).set("communication_seconds", each.proxy.communication);
      one.set("layout", detail::stages_text(each));
      one.set("plan",
              motet::plan_json(plan_of(each.proxy, each.layers, of.model,
                                       cluster_of(each.cell, of_kinds(of.kind, 1u << each.cell.kind)))));
      if (&each == best) plans.push_back(one);
    }
    cells.push_back(std::move(one));
  }
  out.set("search", given.search);
  out.set("model", given.model);
  out.set("cluster", given.cluster);
  out.set("batch", given.batch);
  out.set("cells", std::move(cells));
  out.set("plans", std::move(plans));
  return write_json(out, 2) + "\n";
}

}  // namespace motet::plan_cluster
