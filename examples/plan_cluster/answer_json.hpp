// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"

#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/files/plan_json.hpp>

// The answer as JSON. It is a plan file too: what reads plans takes the first of them.
namespace motet::plan_cluster {

namespace detail {

// The shares of its operations in which a module waits for others of its groups; null: it has nobody to wait
// for.
inline json gaps_json(const module_plan& own, const module_forecast& gives) {
  if (!gap_degrees_of(own).waits()) return {};
  return json{{"forward", gives.forward_waits},
              {"backward", gives.backward_waits},
              {"are", gaps_are(gives.waits_measured)}};
}

inline json module_json(const module_plan& own, const module_forecast& gives) {
  const degrees& split = own.on.split();
  json bytes{{"weights", gives.bytes.weights},   {"gradients", gives.bytes.gradients},
             {"state", gives.bytes.state},       {"activations", gives.bytes.activations},
             {"features", gives.bytes.features}, {"total", gives.bytes.total()}};
  json out;
  out.set("name", own.name.view());
  out.set("ranks", own.on.ranks().size());
  out.set("stages", split.stages);
  out.set("data", split.data);
  out.set("context", split.context);
  out.set("tensor", split.tensor);
  out.set("microbatches", own.microbatches);
  out.set("group", own.whole_group());
  out.set("forward_seconds", gives.forward_seconds);
  out.set("backward_seconds", gives.backward_seconds);
  out.set("reduction_seconds", gives.reduction_seconds);
  out.set("gaps", gaps_json(own, gives));
  out.set("flops", gives.flops);
  out.set("utilisation", gives.utilisation);
  out.set("bytes", std::move(bytes));
  return out;
}

inline json plan_json(const ranked_plan& of, bool best) {
  json modules{json::array{}}, out;
  for (isize k = 0; k < of.how.modules.size(); ++k)
    modules.push_back(module_json(of.how.modules[k],
                                  k < of.gives.modules.size() ? of.gives.modules[k] : module_forecast{}));
  out.set("step_seconds", of.gives.step_seconds);
  out.set("samples_per_second", of.gives.samples_per_second);
  out.set("bubble_rate", of.gives.bubble_rate);
  out.set("memory_bytes", of.gives.memory_bytes);
  out.set("layout", layout_of(of.how));
  out.set("communication_share", of.gives.communication_share);
  out.set("node_traffic_bytes", of.gives.node_traffic_bytes);
  out.set("modules", std::move(modules));
  json why;
  if (!best)
    why = json{{"cause", name_of(of.why.cause)},
               {"seconds", of.why.seconds},
               {"own", of.why.own},
               {"best", of.why.winners},
               {"says", loss_of(of.why)}};
  out.set("why_lost", std::move(why));
  out.set("plan", motet::plan_json(of.how));
  return out;
}

}  // namespace detail

inline std::string write_answer(const answer& of) {
  json plans{json::array{}}, out;
  out.set("search", of.search);
  out.set("model", of.model);
  out.set("cluster", of.cluster);
  out.set("devices", of.machine.devices());
  out.set("batch", of.batch);
  out.set("contrastive_batch", of.wishes.contrastive_batch > 0 ? of.wishes.contrastive_batch : of.batch);
  out.set("considered", of.found.considered);
  out.set("simulated", of.found.simulated);
  if (!of.found.not_tried.empty()) out.set("not_tried", of.found.not_tried);
  for (isize i = 0; i < of.found.plans.size(); ++i)
    plans.push_back(detail::plan_json(of.found.plans[i], i == 0));
  out.set("plans", std::move(plans));
  return write_json(out, 2) + "\n";
}

}  // namespace motet::plan_cluster
