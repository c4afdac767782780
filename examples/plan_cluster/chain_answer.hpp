// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"
#include "here.hpp"
#include "settings.hpp"

#include <motet/format/text/json.hpp>
#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/disttrain/search_chain.hpp>

// Plans of an encoder, a language model and a generator, one behind the other.
namespace motet::plan_cluster {

struct chain_reply {
  chain_model model;
  cluster_facts machine;
  chain_answer found;
  double unordered = 0;  // seconds of a step whose samples come as they are
};

namespace detail {

inline chain_search search_of(const std::string& name) {
  return name == "disttrain"      ? chain_search::disttrain
         : name == "megatron"     ? chain_search::megatron
         : name == "proportional" ? chain_search::proportional
                                  : chain_search::motet;
}
inline std::string degrees_of(const chain_plan& of, isize part) {
  const part_place& own = of.parts[part];
  if (part == 0 && of.multiplexed)
    return "multiplexed on the language model's ranks, each with a part of every microbatch";
  if (of.shares[part]) return "on the language model's ranks, between its microbatches";
  return std::to_string(own.stages) + " stages x " + std::to_string(own.data) + " data x " +
         std::to_string(own.tensor) + " tensor on " + std::to_string(own.ranks()) + " ranks";
}
inline std::string layout_of(const chain_model& model, const chain_plan& of) {
  std::string out;
  for (isize k = 0; k < chain_model::size; ++k)
    out += (k > 0 ? "; " : "") + std::string(model.parts[k].name.view()) + ": " + degrees_of(of, k);
  return out;
}
inline const char* name_of(chain_order order) {
  return order == chain_order::even ? "even" : order == chain_order::published ? "published" : "as they come";
}

}  // namespace detail

// The parts that learn, by a list of those that do not. Throws MT-X03 for a name that is none.
inline void freeze(chain_model& of, const std::string& names) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    const std::string_view name = std::string_view(names).substr(at, comma - at);
    bool known = false;
    for (chain_part& each : of.parts)
      if (each.name.view() == name) each.learns = false, known = true;
    if (!known)
      fail(bad_option_value, "--frozen wants names of encoder, language, generator, got \"" + names + "\"");
    at = comma + 1;
  }
}

inline chain_reply answer_chain(const settings& given) {
  chain_reply out{*find_chain(given.model), cluster_of(given.cluster), {}, 0};
  freeze(out.model, given.frozen);
  const chain_costs costs(out.model, out.machine, given.batch);
  const list<double> pictures = draw_pictures(out.model, given.batch, {.seed = 1, .sigma = given.sigma});
  out.found = search_chain(detail::search_of(given.search), costs, pictures);
  out.unordered = forecast_chain(costs, out.found.how, pictures, chain_order::as_they_come).step_seconds;
  return out;
}

inline std::string write_chain(const chain_reply& of, const settings& given) {
  const chain_plan& how = of.found.how;
  json modules, out;
  for (isize k = 0; k < chain_model::size; ++k) {
    const chain_part& part = of.model.parts[k];
    const part_place& own = how.parts[k];
    json one;
    one.set("ranks", how.shares[k] ? how.ranks() : own.ranks());
    one.set("shares", how.shares[k]);
    one.set("multiplexed", k == 0 && how.multiplexed);
    one.set("stages", own.stages);
    one.set("data", own.data);
    one.set("tensor", own.tensor);
    one.set("learns", part.learns);
    one.set("busy", of.found.gives.parts[k].busy);
    one.set("mfu", of.found.gives.parts[k].mfu);
    modules.set(part.name.view(), std::move(one));
  }
  out.set("search", given.search);
  out.set("model", given.model);
  out.set("cluster", given.cluster);
  out.set("devices", of.machine.devices());
  out.set("batch", given.batch);
  out.set("microbatches", given.batch / how.middle().data);
  out.set("order", detail::name_of(of.found.order));
  out.set("considered", of.found.considered);
  out.set("mfu", of.found.gives.mfu);
  out.set("step_seconds", of.found.gives.step_seconds);
  out.set("step_seconds_unordered", of.unordered);
  out.set("gaps", gaps_are(false));
  out.set("samples_per_second", of.found.gives.samples_per_second);
  out.set("ranks_used", how.ranks());
  out.set("layout", detail::layout_of(of.model, how));
  out.set("per_module", std::move(modules));
  return write_json(out, 2) + "\n";
}

inline std::string tell_chain(const chain_reply& of, const settings& given) {
  const chain_plan& how = of.found.how;
  const chain_forecast& gives = of.found.gives;
  std::string out = given.model + " on " + given.cluster + ", " + std::to_string(given.batch) +
                    " samples a step: " + with_unit(gives.step_seconds, "s") + ", " +
                    std::to_string(std::llround(gives.samples_per_second)) + " samples/s, " +
                    percent(gives.mfu) + " of the peak of " + std::to_string(how.ranks()) + " ranks (of " +
                    std::to_string(of.machine.devices()) + ")\n";
  for (isize k = 0; k < chain_model::size; ++k)
    out += "  " + std::string(of.model.parts[k].name.view()) + (of.model.parts[k].learns ? "" : ", frozen") +
           ": " + detail::degrees_of(how, k) + "; busy " + percent(gives.parts[k].busy) + ", " +
           percent(gives.parts[k].mfu) + " of its peak\n";
  out += "  " + std::to_string(given.batch / how.middle().data) +
         " microbatches for each replica of the language model; samples " + detail::name_of(of.found.order) +
         ", where they come as they are: " + with_unit(of.unordered, "s") + "\n  " +
         std::to_string(of.found.considered) + " plans considered; waits of tensor groups are " +
         std::string(gaps_are(false)) + ", as chains have no profile\n";
  return out;
}

}  // namespace motet::plan_cluster
