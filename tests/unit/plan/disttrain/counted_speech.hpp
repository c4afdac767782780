// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/disttrain/counted_graph.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>

// An eye, its glue and a language model, counted: the question that tests of their plans ask.
struct speech_question {
  std::int32_t ranks = 2;
  motet::isize samples = 16;
  double eye = 1e9, talk = 1e9;  // FLOPs of the longest sample forward
  bool eye_learns = true;
  motet::isize layers = 4;  // of the language model
  double sigma = 0;         // of how many pictures samples have
  bool cuts = true;         // layers in two parts, and the rows of the language model's samples, too
  double between = 0;       // bytes that rows have; 0: none
  double spoken = 0;        // sigma of how long samples are
  double parameters = 1e6;  // of each module
  double experts = 0;       // of the language model's parameters, those of eight experts in each mixture
  double chosen = 0;        // bytes that come from others for each of its samples, where replicas share these
  motet::isize seen = 0;    // rows of a picture, which parts share where they are enough
  double keys = 1e6;        // bytes of keys and values that come from the other parts of it
  double columns = 1e6;  // bytes that come from others of a tensor group, and of the language model's parts
};

inline motet::counted_graph counted_speech(const speech_question& asked) {
  using namespace motet;
  counted_graph of;
  of.facts.push({.name = "eye", .layers = 4, .key_heads = 4, .frozen = !asked.eye_learns, .meets = false});
  of.facts.back().rows = asked.seen;
  of.facts.push({.name = "glue", .attends = false, .from = {0}, .meets = false});
  of.facts.push({.name = "talk",
                 .layers = asked.layers,
                 .key_heads = 4,
                 .from = {1},
                 .experts = asked.experts > 0 ? 8 : 0});
  for (const std::int32_t context : {1, 2})
    for (const std::int32_t tensor : {1, 2}) {
      if (std::max(tensor, context) > (asked.cuts ? 2 : 1)) continue;
      counted_cut cut{.tensor = tensor, .context = context};
      for (const double each : {asked.eye, 1e6, asked.talk}) {
        const isize module = cut.modules.size();
        const bool rests = module == 0 && !asked.eye_learns, shares = of.cuts_rows(module, context);
        const int parts = shares ? tensor * context : tensor;
        const double own = each / parts, keys = module == 0 && parts > tensor ? asked.keys : 0,
                     exchanged = keys + (parts > 1 && (keys == 0 || tensor > 1) ? asked.columns : 0);
        cut.modules.push({own, rests ? 0 : own, rests ? 0 : own, exchanged, exchanged, asked.between,
                          asked.between, asked.parameters / tensor});
      }
      of.cuts.push(cut);
      for (cut.experts = 2; asked.experts > 0 && cut.experts * tensor <= 8; cut.experts *= 2) {
        counted_cut shared = cut;
        counted_module& talk = shared.modules[2];
        talk.parameters *= 1 - asked.experts * (1 - 1.0 / cut.experts);
        talk.forward_bytes += asked.chosen, talk.backward_bytes += asked.chosen;
        of.cuts.push(shared);
      }
    }
  of.on = cluster_named("laptop:1x8");
  of.on.devices_per_node = std::max(8, asked.ranks);
  of.device_flops = 1e11;
  of.samples = asked.samples;
  of.ranks = asked.ranks;
  const random_stream draw(7, "pictures"), lengths(9, "words");
  for (std::uint64_t step = 0; step < 3; ++step) {
    step_headers each;
    each.samples = static_cast<std::int32_t>(asked.samples);
    for (const module_facts& module : of.facts) {
      each.modules.push(module.name);
      for (isize s = 0; s < asked.samples; ++s) {
        const double pictures =
            std::exp(asked.sigma * draw.normal(step * 1000 + static_cast<std::uint64_t>(s)));
        const double words =
            std::exp(asked.spoken * lengths.normal(step * 1000 + static_cast<std::uint64_t>(s)));
        each.work.push(module.name == label("talk") ? std::min(1.0, words / std::exp(2 * asked.spoken))
                                                    : std::min(1.0, pictures / std::exp(2 * asked.sigma)));
        each.rows.push(8 * each.work.back());
      }
    }
    of.steps.push(each);
  }
  return of;
}
