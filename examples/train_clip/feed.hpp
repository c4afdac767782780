// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/data/classes.hpp>
#include <motet/data/loader.hpp>
#include <motet/data/shards.hpp>
#include <motet/data/tokenizer_file.hpp>

#include <filesystem>
#include <optional>

// Where batches come from: shards on disk, or one random batch for benchmarks.
namespace motet::train_clip {

class feed {
 public:
  feed() = default;
  feed(const feed&) = delete;
  feed& operator=(const feed&) = delete;
  virtual ~feed() = default;

  virtual pair_input next() = 0;  // valid until the next call
  // what next() will give, where it is there already
  virtual std::optional<pair_input> ahead() { return {}; }
  virtual void pin_for(session& model) = 0;     // its memory, until its end
  virtual double waited() const { return 0; }   // seconds, since the start
  virtual json position() const { return {}; }  // behind the last batch
  virtual std::string describe() const = 0;
};

// As the peer of the benchmarks: normal pixels, captions of full length, the same batch each step.
class random_feed final : public feed {
 public:
  random_feed(const settings& s, const model_facts& facts)
      : batch_(s.batch),
        context_(facts.caption.context),
        pixels_(s.batch * pixels_of(facts)),
        tokens_(s.batch * facts.caption.context) {
    const random_stream normal(s.seed, "pixels"), uniform(s.seed, "tokens");
    for (index i = 0; i < pixels_.size(); ++i)
      pixels_[i] = static_cast<float>(normal.normal(static_cast<std::uint64_t>(i)));
    for (index i = 0; i < tokens_.size(); ++i)
      tokens_[i] = static_cast<std::int32_t>(
          uniform.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(facts.caption.vocabulary)));
  }
  static index pixels_of(const model_facts& facts) {
    return facts.picture.channels * facts.picture.image * facts.picture.image;
  }
  static index bytes(const settings& s, const model_facts& facts) {
    return s.batch * (pixels_of(facts) + facts.caption.context) * 4;
  }

  pair_input next() override {
    return {pictures{pixels_.data(), batch_}, tokens{tokens_.data(), {batch_, context_, nullptr}}};
  }
  std::optional<pair_input> ahead() override { return next(); }
  void pin_for(session& model) override {
    pinned_ = model.pin(pixels_.data(), static_cast<std::size_t>(pixels_.size()) * sizeof(float));
  }
  std::string describe() const override { return "random pixels and tokens, the same in each step"; }

 private:
  index batch_, context_;
  buffer<float> pixels_;
  buffer<std::int32_t> tokens_;
  std::shared_ptr<void> pinned_;  // last: it ends first
};

// A folder's shards to train on, its vocabulary and its classes.
class data_folder {
 public:
  data_folder(const settings& s, const model_facts& facts)
      : folder_(find_folder(s.data)),
        skips_(s.strict),
        words_(read_tokenizer((folder_ / "tokenizer.json").string())),
        source_(list_shards(s.data, "train"), skips_) {
    if (words_.size() > facts.caption.vocabulary)
      fail(vocabulary_mismatch, (folder_ / "tokenizer.json").string() + " has " +
                                    std::to_string(words_.size()) + " tokens, model \"" + facts.name +
                                    "\" holds " + std::to_string(facts.caption.vocabulary));
    config_.batch = s.batch;
    config_.seed = s.seed;
    config_.threads = static_cast<int>(s.loader_threads);
    config_.form = s.form();
    config_.augment->smallest = static_cast<float>(s.smallest_crop);
    config_.augment->flip = !s.no_flip;
    config_.example.image = facts.picture.image;
    config_.example.context = facts.caption.context;
    if (s.batch > source_.size())
      fail(batch_too_large, "--batch " + std::to_string(s.batch) + ", " + s.data + " has " +
                                std::to_string(source_.size()) + " samples to train on");
  }

  const std::filesystem::path& folder() const { return folder_; }
  const tokenizer& words() const { return words_; }
  std::uint64_t vocabulary_fingerprint() const { return random_stream::hash(format_tokenizer(words_)); }
  const pair_source& source() const { return source_; }
  const loader_config& config() const { return config_; }
  skip_log& skips() { return skips_; }
  bool has_classes() const { return std::filesystem::exists(folder_ / "classes.json"); }

 private:
  static std::filesystem::path find_folder(const std::string& data) {
    std::error_code ignored;
    if (std::filesystem::is_directory(data, ignored)) {
      // Without shards, what is wrong with the folder is that, and not its missing vocabulary.
      static_cast<void>(list_shards(data, "train"));
      return data;
    }
    return std::filesystem::path(list_shards(data, "train").front()).parent_path();
  }

  std::filesystem::path folder_;
  skip_log skips_;
  tokenizer words_;
  pair_source source_;
  loader_config config_;
};

class shard_feed final : public feed {
 public:
  shard_feed(data_folder& from, const json* saved)
      : from_(from), loader_(from.source(), from.words(), from.config(), place(from, saved)) {}

  pair_input next() override { return input_of(loader_.next()); }
  std::optional<pair_input> ahead() override {
    const pair_batch* const made = loader_.ahead();
    return made != nullptr ? std::optional(input_of(*made)) : std::nullopt;
  }
  void pin_for(session& model) override {
    pinned_ = model.pin(loader_.memory().data(), static_cast<std::size_t>(loader_.memory().size()));
  }
  double waited() const override { return loader_.statistics().wait_seconds; }
  json position() const override {
    const data_position at = loader_.position();
    json out;
    out.set("seed", at.seed);
    out.set("fingerprint", at.fingerprint);
    out.set("samples", at.samples);
    out.set("next", at.next);
    return out;
  }
  std::string describe() const override {
    return std::to_string(from_.source().size()) + " pairs in " + from_.folder().string() +
           ", vocabulary of " + std::to_string(from_.words().size()) +
           (from_.config().form == picture_form::bytes ? ", pictures as bytes" : "");
  }

 private:
  static pair_input input_of(const pair_batch& made) {
    return {pictures{made.pixels.data, made.size(), made.packed},
            tokens{made.tokens.data(), made.captions()}};
  }
  static data_position place(const data_folder& from, const json* saved) {
    if (saved == nullptr) return {from.config().seed, from.source().fingerprint(), from.source().size(), 0};
    return {saved->at("seed").unsigned_integer(), saved->at("fingerprint").unsigned_integer(),
            static_cast<index>(saved->at("samples").integer()),
            static_cast<index>(saved->at("next").integer())};
  }
  data_folder& from_;
  pair_loader loader_;
  std::shared_ptr<void> pinned_;  // last: it ends first
};

}  // namespace motet::train_clip
