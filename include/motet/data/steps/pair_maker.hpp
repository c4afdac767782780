// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/picture_room.hpp>
#include <motet/data/samples/example.hpp>
#include <motet/data/samples/loader_config.hpp>
#include <motet/data/steps/run_order.hpp>

#include <algorithm>
#include <atomic>
#include <vector>

namespace motet {

// Makes a step's pairs as a function of the seed and of where the step begins in the data, whoever asks, in
// whatever order, and on however many threads. A pair_loader knows it by name alone: who trains need not read
// how pictures are decoded, and may have it compiled elsewhere.
class pair_maker {
 public:
  pair_maker(const pair_source& source, const tokenizer& words, const loader_config& config)
      : source_(source),
        words_(words),
        config_(config),
        cache_(source.size(), config.cache_bytes),
        bad_(as_size(source.size())) {
    check(config, source);
  }
  pair_maker(const pair_maker&) = delete;
  pair_maker& operator=(const pair_maker&) = delete;

  struct slot {
    pair_batch batch;
    std::vector<tokenizer::token> tokens;  // (batch, context), before the gaps are closed
    std::vector<isize> lengths;            // (batch); -1 for a damaged sample
    picture_room shown;
    data_position after;

    void prepare(const loader_config& config, std::byte* memory) {
      const auto count = as_size(config.batch), context = as_size(config.example.context);
      shown.prepare(memory, config.batch, config.example.image, config.form, config.example.colours);
      batch.count = config.batch;
      batch.pixels = shown.pixels(config.batch);
      batch.packed = shown.packed();
      batch.tokens.reserve(count * context);
      batch.offsets.resize(count + 1);
      batch.samples.resize(count);
      tokens.resize(count * context);
      lengths.resize(count);
    }
  };
  struct worker_type {
    example_reader reader;
    run_order order;
  };
  worker_type worker() {
    return {example_reader(source_, words_, config_.example, &cache_),
            run_order(source_.size(), config_.seed, config_.shuffle)};
  }
  void prepare(slot& own, std::byte* memory) const { own.prepare(config_, memory); }
  isize room() const { return picture_room::bytes(config_.batch, config_.example.image); }

  void plan(worker_type&, slot& own, data_position& at) const {
    own.batch.first = at.next;
    at.next += config_.batch;
    own.after = at;
  }
  isize parts(const slot&) const { return (config_.batch + chunk - 1) / chunk; }
  void fill(worker_type& by, slot& own, isize part, isize& at) {
    const isize end = std::min(config_.batch, (part + 1) * chunk);
    for (at = part * chunk; at < end; ++at) {
      const isize sample = by.order(own.batch.first + at);
      own.batch.samples[as_size(at)] = sample;
      put(by.reader, own, at, sample);
    }
  }

  // Replaces what was damaged, in order, then closes the gaps between the captions, and between packed
  // pictures.
  void complete(worker_type& by, slot& own) {
    pair_batch& batch = own.batch;
    for (isize at = 0; at < config_.batch; ++at) {
      if (own.lengths[as_size(at)] >= 0) continue;
      const isize instead = replacement(source_.size(), config_.seed, batch.first + at, batch.samples,
                                        [&](isize sample) { return put(by.reader, own, at, sample); });
      if (instead < 0) fail_few(config_.batch, source_.skips());
      batch.samples[as_size(at)] = instead;
    }
    batch.tokens.clear();
    batch.offsets[0] = 0;
    for (isize at = 0; at < config_.batch; ++at) {
      const auto from = own.tokens.begin() + at * config_.example.context;
      batch.tokens.insert(batch.tokens.end(), from, from + own.lengths[as_size(at)]);
      batch.offsets[as_size(at) + 1] = static_cast<isize>(batch.tokens.size());
    }
    own.shown.close();
  }

 private:
  static constexpr isize chunk = 8;  // samples that a thread takes at a time

  // The result is false, and the length -1, when the sample is damaged.
  bool put(example_reader& reader, slot& own, isize at, isize sample) {
    isize& length = own.lengths[as_size(at)];
    length = -1;
    if (bad_[as_size(sample)].load(std::memory_order_relaxed)) return false;
    const pair_example* const found = reader.get(sample);
    if (found == nullptr) {
      bad_[as_size(sample)].store(true, std::memory_order_relaxed);
      return false;
    }
    const random_stream draws = draws_at(config_.seed, "augment", own.batch.first + at);
    const augment_config* const augment = config_.augment ? &*config_.augment : nullptr;
    own.shown.put(
        at, [&](float* to) { reader.pixels(*found, augment, draws, to); },
        [&](std::uint8_t* to, packed_picture& made) {
          return reader.pack(*found, augment, draws, to, made);
        });
    length = static_cast<isize>(found->tokens.size());
    std::copy(found->tokens.begin(), found->tokens.end(), own.tokens.begin() + at * config_.example.context);
    return true;
  }

  const pair_source& source_;
  const tokenizer& words_;
  loader_config config_;
  example_cache cache_;
  std::vector<std::atomic<bool>> bad_;
};

// Refuses where a run of other data, or of another seed, stood.
inline void check_place(const pair_source& source, const loader_config& config, const data_position& from) {
  check_position(source, config.seed, from);
}

}  // namespace motet
