// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/make_threads.hpp>
#include <motet/data/example.hpp>
#include <motet/data/permutation.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>
#include <thread>

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

// A position says where a run stands in its data: enough to go on exactly, whatever the number of threads and
// even with another batch size.
struct data_position {
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the data set
  index samples = 0;              // of the data set
  index next = 0;                 // samples delivered since the start of the run

  index epoch() const { return samples > 0 ? next / samples : 0; }
  bool operator==(const data_position&) const = default;
};

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

struct loader_statistics {
  index batches = 0;
  double wait_seconds = 0;  // that `next` made the step wait
};

// Makes batches ahead of time on its own threads, in slots that are allocated once. The run is the epochs'
// orders one after another, cut into batches, so a batch may reach over the end of an epoch and all are full.
// What is in a batch depends on (seed, position) alone; a damaged sample is replaced by one drawn from (seed,
// position), so even that does not depend on which thread found it, or when.
class pair_loader {
 public:
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config, index start = 0)
      : source_(source),
        words_(words),
        config_(config),
        cache_(source.size(), config.cache_bytes),
        start_(start),
        bad_(as_size(source.size())) {
    if (config.batch < 1 || config.threads < 1 || config.ready < 1)
      fail(bad_data_option, sentence({"batch ", config.batch, ", threads ", config.threads,
                                      ", batches ahead ", config.ready, "; wanted at least one of each"}));
    if (config.batch > source.size())
      fail(batch_too_large, sentence({"batch ", config.batch, ", data set of ", source.size(), " samples"}));
    if (start < 0) fail(bad_data_state, sentence({"place ", start, " in the data"}));
    if (config.augment) check(*config.augment);
    check(config.example);
    const index each = config.batch * packed_room(config.example.image);
    memory_ = buffer<std::byte>((config.ready + 1) * each);
    slots_ = std::vector<slot>(as_size(config.ready + 1));
    for (std::size_t s = 0; s < slots_.size(); ++s)
      slots_[s].prepare(config, memory_.data() + static_cast<index>(s) * each);
    make_threads(
        threads_, "threads that prepare data", 0, config.threads,
        [this](int) { return std::thread([this] { work(); }); }, [this] { tell_end(); });
  }
  // Goes on where `from` was taken; refuses another data set or seed.
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config,
              const data_position& from)
      : pair_loader(source, words, config, checked(source, config, from)) {}
  pair_loader(const pair_loader&) = delete;
  pair_loader& operator=(const pair_loader&) = delete;
  ~pair_loader() {
    tell_end();
    for (std::thread& each : threads_) each.join();
  }

  // The pictures of all batches lie in this memory.
  const buffer<std::byte>& memory() const { return memory_; }
  // The next batch, valid until the next call. Throws what went wrong while it was made, again on every later
  // call.
  const pair_batch& next() {
    std::unique_lock hold(guard_);
    if (holding_) {
      slots_[as_size(delivered_ % slot_count())].state = slot::free;
      ++delivered_;
      holding_ = false;
      to_do_.notify_all();
    }
    slot& own = slots_[as_size(delivered_ % slot_count())];
    if (own.state != slot::ready) {
      const auto from = std::chrono::steady_clock::now();
      done_.wait(hold, [&] { return own.state == slot::ready; });
      statistics_.wait_seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }
    if (own.problem) std::rethrow_exception(own.problem);
    holding_ = true;
    ++statistics_.batches;
    return own.batch;
  }

  // The one that next() will give, if it is made already, as valid as that one will be; else null.
  const pair_batch* ahead() const {
    const std::lock_guard hold(guard_);
    const slot& own = slots_[as_size((delivered_ + (holding_ ? 1 : 0)) % slot_count())];
    return own.state == slot::ready && !own.problem ? &own.batch : nullptr;
  }

  // Behind the batch that `next` gave last: saved with the weights of that step, it resumes with the batch
  // after it.
  data_position position() const {
    const std::lock_guard hold(guard_);
    return {config_.seed, source_.fingerprint(), source_.size(),
            start_ + (delivered_ + (holding_ ? 1 : 0)) * config_.batch};
  }
  loader_statistics statistics() const {
    const std::lock_guard hold(guard_);
    return statistics_;
  }
  const loader_config& config() const { return config_; }

 private:
  static constexpr index chunk = 8;  // samples that a thread takes at a time

  struct slot {
    enum { free, filling, ready } state = free;
    pair_batch batch;
    std::vector<tokenizer::token> tokens;  // (batch, context), before the gaps are closed
    std::vector<index> lengths;            // (batch); -1 for a damaged sample
    std::byte* pictures = nullptr;         // (batch, packed_room)
    std::vector<packed_picture> packed;    // (batch); `at` is its size before the gaps are closed
    index chunks_open = 0, problem_at = 0;
    std::exception_ptr problem;

    void prepare(const loader_config& config, std::byte* memory) {
      const auto count = as_size(config.batch), context = as_size(config.example.context);
      const index width = 3 * config.example.image * config.example.image;
      pictures = memory;
      batch.count = config.batch;
      if (config.form == picture_form::floats) {
        batch.pixels = {reinterpret_cast<float*>(memory), config.batch, width, width};
      } else {
        packed.resize(count);
        batch.packed = {reinterpret_cast<const std::uint8_t*>(memory), packed.data(), packed.data(), {}, {}};
        set_colours(config.example.colours, batch.packed);
      }
      batch.tokens.reserve(count * context);
      batch.offsets.resize(count + 1);
      batch.samples.resize(count);
      tokens.resize(count * context);
      lengths.resize(count);
    }
    std::uint8_t* room(index at, index image) const {
      return reinterpret_cast<std::uint8_t*>(pictures) + at * packed_room(image);
    }
  };

  static index checked(const pair_source& source, const loader_config& config, const data_position& from) {
    if (from.samples != source.size() || from.fingerprint != source.fingerprint())
      fail(bad_data_state,
           sentence({"saved with a data set of ", from.samples, " samples, this one has ", source.size(),
                     (from.samples == source.size() ? " of other names" : "")}));
    if (from.seed != config.seed)
      fail(bad_data_state, sentence({"saved with seed ", from.seed, ", now ", config.seed}));
    return from.next;
  }

  void tell_end() {
    {
      const std::lock_guard hold(guard_);
      stopping_ = true;
    }
    to_do_.notify_all();
  }

  index slot_count() const { return static_cast<index>(slots_.size()); }
  index chunks() const { return (config_.batch + chunk - 1) / chunk; }

  void work() {
    example_reader reader(source_, words_, config_.example, &cache_);
    std::unique_lock hold(guard_);
    while (true) {
      to_do_.wait(hold, [&] { return stopping_ || (!failed_ && claimed_ < delivered_ + slot_count()); });
      if (stopping_) return;
      const index number = claimed_, part = claimed_chunk_;
      slot& own = slots_[as_size(number % slot_count())];
      if (part == 0) {
        own.state = slot::filling;
        own.chunks_open = chunks();
        own.problem = nullptr;
        own.batch.first = start_ + number * config_.batch;
      }
      if (++claimed_chunk_ == chunks()) {
        claimed_chunk_ = 0;
        ++claimed_;
      }
      hold.unlock();
      index at = part * chunk;
      std::exception_ptr problem;
      try {
        fill(reader, own, at, std::min(config_.batch, at + chunk));
      } catch (...) {
        problem = std::current_exception();
      }
      hold.lock();
      // The first problem in the batch's order is told, whoever came first.
      if (problem && (!own.problem || at < own.problem_at)) {
        own.problem = problem;
        own.problem_at = at;
      }
      if (--own.chunks_open > 0) continue;
      if (!own.problem) {
        hold.unlock();
        try {
          complete(reader, own);
        } catch (...) {
          problem = std::current_exception();
        }
        hold.lock();
        if (problem) own.problem = problem;
      }
      // No batch is begun behind one that failed; those begun before it are still finished.
      if (own.problem) failed_ = true;
      own.state = slot::ready;
      done_.notify_all();
    }
  }

  void fill(example_reader& reader, slot& own, index& at, index end) {
    std::optional<permutation> order;
    index epoch = -1;
    for (; at < end; ++at) {
      const index position = own.batch.first + at;
      index sample = position % source_.size();
      if (config_.shuffle) {
        if (position / source_.size() != epoch) {
          epoch = position / source_.size();
          order.emplace(source_.size(), config_.seed, static_cast<std::uint64_t>(epoch));
        }
        sample = (*order)(sample);
      }
      own.batch.samples[as_size(at)] = sample;
      put(reader, own, at, sample);
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
    const random_stream draws(config_.seed,
                              random_stream::hash("augment") +
                                  static_cast<std::uint64_t>(own.batch.first + at) * 0x9E3779B97F4A7C15ull);
    const augment_config* const augment = config_.augment ? &*config_.augment : nullptr;
    if (config_.form == picture_form::floats) {
      reader.pixels(*found, augment, draws, own.batch.pixels.row(at));
    } else {
      packed_picture& made = own.packed[as_size(at)];
      made.at = reader.pack(*found, augment, draws, own.room(at, config_.example.image), made);
    }
    length = static_cast<index>(found->tokens.size());
    std::copy(found->tokens.begin(), found->tokens.end(), own.tokens.begin() + at * config_.example.context);
    return true;
  }

  // Replaces what was damaged, in order, then closes the gaps between the captions, and between packed
  // pictures.
  void complete(example_reader& reader, slot& own) {
    pair_batch& batch = own.batch;
    for (index at = 0; at < config_.batch; ++at) {
      if (own.lengths[as_size(at)] < 0) replace(reader, own, at);
    }
    batch.tokens.clear();
    batch.offsets[0] = 0;
    for (index at = 0; at < config_.batch; ++at) {
      const auto from = own.tokens.begin() + at * config_.example.context;
      batch.tokens.insert(batch.tokens.end(), from, from + own.lengths[as_size(at)]);
      batch.offsets[as_size(at) + 1] = static_cast<index>(batch.tokens.size());
    }
    index end = 0;
    for (std::size_t at = 0; at < own.packed.size(); ++at) {
      const index size = own.packed[at].at;
      std::memmove(own.pictures + end, own.room(static_cast<index>(at), config_.example.image),
                   as_size(size));
      own.packed[at].at = end;
      end += size;
    }
  }

  void replace(example_reader& reader, slot& own, index at) {
    const random_stream draws(config_.seed,
                              random_stream::hash("replacement") +
                                  static_cast<std::uint64_t>(own.batch.first + at) * 0x9E3779B97F4A7C15ull);
    const index count = source_.size();
    auto& chosen = own.batch.samples;
    const auto start = static_cast<index>(draws.block(0)[0]) % count;
    // A few random tries spread the replacements; then all samples in turn, so that one that is left is
    // found.
    for (index tried = 0; tried < count + 16; ++tried) {
      const index sample = tried < 16
                               ? static_cast<index>(draws.word(static_cast<std::uint64_t>(tried) + 4)) % count
                               : (start + tried) % count;
      if (std::find(chosen.begin(), chosen.end(), sample) != chosen.end()) continue;
      if (!put(reader, own, at, sample)) continue;
      chosen[as_size(at)] = sample;
      return;
    }
    fail(no_samples, sentence({"too few whole samples for a batch of ", config_.batch,
                               "; skipped: ", source_.skips().summary()}));
  }

  const pair_source& source_;
  const tokenizer& words_;
  loader_config config_;
  example_cache cache_;
  index start_;
  buffer<std::byte> memory_;
  std::vector<slot> slots_;
  std::vector<std::atomic<bool>> bad_;
  mutable std::mutex guard_;
  std::condition_variable to_do_, done_;
  index claimed_ = 0, claimed_chunk_ = 0, delivered_ = 0;
  bool holding_ = false, stopping_ = false, failed_ = false;
  loader_statistics statistics_;
  std::vector<std::thread> threads_;
};

}  // namespace motet
