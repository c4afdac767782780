// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/samples/classes.hpp>
#include <motet/data/shards/shards.hpp>
#include <motet/data/steps/deferred_order.hpp>
#include <motet/data/steps/sample_loader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/meta/mixed_bits.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace motet {

// The shape is what data must know of a model.
struct sample_shape {
  std::string model;                  // its name
  isize image = 0;                    // pixels of a picture's side
  isize vocabulary = 0, context = 0;  // of a caption, or of all rows of a sample that has pieces
  bool pieces = false;                // reads samples of any number of pieces, instead of pairs
  // Samples of pieces say how many rows a picture is made, of which the first `lead` are not shown, and the
  // most and the fewest pictures of a sample.
  isize rows_of_picture = 0, lead = 0, most_pictures = 1, least_pictures = 0;
  heard_form heard{};     // likewise, of sounds
  shape_limits shapes{};  // of pictures of any shape
};

struct data_wishes {
  std::string data;            // a folder, or a pattern of files
  isize batch = 64, rows = 0;  // see sample_loader_config
  isize threads = 1;           // that prepare batches
  std::uint64_t seed = 1;
  double smallest_crop = 0.6;
  bool flip = true, strict = false;  // strict: damaged samples are errors
  picture_form form = picture_form::floats;
  step_windows windows{};  // in which heavy samples wait, where samples are made of pieces
};

// A folder to train on has pairs, or samples of any pieces, and the vocabulary and the classes.
class data_folder {
 public:
  data_folder(const data_wishes& s, const sample_shape& shape) : skips_(s.strict) {
    const std::vector<std::string> files =
        shape.pieces ? list_sample_files(s.data, "train") : list_shards(s.data, "train");
    std::error_code ignored;
    folder_ = std::filesystem::is_directory(s.data, ignored)
                  ? std::filesystem::path(s.data)
                  : std::filesystem::path(files.front()).parent_path();
    if (!shape.pieces) words_.emplace(read_tokenizer(vocabulary()));
    if (shape.pieces) samples_.emplace(files, skips_);
    else pairs_.emplace(files, skips_);
    if (shape.pieces) words_.emplace(read_or_learn(shape.vocabulary));
    if (words_->size() > shape.vocabulary)
      fail(vocabulary_mismatch, vocabulary() + " has " + std::to_string(words_->size()) +
                                    " tokens, model \"" + shape.model + "\" holds " +
                                    std::to_string(shape.vocabulary));
    config_.batch = s.batch;
    config_.seed = s.seed;
    config_.threads = static_cast<int>(s.threads);
    config_.form = s.form;
    config_.augment->smallest = static_cast<float>(s.smallest_crop);
    config_.augment->flip = s.flip;
    config_.example.image = shape.image;
    config_.example.context = shape.context;
    config_.rows = s.rows;
    if (shape.pieces) config_.windows = s.windows;
    if (shape.pieces)
      config_.sample = {shape.rows_of_picture, shape.lead,  shape.most_pictures, marks_of(*words_),
                        shape.least_pictures,  shape.heard, shape.shapes};
    if (shape.pieces && samples_->most_pictures() < shape.least_pictures)
      fail(too_few_pictures, sentence({"none of the ", size(), " samples in ", s.data, " has more than ",
                                       samples_->most_pictures(), ", model \"", shape.model, "\" wants ",
                                       shape.least_pictures}));
    if (s.batch > size())
      fail(batch_too_large, "--batch " + std::to_string(s.batch) + ", " + s.data + " has " +
                                std::to_string(size()) + " samples to train on");
  }
  data_folder(const data_folder&) = delete;
  data_folder& operator=(const data_folder&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const tokenizer& words() const { return *words_; }
  std::uint64_t vocabulary_fingerprint() const { return random_stream::hash(format_tokenizer(words())); }
  bool has_pieces() const { return samples_.has_value(); }
  const pair_source& pairs() const { return *pairs_; }
  const sample_source& samples() const { return *samples_; }
  isize size() const { return has_pieces() ? samples_->size() : pairs_->size(); }
  // The fingerprint of what some samples hold, whatever their files are called: other data of the same names
  // has another one.
  std::uint64_t content_fingerprint() const {
    constexpr isize looked_at = 16;
    std::string all;
    std::vector<std::uint8_t> bytes;
    std::vector<std::string> texts;
    for (isize k = 0; k < std::min(looked_at, size()); ++k) {
      const isize i = k * size() / std::min(looked_at, size());
      if (read_picture(i, bytes)) all.append(bytes.begin(), bytes.end());
      if (has_pieces() && read_first(i, piece_kind::sound, bytes)) all.append(bytes.begin(), bytes.end());
      if (has_pieces() && samples_->read_texts(i, texts))
        for (const std::string& each : texts) all += each;
      if (!has_pieces() && pairs_->read_caption(i, bytes)) all.append(bytes.begin(), bytes.end());
    }
    return random_stream::hash(all);
  }
  // The fingerprint of what the walk through the files knew of all samples. Orders in which heavy samples
  // wait follow from it.
  std::uint64_t size_fingerprint() const {
    std::uint64_t out = 0;
    const auto add = [&](isize number) { out = mixed_bits(out + static_cast<std::uint64_t>(number)); };
    for (isize i = 0; has_pieces() && i < size(); ++i)
      for (const sample_piece& each : samples_->pieces(i)) {
        add(static_cast<isize>(each.kind));
        add(is_text(each.kind) ? static_cast<isize>(each.size) : 0);
      }
    return out;
  }
  const loader_config& config() const { return config_; }
  const sample_loader_config& sample_config() const { return config_; }
  skip_log& skips() { return skips_; }
  bool has_classes() const { return std::filesystem::exists(folder_ / "classes.json"); }

  // "18000 pairs in shapes", or "20000 samples with 22000 pictures in mixed".
  std::string describe() const {
    if (!has_pieces())
      return sentence(
          {size(), " pairs in ", folder_.string(),
           (pairs_->of_pieces() > 0 ? sentence({" (and ", pairs_->of_pieces(),
                                                " samples of other pieces, which train_vlm reads)"})
                                    : "")});
    return sentence({size(), " samples with ", pictures(), " pictures",
                     samples_->most_sounds() > 0 ? sentence({" and ", sounds(), " sounds"}) : "", " in ",
                     folder_.string(),
                     (learned_ ? ", which has no tokenizer.json: its texts taught one" : "")});
  }
  // All samples have so many pictures, and one has at most so many.
  isize pictures() const {
    if (!has_pieces()) return size();
    isize sum = 0;
    for (isize i = 0; i < size(); ++i) sum += samples_->pictures(i);
    return sum;
  }
  isize sounds() const {
    isize sum = 0;
    for (isize i = 0; has_pieces() && i < size(); ++i) sum += samples_->sounds(i);
    return sum;
  }
  isize most_pictures() const {
    return has_pieces() ? std::min(samples_->most_pictures(), config_.sample.most_pictures) : 1;
  }
  // One that is whole stands for all; nothing where there is none.
  bitmap some_picture() const {
    std::vector<std::uint8_t> bytes;
    bitmap shot;
    for (isize i = 0; i < size() && shot.pixels.empty(); ++i) {
      try {
        if (read_picture(i, bytes)) decode_picture(bytes, shot);
      } catch (const error&) {
        shot.pixels.clear();
      }
    }
    return shot;
  }

 private:
  std::string vocabulary() const { return (folder_ / "tokenizer.json").string(); }
  // Conversations and plain texts come without a vocabulary; one that is learned of them is the same each
  // time.
  tokenizer read_or_learn(isize most) {
    if (std::filesystem::exists(vocabulary())) return read_tokenizer(vocabulary());
    learned_ = true;
    tokenizer_trainer trainer;
    std::vector<std::string> texts;
    for (isize i = 0, seen = 0; i < samples_->size() && seen < most_learned; ++i) {
      if (!samples_->read_texts(i, texts)) continue;
      for (const std::string& each : texts) {
        trainer.add(each);
        seen += static_cast<isize>(each.size());
      }
    }
    return trainer.train(most);
  }
  bool read_picture(isize i, std::vector<std::uint8_t>& bytes) const {
    if (!has_pieces()) return pairs_->read_picture(i, bytes);
    return read_first(i, piece_kind::picture, bytes);
  }
  bool read_first(isize i, piece_kind kind, std::vector<std::uint8_t>& bytes) const {
    for (const sample_piece& each : samples_->pieces(i))
      if (each.kind == kind) return samples_->read_bytes(each, bytes);
    return false;
  }
  static constexpr isize most_learned = isize{1} << 28;  // bytes of text

  std::filesystem::path folder_;
  skip_log skips_;
  std::optional<tokenizer> words_;
  std::optional<pair_source> pairs_;
  std::optional<sample_source> samples_;
  sample_loader_config config_;
  bool learned_ = false;
};

}  // namespace motet
