// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/augment.hpp>
#include <motet/data/pictures/pack.hpp>
#include <motet/data/skips.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace motet {

// A sample becomes a picture and a caption of at most these sizes.
struct example_config {
  isize image = 64;    // side of the square that the model sees
  isize context = 77;  // most tokens of a caption, begin and end included
  resampler::colours colours{};
  picture_limits limits{};
};

inline void check(const example_config& config) {
  bool good = config.image > 0 && config.image <= 16384 && config.context >= 2;
  for (const float each : config.colours.deviation) good = good && each > 0;
  if (!good)
    fail(bad_data_option,
         sentence({"picture side ", config.image, ", context ", config.context,
                   "; wanted a positive side, a context of at least 2 and positive deviations"}));
}

struct loader_config {
  isize batch = 64;
  std::uint64_t seed = 1;
  bool shuffle = true;
  std::optional<augment_config> augment = augment_config{};  // none: the square in the middle
  int threads = 1;
  isize ready = 3;                       // batches made ahead of the step
  isize cache_bytes = isize{256} << 20;  // for decoded pictures
  picture_form form = picture_form::floats;
  example_config example{};
};

// Refuses what no loader can do.
template <class Source>
const loader_config& check(const loader_config& config, const Source& source) {
  if (config.batch < 1 || config.threads < 1 || config.ready < 1)
    fail(bad_data_option, sentence({"batch ", config.batch, ", threads ", config.threads, ", batches ahead ",
                                    config.ready, "; wanted at least one of each"}));
  if (config.batch > source.size())
    fail(batch_too_large, sentence({"batch ", config.batch, ", data set of ", source.size(), " samples"}));
  if (config.augment) check(*config.augment);
  check(config.example);
  return config;
}
[[noreturn]] inline void fail_few(isize batch, const skip_log& skips) {
  fail(no_samples,
       sentence({"too few whole samples for a batch of ", batch, "; skipped: ", skips.summary()}));
}

struct loader_statistics {
  isize batches = 0;
  double wait_seconds = 0;  // that `next` made the step wait
  isize pictures = 0;       // that were read, where samples are made of pieces
};

// One step's samples. Captions are ragged: caption s is tokens [offsets[s], offsets[s + 1]).
struct pair_batch {
  isize first = 0;         // its first sample's position in the run
  isize count = 0;         // of samples
  matrix<float> pixels;    // (batch, 3 x image x image), red, green and blue planes; or
  packed_pictures packed;  // (batch), the same pictures before they are resized: data/pictures/pack.hpp
  std::vector<std::int32_t> tokens;  // (sum of lengths)
  std::vector<isize> offsets;        // (batch + 1)
  std::vector<isize> samples;        // (batch), numbers in the source

  isize size() const { return count; }
  sequences captions() const { return {size(), 0, offsets.data()}; }
};

}  // namespace motet
