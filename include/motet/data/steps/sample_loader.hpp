// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/steps/sample_maker.hpp>
#include <motet/data/steps/steps_in_turn.hpp>

namespace motet {

// Makes batches of samples of any number of pieces, as pair_loader does of pairs: ahead of time, on its own
// threads, the same whatever their number. A damaged sample is replaced by one drawn from (seed, place);
// where batches are filled to a number of rows it is left out, and all others are there once in each epoch.
// Where the model sees pictures of any shape (sample.shapes), each keeps its own, to whole patches.
// Asks for: a source and a vocabulary that outlive it.
// Memory: pictures of the batches made ahead, and decoded ones up to `cache_bytes`.
// Errors: MT-D10, MT-D11, MT-D12, MT-D13
// Example:
//   std::ptrdiff_t rows_of_first(const sample_source& source, const tokenizer& words) {
//     sample_loader_config config;
//     config.batch = 8;
//     config.example.context = 160;
//     config.sample = {.rows_of_picture = 64, .lead = 0, .most_pictures = 2, .marks = marks_of(words)};
//     sample_loader loader(source, words, config);
//     return loader.next().input().seq.rows();
//   }
class sample_loader {
 public:
  sample_loader(const sample_source& source, const tokenizer& words, const sample_loader_config& config)
      : sample_loader(source, words, config,
                      data_position{config.seed, source.fingerprint(), source.size(), 0}) {}
  // Goes on where `from` was taken; refuses another data set or seed.
  sample_loader(const sample_source& source, const tokenizer& words, const sample_loader_config& config,
                const data_position& from)
      : config_(check_samples(config, source)),
        made_(checked(source, config, from), config, source, words, config) {}

  // The pictures of all batches lie in this memory.
  const buffer<std::byte>& memory() const { return made_.memory(); }
  // The next batch, valid until the next call. Throws what went wrong while it was made, again on every later
  // call.
  const sample_batch& next() { return made_.next(); }
  // The one that next() will give, if it is made already, as valid as that one will be; else null.
  const sample_batch* ahead() const { return made_.ahead(); }
  // The position lies behind the batch that `next` gave last: saved with the weights of that step, it resumes
  // with the batch after it.
  const data_position& position() const { return made_.position(); }
  loader_statistics statistics() const { return made_.statistics(); }
  const sample_loader_config& config() const { return config_; }

 private:
  static const data_position& checked(const sample_source& source, const sample_loader_config& config,
                                      const data_position& from) {
    check_place(source, config, from);
    return from;
  }

  sample_loader_config config_;
  steps_in_turn<sample_maker> made_;
};

}  // namespace motet
