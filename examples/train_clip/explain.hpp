// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain_learning.hpp"
#include "settings.hpp"

#include <motet/front/explain_plan.hpp>
#include <motet/tools/feed.hpp>
#include <motet/tools/progress.hpp>

#include <cstdio>

// What a run will need, found without taking any of it.
namespace motet::train_clip {

struct memory_forecast {
  rank_memory training;  // of all ranks here; work is what they take besides
  index data = 0;
  index total() const { return training.total() + data; }
};

// Decoded pictures stay in memory up to the cache's limit; a short run does not fill it.
inline memory_forecast forecast(session& model, const settings& s, const data_folder* folder) {
  memory_forecast out;
  for (const rank_memory& each : model.memory()) {
    out.training.stages.add(each.stages);
    out.training.features += each.features;
    out.training.packing += each.packing;
    out.training.inputs += each.inputs;
    out.training.work += each.work;
    out.training.scratch += each.scratch * each.threads;
  }
  if (folder == nullptr) {
    out.data = random_feed::bytes(s.batch, model.facts().random_shape());
    return out;
  }
  const loader_config& loader = folder->config();
  const index tokens = model.facts().caption.context * static_cast<index>(sizeof(tokenizer::token));
  const bitmap shot = folder->some_picture();
  const index seen = std::min(folder->size(), (s.steps + loader.ready) * s.batch),
              pictures = folder->pictures() * seen / folder->size();
  const index cached =
      std::min(loader.cache_bytes, pictures * static_cast<index>(shot.pixels.size()) + seen * (tokens + 100));
  out.data = (loader.ready + 1) * s.batch *
                 (folder->most_pictures() * packed_room(model.facts().picture.image) + 2 * tokens) +
             cached;
  return out;
}

inline void explain(session& model, const settings& s, const data_folder* folder) {
  const model_facts& facts = model.facts();
  const auto print_row = [](const char* name, double value) {
    std::printf("  %-12s %14.0f bytes  %s\n", name, value, bytes_text(value).c_str());
  };
  std::printf("machine   %s\n", model.machine().c_str());
  std::printf("model     %s, loss %s, precision %s\n", facts.name.c_str(), facts.loss.c_str(),
              facts.precision.c_str());
  std::printf("picture   %td x %td pixels, patch %td, width %td, %td layers, %td heads\n",
              facts.picture.image, facts.picture.image, facts.picture.patch, facts.picture.width,
              facts.picture.layers, facts.picture.heads);
  std::printf("caption   vocabulary %td, context %td, width %td, %td layers, %td heads\n",
              facts.caption.vocabulary, facts.caption.context, facts.caption.width, facts.caption.layers,
              facts.caption.heads);
  std::printf("embedding %td\n", facts.picture.embedding);
  if (folder != nullptr) std::printf("data      %s\n", folder->describe().c_str());
  index decayed = 0;
  for (const parameter& each : model.parameters()) decayed += each.decay ? each.size() : 0;
  std::printf("parameters %td in %zu tensors, %td of them with weight decay\n", facts.parameters,
              model.parameters().size(), decayed);
  std::printf(
      "step      %td samples in %td %s, %td steps, learning rate up to %g after %td steps of warm-up, %s\n",
      s.batch, s.accumulate, s.accumulate == 1 ? "part" : "parts", s.steps, s.rate, s.warmup_steps(),
      s.schedule.c_str());
  explain_learning(s);

  const memory_forecast memory = forecast(model, s, folder);
  const rank_memory& own = memory.training;
  std::printf("memory above the idle process\n");
  print_row("weights", static_cast<double>(own.stages.weights));
  print_row("gradients", static_cast<double>(own.stages.gradients));
  print_row("optimizer", static_cast<double>(own.stages.optimizer));
  if (own.stages.averages > 0) print_row("averages", static_cast<double>(own.stages.averages));
  print_row("kept", static_cast<double>(own.stages.slots + own.stages.boundaries));
  print_row("features", static_cast<double>(own.features));
  print_row("work", static_cast<double>(own.work + own.packing));
  print_row("scratch", static_cast<double>(own.scratch));
  if (own.inputs > 0) print_row("inputs", static_cast<double>(own.inputs));
  print_row("data", static_cast<double>(memory.data));
  print_row("total", static_cast<double>(memory.total()));
  const step_costs costs = model.foretold_costs();
  double run = 0;
  for (const rank_traffic& each : traffic_of(model.of(), model.work())) run += each.flops;
  std::printf("FLOPs of a step %.3f G (captions of full length; %.3f G as run)\n", costs.flops() / 1e9,
              run / 1e9);
  std::printf("sections of a step\n");
  const double all = std::max(costs.flops(), 1.0);
  for (const section_cost& each : costs) {
    if (each.flops <= 0 && each.bytes <= 0) continue;
    std::printf("  %-30s %10.3f GFLOP %5.1f%%  %8.1f MB moved at least\n", costs.path(each).c_str(),
                each.flops / 1e9, 100 * each.flops / all, each.bytes / 1e6);
  }
}

}  // namespace motet::train_clip
