// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/run_settings.hpp>
#include <motet/tools/feed.hpp>

#include <algorithm>

namespace motet {

// Run memory is what a run takes above the idle process, counted before any of it is taken.
struct run_memory {
  rank_memory training;  // of all ranks here; work is what they take besides
  isize data = 0;
  isize total() const { return training.total() + data; }
};

// Decoded pictures stay in memory up to the cache's limit; a short run does not fill it.
inline run_memory memory_of_run(session& model, const run_settings& s, const data_folder* folder) {
  run_memory out;
  for (const rank_memory& each : model.memory()) {
    out.training.stages.add(each.stages);
    out.training.features += each.features;
    out.training.packing += each.packing;
    out.training.inputs += each.inputs;
    out.training.work += each.work;
    out.training.scratch += each.scratch * each.threads;
  }
  // Samples in another order are a copy of the batch.
  const isize batches = s.reorders() ? 2 : 1;
  if (folder == nullptr) {
    out.data = batches * random_feed::bytes(s.batch, model.facts().random_shape());
    return out;
  }
  const loader_config& loader = folder->config();
  const isize tokens = model.facts().caption * static_cast<isize>(sizeof(tokenizer::token));
  const heard_form& heard = folder->sample_config().sample.heard;
  const bitmap shot = folder->some_picture();
  const isize seen = std::min(folder->size(), (s.steps + loader.ready) * s.batch),
              pictures = folder->pictures() * seen / folder->size();
  const isize cached =
      std::min(loader.cache_bytes, pictures * static_cast<isize>(shot.pixels.size()) + seen * (tokens + 100));
  out.data = (loader.ready + batches) * s.batch *
                 (picture_room::bytes(folder->most_pictures(), model.facts().shape.image,
                                      model.facts().shape.shapes) +
                  2 * tokens + heard.most * heard.numbers() * static_cast<isize>(sizeof(float))) +
             cached;
  return out;
}

}  // namespace motet
