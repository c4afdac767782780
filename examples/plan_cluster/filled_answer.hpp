// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"
#include "here.hpp"
#include "settings.hpp"

#include <motet/format/text/json.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/plan/optimus/filled_gaps.hpp>
#include <motet/plan/optimus/search_filled.hpp>

// Plans of encoders and a language model that share all devices.
namespace motet::plan_cluster {

struct filled_reply {
  filled_model model;
  cluster_facts machine;
  filled_answer found;
};

namespace detail {

inline filled_search filled_search_of(const std::string& name) {
  return name == "optimus"             ? filled_search::optimus
         : name == "megatron"          ? filled_search::megatron
         : name == "megatron-balanced" ? filled_search::balanced
                                       : filled_search::motet;
}
inline std::string grid_text(const grid_3d& of) {
  return std::to_string(of.data) + " data x " + std::to_string(of.stages) + " stages x " +
         std::to_string(of.tensor) + " tensor";
}

}  // namespace detail

inline filled_reply answer_filled(const settings& given) {
  filled_reply out{*find_filled_model(given.model), cluster_of(given.cluster), {}};
  out.model.frozen = !given.frozen.empty();
  list<measured_gaps> measured;
  if (!given.profile.empty())
    measured = gaps_of_filled(load_profile(given.profile), given.profile, out.model, out.machine);
  const filled_costs costs(out.model, out.machine, {}, std::move(measured));
  out.found = search_filled(detail::filled_search_of(given.search), costs, given.batch);
  return out;
}

inline std::string write_filled(const filled_reply& of, const settings& given) {
  const filled_answer& found = of.found;
  const auto grid = [](const grid_3d& from) {
    json one;
    one.set("data", from.data);
    one.set("stages", from.stages);
    one.set("tensor", from.tensor);
    return one;
  };
  json idle, memory, out, measured{json::array{}};
  for (const label& each : found.measured) measured.push_back(std::string(each.view()));
  idle.set("gather", found.idle.gather);
  idle.set("scatter", found.idle.scatter);
  idle.set("warm_up", found.idle.warm_up);
  idle.set("cool_down", found.idle.cool_down);
  idle.set("dependency", found.idle.dependency);
  idle.set("exchange", found.idle.exchange);
  memory.set("worst", found.memory_bytes.worst);
  memory.set("mean", found.memory_bytes.mean);
  out.set("search", given.search);
  out.set("model", given.model);
  out.set("frozen", of.model.frozen);
  out.set("cluster", given.cluster);
  out.set("devices", of.machine.devices());
  out.set("batch", given.batch);
  out.set("microbatches", found.microbatches);
  out.set("chunks", found.chunks);
  out.set("fills", found.fills);
  out.set("apart", found.apart);
  out.set("idle_devices", found.idle_devices);
  out.set("language", grid(found.language));
  out.set("encoder", grid(found.encoder));
  out.set("encoder_pipelines", found.pipelines);
  out.set("slices", found.slices);
  out.set("considered", found.considered);
  out.set("step_seconds", found.step_seconds);
  out.set("samples_per_second", static_cast<double>(given.batch) / found.step_seconds);
  out.set("mfu", found.mfu);
  out.set("bubble_rate", found.bubble_rate);
  out.set("gaps", gaps_are(!found.measured.empty()));
  out.set("measured", std::move(measured));
  out.set("idle", std::move(idle));
  out.set("filled_coarse", found.filled_coarse);
  out.set("filled_fine", found.filled_fine);
  out.set("memory_bytes", std::move(memory));
  return write_json(out, 2) + "\n";
}

inline std::string tell_filled(const filled_reply& of, const settings& given) {
  const filled_answer& found = of.found;
  std::string out = given.model + " on " + given.cluster + ", " + std::to_string(given.batch) +
                    " samples a step: " + with_unit(found.step_seconds, "s") + ", " + percent(found.mfu) +
                    " of the peak with forwards counted twice, " + with_unit(found.memory_bytes.worst, "B") +
                    " on a device at most, " + with_unit(found.memory_bytes.mean, "B") + " in the mean\n";
  out += "  language model: " + detail::grid_text(found.language) + ", " + std::to_string(found.chunks) +
         " chunks, " + std::to_string(found.microbatches) + " microbatches\n";
  if (found.fills)
    out += "  encoders in its gaps: " + detail::grid_text(found.encoder) + ", " +
           std::to_string(found.pipelines) + " beside each of its pipelines; " +
           percent(found.filled_coarse) + " of their work in the gaps at both ends, " +
           percent(found.filled_fine) + " with those between" +
           (found.slices > 1 ? ", kernels in up to " + std::to_string(found.slices) + " slices" : "") + "\n";
  else if (found.apart)
    out += "  encoders on devices of their own: " + detail::grid_text(found.encoder) + "\n";
  else out += "  encoders in the same pipeline\n";
  if (found.idle_devices > 0)
    out += "  " + std::to_string(found.idle_devices) +
           " devices have nothing to do, as they do not divide the batch\n";
  out += std::string("  idle") + (found.fills ? " without encoders " : " ") + percent(found.bubble_rate) +
         ": gathering weights " + percent(found.idle.gather) + ", summing gradients " +
         percent(found.idle.scatter) + ", warm-up " + percent(found.idle.warm_up) + ", cool-down " +
         percent(found.idle.cool_down) + ", waiting for others " + percent(found.idle.dependency) +
         ", exchanges of tensor groups " + percent(found.idle.exchange) + "\n";
  std::string measured;
  for (const label& each : found.measured)
    measured += (measured.empty() ? "" : ", ") + std::string(each.view());
  const bool all = found.measured.size() == static_cast<std::size_t>(of.model.encoders.size()) + 1;
  return out + "  " + std::to_string(found.considered) + " plans considered; gaps inside operations are " +
         std::string(gaps_are(all)) +
         (measured.empty() ? ", as no profile has them (--profile)"
          : all            ? ""
                           : ", but of " + measured + " " + std::string(gaps_are(true))) +
         "\n";
}

}  // namespace motet::plan_cluster
