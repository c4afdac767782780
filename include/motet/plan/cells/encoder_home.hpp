// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_costs.hpp>
#include <motet/plan/disttrain/search_chain.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace motet {

// The encoders of a job live in front of the language model in one pipeline; on devices of their own; or on
// the language model's devices, in its gaps or between its microbatches.
enum class encoder_home : std::uint8_t { first_stage, apart, filled };
constexpr std::string_view name_of(encoder_home of) {
  constexpr std::string_view names[] = {"first stage", "apart", "filled"};
  return names[as_size(static_cast<isize>(of))];
}

// A job cell of a model with encoders: its searches choose the stages, the home is told beside them.
struct home_row {
  job_cell cell;
  encoder_home home = encoder_home::first_stage;
  bool runs = false;
  uncertain step_seconds;
};

namespace detail {

inline cluster_facts whole_nodes(const cluster_facts& kind, std::int32_t devices) {
  cluster_facts out = as_one_kind(kind);
  out.devices_per_node = std::min(devices, kind.devices_per_node);
  out.nodes = devices / out.devices_per_node;
  return out;
}
// find() looks for a plan, and says how many stages it has and what a step takes; a home that has no room is
// a row that does not run.
template <class Find>
home_row row_of(encoder_home home, std::int32_t devices, const cell_bars& bars, Find find) {
  home_row out{{0, devices, 0}, home, false, {}};
  try {
    const auto [stages, seconds] = find();
    out.cell.stages = static_cast<std::int32_t>(stages);
    out.runs = true;
    out.step_seconds = {seconds, bars.by_rates * seconds, provenance::modelled};
  } catch (const error& problem) {
    if (std::string_view(problem.code()) != model_fits_nowhere.code) throw;
  }
  return out;
}

}  // namespace detail

// Of a chain: encoder and generator as stages of one pipeline, or on devices of their own, as DistTrain has
// them; or on the language model's devices where the library's search finds that better than apart. `devices`
// fill nodes.
inline std::vector<home_row> home_rows(const chain_model& model, const cluster_facts& kind,
                                       std::int32_t devices, isize samples, const cell_bars& bars = {}) {
  const chain_costs costs(model, detail::whole_nodes(kind, devices), samples);
  const list<double> pictures = draw_pictures(model, samples);
  const auto by = [&](encoder_home home, chain_search how) {
    return detail::row_of(home, devices, bars, [&] {
      const chain_answer found = search_chain(how, costs, pictures);
      return std::pair(found.how.stages(), found.gives.step_seconds);
    });
  };
  std::vector<home_row> out{by(encoder_home::first_stage, chain_search::megatron),
                            by(encoder_home::apart, chain_search::disttrain)};
  out.push_back(detail::row_of(encoder_home::filled, devices, bars, [&] {
    const chain_answer found = search_chain(chain_search::motet, costs, pictures);
    if (!found.how.shares[0]) fail(model_fits_nowhere, "the encoder is better apart");
    return std::pair(found.how.stages(), found.gives.step_seconds);
  }));
  return out;
}

// Encoders with a language model live in one pipeline with it, or in its gaps. They have no devices of their
// own.
inline std::vector<home_row> home_rows(const filled_model& model, const cluster_facts& kind,
                                       std::int32_t devices, isize samples, const cell_bars& bars = {}) {
  const filled_costs costs(model, detail::whole_nodes(kind, devices));
  const auto by = [&](encoder_home home, filled_search how) {
    return detail::row_of(home, devices, bars, [&] {
      const filled_answer found = search_filled(how, costs, samples);
      return std::pair(found.language.stages, found.step_seconds);
    });
  };
  return {by(encoder_home::first_stage, filled_search::balanced),
          by(encoder_home::filled, filled_search::motet)};
}

// The row that takes least; null where none runs.
inline const home_row* fastest(const std::vector<home_row>& of) {
  const home_row* best = nullptr;
  for (const home_row& each : of)
    if (each.runs && (best == nullptr || each.step_seconds.value < best->step_seconds.value)) best = &each;
  return best;
}

}  // namespace motet
