// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/picture_room.hpp>
#include <motet/data/samples/loader_config.hpp>
#include <motet/data/samples/sample_reader.hpp>
#include <motet/data/steps/deferred_order.hpp>
#include <motet/data/steps/run_order.hpp>
#include <motet/data/steps/step_part.hpp>
#include <motet/nn/layers/pictured_text.hpp>

#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <vector>

namespace motet {

// `example.context` is the most rows of a sample, those of its pictures included.
struct sample_loader_config : loader_config {
  sample_form sample{};
  // Not 0: a batch has samples until their rows reach this many, then empty ones; `batch` is the most of
  // them. One without room waits for the next batch; at most `window` wait, and whoever waits longest goes
  // first.
  isize rows = 0, window = 64;
  // Heavy samples wait for each other; not beside `rows`.
  step_windows windows{};
  // The samples of a step whose pictures are read here, as numbers.
  step_part part{};
};

// One step's samples, as a model that sees reads them: input(), which is valid as long as the batch.
struct sample_batch {
  isize first = 0;              // plain batches: its first sample's place in the run
  isize count = 0;              // of samples, those without a row included
  isize pictures = 0;           // of all of them
  isize sounds = 0;             // likewise
  matrix<float> pixels;         // (pictures, 3 x image x image), red, green and blue planes; or
  packed_pictures packed;       // (pictures), the same before they are resized: data/pictures/pack.hpp
  std::vector<float> features;  // (sounds x frames, bins)
  pictured_text text{0};        // all of it
  std::vector<isize> samples;   // (count), numbers in the source; -1 of one that is empty
  // Pictures of any shape say here which rows of all are whose; others say nothing.
  std::vector<isize> row_offsets{};

  isize size() const { return count; }
  void count_rows(const sample_form& form) {
    if (!form.shapes.any()) return;
    row_offsets.assign(1, 0);
    for (isize p = 0; p < pictures; ++p)
      row_offsets.push_back(row_offsets.back() + form.lead + packed.each[p].patches());
  }
  pictured_tokens input() const {
    return text.with(
        motet::pictures{pixels.data, pictures, packed, row_offsets.empty() ? nullptr : row_offsets.data()},
        motet::sounds{features.data(), sounds});
  }
};

// Puts together samples of this form.
inline pictured_text text_of(const sample_form& form) {
  if (form.heard.most == 0) return pictured_text(form.rows_of_picture, form.lead);
  return pictured_text{{form.rows_of_picture, form.lead}, {form.heard.rows}};
}

// Refuses what no loader of samples can do.
inline const sample_loader_config& check_samples(const sample_loader_config& config,
                                                 const sample_source& source) {
  check(config, source);
  check(config.sample);
  if (!config.part.is_whole() && (config.form != picture_form::floats || config.sample.shapes.any()))
    fail(bad_data_option,
         "parts of steps with pictures as bytes, or of any shape, which lie one behind the other");
  if (config.windows.steps < 1 || config.windows.together < 1 || (config.rows != 0 && config.windows.any()))
    fail(bad_data_option, sentence({"windows of ", config.windows.steps, " steps for ",
                                    config.windows.together, " replicas, in batches of ", config.rows,
                                    " rows; wanted 1 of each at least, and 0 rows where samples wait"}));
  if (config.rows != 0 && (config.rows < config.example.context || config.window < 1))
    fail(bad_data_option,
         sentence({"batches of ", config.rows, " rows, ", config.window, " samples that may wait; wanted ",
                   config.example.context, " rows at least, as many as a sample may have, and one sample"}));
  return config;
}

// Makes a step's samples as a function of the seed and of where the step begins in the data, whoever asks, in
// whatever order, and on however many threads: plan() says who is in it, fill() reads a part, complete() puts
// it together. A damaged sample is replaced by one drawn from (seed, place); where batches are filled to a
// number of rows it is left out. Who reads a part of each step (config.part) leaves one with a damaged sample
// to remake(). Source and vocabulary outlive it; one thread at a time plans.
class sample_maker {
 public:
  sample_maker(const sample_source& source, const tokenizer& words, const sample_loader_config& config)
      : source_(source),
        words_(words),
        config_(config),
        most_(most_of(config, source)),
        cache_(source.size(), config.cache_bytes),
        counted_(config.rows > 0 ? as_size(source.size()) : 0),
        bad_(as_size(source.size())) {
    check_samples(config, source);
  }
  sample_maker(const sample_maker&) = delete;
  sample_maker& operator=(const sample_maker&) = delete;

  // This is left of a sample when its pictures are in the batch.
  struct said_sample {
    bool there = false;
    isize place = 0;          // of the run
    isize first_picture = 0;  // of the room
    std::vector<read_sample::stretch> order;
    std::vector<tokenizer::token> tokens;
    std::vector<float> heard;
  };
  struct slot {
    sample_batch batch;
    std::vector<said_sample> said;  // (batch)
    isize filled = 0;               // samples that are meant to be there
    bool whole = true;              // all pictures are read here
    bool damaged = false;           // a sample was, of those that were read
    picture_room shown;
    data_position after;
    sample_form form;

    void prepare(const sample_loader_config& config, isize places, std::byte* memory) {
      shown.prepare(memory, places, config.example.image, config.form, config.example.colours,
                    config.sample.shapes);
      form = config.sample;
      batch.count = config.batch;
      batch.text = text_of(config.sample);
      batch.samples.resize(as_size(config.batch));
      said.resize(as_size(config.batch));
    }
  };
  struct worker_type {
    sample_reader reader;
    deferred_order order;
  };
  worker_type worker() {
    return {sample_reader(source_, words_, config_.example, config_.sample, &cache_),
            deferred_order(run_order(source_.size(), config_.seed, config_.shuffle), source_.size(),
                           config_.batch, config_.windows, [this](isize sample) { return cost_of(sample); })};
  }
  void prepare(slot& own, std::byte* memory) const {
    own.prepare(config_, places_of(config_, source_), memory);
  }
  isize room() const {
    return picture_room::bytes(places_of(config_, source_), config_.example.image, config_.sample.shapes);
  }
  // Pictures that a batch may have.
  static isize places_of(const sample_loader_config& config, const sample_source& source) {
    const isize all = config.batch * most_of(config, source),
                each = config.sample.shapes.any() ? 1 : config.sample.rows_shown();
    return config.rows > 0 && each > 0 ? std::min(all, config.rows / each) : all;
  }

  // Finds who is in the batch that begins at `at`, which is moved behind it.
  void plan(worker_type& by, slot& own, data_position& at) {
    own.shown.clear();
    own.batch.first = at.next;
    own.filled = 0;
    own.whole = config_.part.is_whole() || all_;
    std::fill(own.batch.samples.begin(), own.batch.samples.end(), isize{-1});
    if (config_.rows > 0) {
      choose(by, own, at);
    } else {
      for (; own.filled < config_.batch; ++at.next) take(own, at.next, by.order(at.next), own.filled * most_);
    }
    at.windows = config_.windows.mark(config_.batch);
    own.after = at;
  }
  static void say(const read_sample::stretch& what, std::span<const tokenizer::token> tokens,
                  pictured_text& text, isize lead = 0) {
    if (what.shown >= 0) return text.show(0, lead + what.shown);
    if (!is_text(what.kind)) return text.show(what.kind == piece_kind::sound ? 1 : 0);
    text.say(tokens,
             what.kind == piece_kind::asked ? pictured_text::said::asked : pictured_text::said::given);
  }

  isize parts(const slot& own) const { return (own.filled + chunk - 1) / chunk; }
  void fill(worker_type& by, slot& own, isize part, isize& at) {
    const isize end = std::min(own.filled, (part + 1) * chunk);
    for (at = part * chunk; at < end; ++at) {
      const isize sample = own.batch.samples[as_size(at)];
      if (own.whole || config_.part.has(at)) put(by.reader, own, at, sample);
      else put_words(by.reader, own, at, sample);
    }
  }
  // Replaces what was damaged, or leaves it out, and puts text and pictures together.
  void complete(worker_type& by, slot& own) {
    sample_batch& batch = own.batch;
    const auto there = [](const said_sample& each) { return each.there; };
    const auto begin = own.said.begin(), end = begin + own.filled;
    own.damaged = !std::all_of(begin, end, there);
    if (own.damaged && !own.whole) return;
    const bool none = std::none_of(begin, end, there);
    for (isize at = 0; at < own.filled; ++at) {
      if (own.said[as_size(at)].there) continue;
      batch.samples[as_size(at)] = -1;
      // A step without a sample would learn nothing.
      if (config_.rows > 0 && !(none && at == 0)) continue;
      const isize instead =
          replacement(source_.size(), config_.seed, own.said[as_size(at)].place, batch.samples,
                      [&](isize sample) { return put(by.reader, own, at, sample); });
      if (instead < 0) fail_few(config_.batch, source_.skips());
      batch.samples[as_size(at)] = instead;
    }
    batch.text.clear();
    batch.features.clear();
    for (isize at = 0; at < config_.batch; ++at) {
      const said_sample& said = own.said[as_size(at)];
      if (batch.samples[as_size(at)] >= 0) {
        say(said, batch.text, config_.sample.lead);
        batch.features.insert(batch.features.end(), said.heard.begin(), said.heard.end());
      }
      batch.text.end();
    }
    batch.sounds = static_cast<isize>(batch.features.size()) / config_.sample.heard.numbers();
    batch.pictures = own.shown.close();
    batch.pixels = own.shown.pixels(batch.pictures);
    batch.packed = own.shown.packed();
    batch.count_rows(config_.sample);
  }
  // Makes a step whole of which a part was made, here or elsewhere with a damaged sample.
  void remake(worker_type& by, slot& own) {
    own.whole = true;
    own.shown.clear();
    isize at = 0;
    for (isize part = 0; part < parts(own); ++part) fill(by, own, part, at);
    complete(by, own);
  }
  // Steps that are planned from here on are made whole.
  void make_whole() { all_ = true; }
  isize pictures_read() const { return pictures_read_; }

 private:
  static constexpr isize chunk = 8;  // samples that a thread takes at a time
  static constexpr std::uint64_t picture_step = 0xD1B54A32D192ED03ull;

  // The most pictures that a sample may show.
  static isize most_of(const sample_loader_config& config, const sample_source& source) {
    return std::min(config.sample.most_pictures, source.most_pictures());
  }

  // About the rows that a sample has, as the walk through the files knew: it is not read for this.
  double cost_of(isize sample) const {
    constexpr double letters = 4;  // of a token, about
    double rows = 1 + static_cast<double>(source_.pictures(sample) * config_.sample.rows_of_picture +
                                          source_.sounds(sample) * config_.sample.heard.rows);
    for (const sample_piece& each : source_.pieces(sample))
      if (is_text(each.kind)) rows += static_cast<double>(each.size) / letters;
    return rows;
  }
  void take(slot& own, isize place, isize sample, isize first_picture) {
    said_sample& made = own.said[as_size(own.filled)];
    made.there = false;
    made.place = place;
    made.first_picture = first_picture;
    own.batch.samples[as_size(own.filled++)] = sample;
  }
  // The first samples that fit are taken, of those that wait and of those behind them.
  void choose(worker_type& by, slot& own, data_position& from) {
    isize left = config_.rows, pictures = 0, damaged = 0;
    std::vector<isize>& waiting = from.waiting;
    for (std::size_t at = 0; own.filled < config_.batch && left > 0;) {
      if (at == waiting.size()) {
        if (at >= as_size(config_.window)) break;
        waiting.push_back(from.next++);
      }
      const isize sample = by.order(waiting[at]), rows = rows_of(by, sample);
      if (rows > left) {
        ++at;
        continue;
      }
      if (rows >= 0) {
        take(own, waiting[at], sample, pictures);
        pictures += source_.pictures(sample);
        left -= rows;
      } else if (++damaged > 2 * source_.size()) {
        fail_few(1, source_.skips());
      }
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  // Texts alone decide, so that what a batch has does not depend on which pictures were found damaged by
  // then.
  isize rows_of(worker_type& by, isize sample) {
    isize& known = counted_[as_size(sample)];
    if (known == 0) known = by.reader.rows(sample);
    return known;
  }

  // Reads the words of a sample whose pictures others read.
  void put_words(sample_reader& reader, slot& own, isize at, isize sample) {
    said_sample& made = own.said[as_size(at)];
    const read_sample* const found = reader.words(sample);
    if (made.there = found != nullptr; !made.there) return;
    for (isize p = 0; p < source_.pictures(sample); ++p) own.shown.keep_blank(made.first_picture + p);
    made.order = found->order;
    made.tokens = found->tokens;
    made.heard = found->heard;
  }
  // The result is false when the sample is damaged.
  bool put(sample_reader& reader, slot& own, isize at, isize sample) {
    said_sample& made = own.said[as_size(at)];
    made.there = false;
    if (bad_[as_size(sample)].load(std::memory_order_relaxed)) return false;
    const read_sample* const found = reader.get(sample);
    if (found == nullptr) {
      bad_[as_size(sample)].store(true, std::memory_order_relaxed);
      return false;
    }
    const augment_config* const augment = config_.augment ? &*config_.augment : nullptr;
    for (isize p = 0; p < static_cast<isize>(found->shots.size()); ++p) {
      // The first picture is cut as that of a pair.
      const random_stream draws =
          draws_at(config_.seed + static_cast<std::uint64_t>(p) * picture_step, "augment", made.place);
      own.shown.put(
          made.first_picture + p, [&](float* to) { reader.pixels(*found, p, augment, draws, to); },
          [&](std::uint8_t* to, packed_picture& packed) {
            return reader.pack(*found, p, augment, draws, to, packed);
          });
    }
    pictures_read_ += static_cast<isize>(found->shots.size());
    made.order = found->order;
    made.tokens = found->tokens;
    made.heard = found->heard;
    made.there = true;
    return true;
  }

  static void say(const said_sample& from, pictured_text& text, isize lead) {
    std::span<const tokenizer::token> rest(from.tokens);
    for (const auto& each : from.order) {
      say(each, rest.first(as_size(each.tokens)), text, lead);
      rest = rest.subspan(as_size(each.tokens));
    }
  }

  const sample_source& source_;
  const tokenizer& words_;
  sample_loader_config config_;
  isize most_;  // pictures of a sample
  sample_reader::cache cache_;
  std::vector<isize> counted_;  // rows of samples; 0: not known yet, negative: left out
  std::vector<std::atomic<bool>> bad_;
  std::atomic<bool> all_ = false;  // steps are whole from here on
  std::atomic<isize> pictures_read_ = 0;
};

// Refuses where a run of other data, of another seed or of batches of another kind stood.
inline void check_place(const sample_source& source, const sample_loader_config& config,
                        const data_position& from) {
  check_position(source, config.seed, from);
  if (from.next > 0 && from.windows != config.windows.mark(config.batch))
    fail(other_windows,
         sentence({"the run goes on at sample ", from.next, ", now with windows of ", config.windows.steps,
                   " steps of ", config.batch, " samples for ", config.windows.together, " replicas"}));
  if (config.rows == 0 && !from.waiting.empty())
    fail(bad_data_state, sentence({from.waiting.size(),
                                   " samples wait for a batch with room, but batches now "
                                   "have no number of rows"}));
}

}  // namespace motet
