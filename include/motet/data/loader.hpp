// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/example.hpp>
#include <motet/data/made_ahead.hpp>
#include <motet/data/picture_room.hpp>
#include <motet/data/run_order.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/sequences.hpp>

#include <optional>

namespace motet {

struct loader_config {
  index batch = 64;
  std::uint64_t seed = 1;
  bool shuffle = true;
  std::optional<augment_config> augment = augment_config{};  // none: the square in the middle
  int threads = 1;
  index ready = 3;                       // batches made ahead of the step
  index cache_bytes = index{256} << 20;  // for decoded pictures
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
[[noreturn]] inline void fail_few(index batch, const skip_log& skips) {
  fail(no_samples,
       sentence({"too few whole samples for a batch of ", batch, "; skipped: ", skips.summary()}));
}

// One step's samples. Captions are ragged: caption s is tokens [offsets[s], offsets[s + 1]).
struct pair_batch {
  index first = 0;                       // its first sample's position in the run
  index count = 0;                       // of samples
  matrix<float> pixels;                  // (batch, 3 x image x image), red, green and blue planes; or
  packed_pictures packed;                // (batch), the same pictures before they are resized: data/pack.hpp
  std::vector<tokenizer::token> tokens;  // (sum of lengths)
  std::vector<index> offsets;            // (batch + 1)
  std::vector<index> samples;            // (batch), numbers in the source

  index size() const { return count; }
  sequences captions() const { return {size(), 0, offsets.data()}; }
};

// Makes batches ahead of time on its own threads, in slots that are allocated once. The run is the epochs'
// orders one after another, cut into batches, so a batch may reach over the end of an epoch and all are full.
// What is in a batch depends on (seed, position) alone; a damaged sample is replaced by one drawn from (seed,
// position), so even that does not depend on which thread found it, or when.
// Asks for: a batch that is no larger than the source, which outlives the loader as the vocabulary does.
// Memory: `ready` batches, and decoded pictures up to `cache_bytes`.
// Errors: MT-D10, MT-D11, MT-D12, MT-D13
// Example:
//   std::ptrdiff_t words_of_first(const pair_source& source, const tokenizer& words) {
//     pair_loader loader(source, words, {.batch = 64, .example = {.image = 64, .context = 32}});
//     return loader.next().captions().rows();
//   }
class pair_loader {
 public:
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config, index start = 0)
      : pair_loader(source, words, config,
                    data_position{config.seed, source.fingerprint(), source.size(), start}) {}
  // Goes on where `from` was taken; refuses another data set or seed.
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config,
              const data_position& from);
  pair_loader(const pair_loader&) = delete;
  pair_loader& operator=(const pair_loader&) = delete;
  ~pair_loader();

  // The pictures of all batches lie in this memory.
  const buffer<std::byte>& memory() const { return memory_; }
  // The next batch, valid until the next call. Throws what went wrong while it was made, again on every later
  // call.
  const pair_batch& next();
  // The one that next() will give, if it is made already, as valid as that one will be; else null.
  const pair_batch* ahead() const {
    const slot* const found = made_.ahead();
    return found != nullptr ? &found->batch : nullptr;
  }
  // The position lies behind the batch that `next` gave last: saved with the weights of that step, it resumes
  // with the batch after it.
  data_position position() const {
    return {config_.seed, source_.fingerprint(), source_.size(), start_ + made_.given() * config_.batch};
  }
  loader_statistics statistics() const { return made_.statistics(); }
  const loader_config& config() const { return config_; }

 private:
  static constexpr index chunk = 8;  // samples that a thread takes at a time

  struct slot {
    pair_batch batch;
    std::vector<tokenizer::token> tokens;  // (batch, context), before the gaps are closed
    std::vector<index> lengths;            // (batch); -1 for a damaged sample
    picture_room shown;

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
  friend class made_ahead<pair_loader, slot>;

  struct worker_type {
    example_reader reader;
    run_order order;
  };
  worker_type worker() {
    return {example_reader(source_, words_, config_.example, &cache_),
            run_order(source_.size(), config_.seed, config_.shuffle)};
  }
  void begin(worker_type&, slot& own, index number) { own.batch.first = start_ + number * config_.batch; }
  index parts(const slot&) const { return (config_.batch + chunk - 1) / chunk; }
  void fill(worker_type& by, slot& own, index part, index& at) {
    const index end = std::min(config_.batch, (part + 1) * chunk);
    for (at = part * chunk; at < end; ++at) {
      const index sample = by.order(own.batch.first + at);
      own.batch.samples[as_size(at)] = sample;
      put(by.reader, own, at, sample);
    }
  }

  // The result is false, and the length -1, when the sample is damaged.
  bool put(example_reader& reader, slot& own, index at, index sample) {
    index& length = own.lengths[as_size(at)];
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
    length = static_cast<index>(found->tokens.size());
    std::copy(found->tokens.begin(), found->tokens.end(), own.tokens.begin() + at * config_.example.context);
    return true;
  }

  // Replaces what was damaged, in order, then closes the gaps between the captions, and between packed
  // pictures.
  void complete(worker_type& by, slot& own) {
    pair_batch& batch = own.batch;
    for (index at = 0; at < config_.batch; ++at) {
      if (own.lengths[as_size(at)] >= 0) continue;
      const index instead = replacement(source_.size(), config_.seed, batch.first + at, batch.samples,
                                        [&](index sample) { return put(by.reader, own, at, sample); });
      if (instead < 0) fail_few(config_.batch, source_.skips());
      batch.samples[as_size(at)] = instead;
    }
    batch.tokens.clear();
    batch.offsets[0] = 0;
    for (index at = 0; at < config_.batch; ++at) {
      const auto from = own.tokens.begin() + at * config_.example.context;
      batch.tokens.insert(batch.tokens.end(), from, from + own.lengths[as_size(at)]);
      batch.offsets[as_size(at) + 1] = static_cast<index>(batch.tokens.size());
    }
    own.shown.close();
  }

  const pair_source& source_;
  const tokenizer& words_;
  loader_config config_;
  example_cache cache_;
  index start_;
  buffer<std::byte> memory_;
  std::vector<std::atomic<bool>> bad_;
  made_ahead<pair_loader, slot> made_;  // last: it ends first
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY pair_loader::pair_loader(const pair_source& source, const tokenizer& words,
                                    const loader_config& config, const data_position& from)
    : source_(source),
      words_(words),
      config_(config),
      cache_(source.size(), config.cache_bytes),
      start_(from.next),
      bad_(as_size(source.size())),
      made_(*this, check(config, source).ready + 1) {
  check_position(source, config.seed, from);
  const index each = picture_room::bytes(config.batch, config.example.image);
  memory_ = buffer<std::byte>(made_.size() * each);
  for (index s = 0; s < made_.size(); ++s) made_.slot(s).prepare(config, memory_.data() + s * each);
  made_.start(config.threads);
}
MOTET_BODY pair_loader::~pair_loader() = default;
MOTET_BODY const pair_batch& pair_loader::next() { return made_.next().batch; }
#endif

}  // namespace motet
