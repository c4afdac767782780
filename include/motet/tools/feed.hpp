// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/steps/loader.hpp>
#include <motet/data/steps/sample_loader.hpp>
#include <motet/format/text/json.hpp>
#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/tensor/random.hpp>
#include <motet/tools/data_folder.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

// Batches come from shards on disk, or are one random batch for benchmarks.
namespace motet {

using pair_input = std::tuple<pictures, tokens>;
// A step's samples: pairs, or of any number of pieces each.
using step_input = std::variant<pair_input, pictured_tokens>;

class feed {
 public:
  feed() = default;
  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;
  virtual ~feed() = default;

  virtual step_input next() = 0;  // valid until the next call
  // what next() will give, where it is there already; of pictures that are made elsewhere maybe the sizes
  // alone
  virtual std::optional<step_input> ahead() { return {}; }
  virtual std::span<const std::byte> memory() const = 0;  // where all its batches lie
  virtual double waited() const { return 0; }             // seconds, since the start
  virtual json position() const { return {}; }            // behind the last batch
  virtual isize samples() const = 0;                      // of the last batch
  virtual std::string describe() const = 0;
  // A feed whose batches are made elsewhere says how many wait to be taken, and what happened there since the
  // last call.
  virtual std::optional<isize> queue() const { return {}; }
  virtual std::vector<std::string> take_notes() { return {}; }
  // Who made how many of them, and how long steps waited for each; null of other feeds.
  virtual json by_producer() const { return {}; }
};

// The batch is that of the benchmarks' peer: normal pixels, captions of full length, the same each step.
class random_feed final : public feed {
 public:
  random_feed(isize batch, std::uint64_t seed, const sample_shape& shape)
      : batch_(batch),
        context_(shape.context),
        pixels_(batch * pixels_of(shape)),
        tokens_(batch * shape.context) {
    const random_stream normal(seed, "pixels"), uniform(seed, "tokens");
    for (isize i = 0; i < pixels_.size(); ++i)
      pixels_[i] = static_cast<float>(normal.normal(static_cast<std::uint64_t>(i)));
    for (isize i = 0; i < tokens_.size(); ++i)
      tokens_[i] = static_cast<std::int32_t>(
          uniform.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(shape.vocabulary)));
  }
  static isize pixels_of(const sample_shape& shape) { return 3 * shape.image * shape.image; }
  static isize bytes(isize batch, const sample_shape& shape) {
    return batch * (pixels_of(shape) + shape.context) * 4;
  }

  step_input next() override {
    return pair_input{pictures{pixels_.data(), batch_}, tokens{tokens_.data(), {batch_, context_, nullptr}}};
  }
  std::optional<step_input> ahead() override { return next(); }
  isize samples() const override { return batch_; }
  std::span<const std::byte> memory() const override {
    return std::as_bytes(std::span(pixels_.data(), as_size(pixels_.size())));
  }
  std::string describe() const override { return "random pixels and tokens, the same in each step"; }

 private:
  isize batch_, context_;
  buffer<float> pixels_;
  buffer<std::int32_t> tokens_;
};

inline step_input input_of(const pair_batch& made) {
  return pair_input{pictures{made.pixels.data, made.size(), made.packed},
                    tokens{made.tokens.data(), made.captions()}};
}
inline step_input input_of(const sample_batch& made) { return made.input(); }

// Feeds from a folder have this in common, whatever their batches are.
template <class Loader>
class loaded_feed final : public feed {
 public:
  // more: what this loader asks for besides.
  template <class Source, class Config, class... More>
  loaded_feed(const data_folder& from, const Source& source, const Config& config, const json* saved,
              More&&... more)
      : from_(from),
        loader_(source, from.words(), config, place(source, config.seed, saved),
                std::forward<More>(more)...) {}

  step_input next() override { return input_of(taken(loader_.next())); }
  std::optional<step_input> ahead() override {
    const auto* const made = loader_.ahead();
    return made != nullptr ? std::optional<step_input>(input_of(*made)) : std::nullopt;
  }
  std::span<const std::byte> memory() const override {
    return {loader_.memory().data(), as_size(loader_.memory().size())};
  }
  double waited() const override { return loader_.statistics().wait_seconds; }
  json position() const override {
    const data_position at = loader_.position();
    json out;
    out.set("seed", at.seed);
    out.set("fingerprint", at.fingerprint);
    out.set("samples", at.samples);
    out.set("next", at.next);
    if (at.windows != 0) out.set("windows", at.windows);
    if (!at.waiting.empty()) {
      json waiting(json::array{});
      for (const isize each : at.waiting) waiting.push_back(each);
      out.set("waiting", std::move(waiting));
    }
    return out;
  }
  isize samples() const override { return samples_; }
  std::string describe() const override {
    return from_.describe() + ", vocabulary of " + std::to_string(from_.words().size()) +
           (from_.config().form == picture_form::bytes ? ", pictures as bytes" : "");
  }
  std::optional<isize> queue() const override {
    if constexpr (requires { loader_.ready(); }) return loader_.ready();
    else return {};
  }
  json by_producer() const override {
    if constexpr (requires { loader_.by_producer(); }) return loader_.by_producer();
    else return {};
  }
  std::vector<std::string> take_notes() override {
    if constexpr (requires { loader_.take_notes(); }) return loader_.take_notes();
    else return {};
  }

 private:
  template <class Batch>
  const Batch& taken(const Batch& batch) {
    samples_ = std::count_if(batch.samples.begin(), batch.samples.end(), [](isize i) { return i >= 0; });
    return batch;
  }
  template <class Source>
  static data_position place(const Source& source, std::uint64_t seed, const json* saved) {
    if (saved == nullptr) return {seed, source.fingerprint(), source.size(), 0};
    data_position out{saved->at("seed").unsigned_integer(), saved->at("fingerprint").unsigned_integer(),
                      static_cast<isize>(saved->at("samples").integer()),
                      static_cast<isize>(saved->at("next").integer())};
    if (const json* windows = saved->find("windows"); windows != nullptr)
      out.windows = windows->unsigned_integer();
    if (const json* waiting = saved->find("waiting"); waiting != nullptr)
      for (const json& each : waiting->items()) out.waiting.push_back(static_cast<isize>(each.integer()));
    return out;
  }
  const data_folder& from_;
  Loader loader_;
  isize samples_ = 0;
};

// part: of each step, where others read the rest of its pictures. Samples are made of pieces then.
inline std::unique_ptr<feed> open_data(const data_folder& from, const json* saved, step_part part = {}) {
  if (from.has_pieces()) {
    sample_loader_config config = from.sample_config();
    config.part = std::move(part);
    return std::make_unique<loaded_feed<sample_loader>>(from, from.samples(), config, saved);
  }
  return std::make_unique<loaded_feed<pair_loader>>(from, from.pairs(), from.config(), saved);
}

}  // namespace motet
