// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/samples/example.hpp>
#include <motet/data/samples/sample_source.hpp>
#include <motet/data/sound/sound_reader.hpp>

#include <optional>
#include <string>
#include <vector>

namespace motet {

// Tokens that stand around the texts of a sample. What stands before an asked text is given, what stands
// behind it is asked for: so a model learns where to end.
struct piece_marks {
  std::vector<tokenizer::token> sample;  // before all, pictures too
  std::vector<tokenizer::token> before_given, after_given, before_asked, after_asked;
};

// Of a vocabulary for captions, its begin and its end around what is asked for: so a sample of a picture and
// a caption is what it always was. Of a language model, what it has before a text, and behind what is asked
// for its end of a text or of a turn.
inline piece_marks marks_of(const tokenizer& words) {
  const tokenizer::parts& own = words.description();
  if (!is_of_language_model(own.rule)) return {{}, {}, {}, own.before, own.after};
  piece_marks out{own.before, {}, {}, {}, own.after};
  if (!out.after_asked.empty()) return out;
  for (const char* const end : {"<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>"}) {
    for (const added_token& each : own.added) {
      if (each.text != end) continue;
      out.after_asked = {each.id};
      return out;
    }
  }
  return out;
}

// What a model hears of sounds.
struct heard_form {
  isize most = 0;                  // of a sample; 0: it hears none
  isize rows = 0;                  // that its ear makes of one
  isize bins = 80, frames = 3000;  // as it hears one

  isize numbers() const { return bins * frames; }
};

// A form says how samples become rows of a model that sees, or hears.
struct sample_form {
  isize rows_of_picture = 64;  // that its eye makes of one
  isize lead = 0;              // of these, the first ones that are not shown, such as a class token's
  isize most_pictures = 1;     // of a sample
  piece_marks marks{};
  isize least_pictures = 0;  // likewise: one without so many is left out
  heard_form heard{};
  // Pictures of any shape have rows of their own number, with `lead` before them: rows_of_picture is the
  // most.
  shape_limits shapes{};

  isize rows_shown() const { return rows_of_picture - lead; }
};

inline void check(const sample_form& form) {
  if (form.lead < 0 || form.rows_of_picture < form.lead || form.most_pictures < form.least_pictures ||
      form.least_pictures < 0)
    fail(bad_data_option,
         sentence({"pictures of ", form.rows_of_picture, " rows, the first ", form.lead, " not shown, ",
                   form.least_pictures, " to ", form.most_pictures,
                   " in a sample; wanted none below zero, and no more left out than there are"}));
  check(form.shapes);
  const heard_form& heard = form.heard;
  if (heard.most < 0 || (heard.most > 0 && (heard.rows < 1 || heard.bins < 1 || heard.frames < 1)))
    fail(bad_data_option,
         sentence({heard.most, " sounds of ", heard.rows, " rows in a sample, each ", heard.frames,
                   " frames of ", heard.bins, " bins; wanted none below zero, and one of each at least"}));
}

// A sample before augmentation.
struct read_sample {
  struct stretch {
    piece_kind kind;
    isize tokens;      // none of a picture or a sound
    isize shown = -1;  // of a picture of any shape: rows that are shown of it
  };
  std::vector<bitmap> shots;
  std::vector<stretch> order;
  std::vector<tokenizer::token> tokens;  // of all stretches, one after the other
  bool may_flip = true;
  std::vector<float> heard{};         // (sounds x frames, bins)
  std::vector<picture_grid> grids{};  // of pictures of any shape, in their order

  isize bytes() const {
    std::size_t sum = grids.size() * sizeof(picture_grid) + order.size() * sizeof(stretch) +
                      tokens.size() * sizeof(tokenizer::token) + heard.size() * sizeof(float);
    for (const bitmap& each : shots) sum += sizeof each + each.pixels.size();
    return static_cast<isize>(sum);
  }
};

// Reads, tokenizes and decodes samples; one for each thread, so that its memory is reused. `context` of the
// configuration is the most rows of a sample, those of its pictures included.
class sample_reader {
 public:
  using cache = decoded_cache<read_sample>;
  sample_reader(const sample_source& source, const tokenizer& words, const example_config& config,
                const sample_form& form, cache* kept = nullptr)
      : source_(source), words_(words), config_(config), form_(form), cache_(kept) {
    check(config);
    check(form);
    if (form.heard.most > 0) ear_.emplace(form.heard.bins, form.heard.frames);
  }

  // Sample i, or null when it is damaged or does not fit the model, which is then reported (or thrown, when
  // the source's log is strict). It is valid until the next call.
  const read_sample* get(isize i) {
    if (cache_ != nullptr) {
      if (const read_sample* found = cache_->find(i)) return found;
    }
    if (!say(i) || !see(i) || !hear(i)) return nullptr;
    if (cache_ != nullptr) cache_->keep(i, made_);
    return &made_;
  }
  // The same without a look at its pictures: its order, its tokens and its sounds.
  const read_sample* words(isize i) {
    if (cache_ != nullptr) {
      if (const read_sample* found = cache_->find(i)) return found;
    }
    return say(i) && hear(i) ? &made_ : nullptr;
  }
  // Counts the rows of sample i without a look at its pictures and sounds; -1 when its texts are damaged or
  // it does not fit.
  isize rows(isize i) {
    if (cache_ != nullptr) {
      if (const read_sample* found = cache_->find(i)) return rows_of(*found);
    }
    return say(i) ? rows_of(made_) : -1;
  }

  // Writes picture `which` of a sample as planes (3, image, image); without augmentation this is the square
  // in the middle.
  void pixels(const read_sample& from, isize which, const augment_config* augment, const random_stream& draws,
              float* out) {
    const bitmap& shot = from.shots[as_size(which)];
    resize_(shot, box_of(shot, from.may_flip, augment, draws), config_.image, config_.colours, out);
  }
  // The same part of the picture, packed; returns the bytes that it takes of packed_room(image).
  isize pack(const read_sample& from, isize which, const augment_config* augment, const random_stream& draws,
             std::uint8_t* out, packed_picture& made) {
    const bitmap& shot = from.shots[as_size(which)];
    if (form_.shapes.any())
      return pack_shape(shot, shape_box_of(shot, from.may_flip, augment, draws), from.grids[as_size(which)],
                        form_.shapes.patch, config_.colours, resize_, out, made);
    return pack_picture(shot, box_of(shot, from.may_flip, augment, draws), config_.image, config_.colours,
                        resize_, out, made);
  }

 private:
  isize rows_of(const read_sample& of) const {
    isize rows = static_cast<isize>(of.tokens.size());
    for (const auto& each : of.order) {
      if (each.kind == piece_kind::picture) rows += each.shown >= 0 ? each.shown : form_.rows_shown();
      if (each.kind == piece_kind::sound) rows += form_.heard.rows;
    }
    return rows;
  }
  bool leave_out(isize i, skip why, const std::string& detail) {
    source_.skips().report(why, source_.name(i), detail, i);
    return false;
  }
  static constexpr const char* changed = "its file became shorter or other, or cannot be read";

  bool say(isize i) {
    const std::span<const sample_piece> pieces = source_.pieces(i);
    isize text = 0;
    const isize shown = source_.pictures(i), sounds = source_.sounds(i);
    for (const sample_piece& each : pieces) text += is_text(each.kind) ? each.size : 0;
    if (shown > form_.most_pictures)
      return leave_out(i, skip::too_long,
                       sentence({"it has ", shown, " pictures, the model takes ", form_.most_pictures}));
    if (sounds > form_.heard.most)
      return leave_out(i, skip::too_long,
                       sentence({"it has ", sounds, " sounds, the model takes ", form_.heard.most}));
    if (shown < form_.least_pictures)
      return leave_out(i, skip::no_picture,
                       sentence({"it has ", shown, ", the model wants ", form_.least_pictures}));
    // Tokens are at most this long, with room for white space that has none; so far longer texts need not be
    // cut.
    constexpr isize longest = 512;
    if (text > longest * config_.context)
      return leave_out(
          i, skip::too_long,
          sentence({"it has ", text, " bytes of text, the model takes ", config_.context, " rows"}));
    if (!source_.read_texts(i, texts_)) return leave_out(i, skip::bad_text, changed);
    made_.order.clear();
    made_.tokens.clear();
    made_.grids.clear();
    made_.may_flip = true;
    stretch(piece_kind::given, [&](auto& out) { append(out, form_.marks.sample); });
    std::size_t next = 0;
    bool blank = true;
    for (const sample_piece& each : pieces) {
      if (!is_text(each.kind)) {
        made_.order.push_back({each.kind, 0});
        if (each.kind == piece_kind::picture && form_.shapes.any() && !shape(i, each)) return false;
        continue;
      }
      const std::string& own = texts_[next++];
      if (const std::size_t bad = utf8_first_bad(own); bad != std::string::npos)
        return leave_out(
            i, skip::bad_text,
            sentence({"byte ", bad, " of the ", own.size(), " of a text is no part of a letter"}));
      made_.may_flip = made_.may_flip && caption_allows_flip(own);
      const bool asked = each.kind == piece_kind::asked;
      blank = blank && !(asked && !trimmed(own).empty());
      stretch(piece_kind::given,
              [&](auto& out) { append(out, asked ? form_.marks.before_asked : form_.marks.before_given); });
      stretch(each.kind, [&](auto& out) {
        words_.encode_text(own, out, work_);
        append(out, asked ? form_.marks.after_asked : form_.marks.after_given);
      });
    }
    if (blank && shown + sounds == 1 && pieces.size() == 2) return leave_out(i, skip::no_caption, "blank");
    if (blank || targets() == 0)
      return leave_out(
          i, skip::nothing_asked,
          blank ? "what it asks for is blank" : "nothing stands before the one token that it asks for");
    const isize rows = rows_of(made_);
    if (rows > config_.context)
      return leave_out(
          i, skip::too_long,
          sentence({"it has ", rows, " rows, ", shown, " pictures of ",
                    form_.shapes.any() ? std::string("any shape") : sentence({form_.rows_shown()}),
                    sounds > 0 ? sentence({", ", sounds, " sounds of ", form_.heard.rows}) : "", " and ",
                    made_.tokens.size(), " tokens; the model takes ", config_.context}));
    return true;
  }
  // The grid of a picture is known by its header.
  bool shape(isize i, const sample_piece& each) {
    const std::optional<picture_grid> grid = grid_within(form_.shapes, each.width, each.height);
    if (!grid)
      return leave_out(
          i, skip::too_long,
          sentence({"it has a picture of ", each.width, " x ", each.height, " pixels, one side more than ",
                    form_.shapes.most_patches, " times the other, and the model takes ",
                    form_.shapes.most_patches, " patches"}));
    made_.grids.push_back(*grid);
    made_.order.back().shown = grid->patches();
    return true;
  }
  template <class Put>
  void stretch(piece_kind kind, Put&& put) {
    const std::size_t from = made_.tokens.size();
    put(made_.tokens);
    if (made_.tokens.size() > from)
      made_.order.push_back({kind, static_cast<isize>(made_.tokens.size() - from)});
  }
  static void append(std::vector<tokenizer::token>& to, const std::vector<tokenizer::token>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  // Nothing is before the first row, so nobody asks for it.
  isize targets() const {
    isize count = 0;
    for (const auto& each : made_.order) count += each.kind == piece_kind::asked ? each.tokens : 0;
    return count - (!made_.order.empty() && made_.order.front().kind == piece_kind::asked ? 1 : 0);
  }

  bool see(isize i) {
    std::size_t count = 0;
    for (const sample_piece& each : source_.pieces(i)) {
      if (each.kind != piece_kind::picture) continue;
      if (!source_.read_bytes(each, bytes_)) return leave_out(i, skip::bad_picture, changed);
      if (made_.shots.size() == count) made_.shots.emplace_back();
      try {
        decode_picture(bytes_, made_.shots[count], config_.limits);
      } catch (const error& problem) {
        // A missing library is no fault of the picture; skipping would leave nothing.
        if (problem.code() == std::string_view(picture_library_missing.code)) throw;
        return leave_out(i, skip::bad_picture, problem.what());
      }
      ++count;
    }
    made_.shots.resize(count);
    return true;
  }
  bool hear(isize i) {
    const isize numbers = form_.heard.numbers();
    made_.heard.resize(as_size(source_.sounds(i) * numbers));
    float* to = made_.heard.data();
    isize other_rate = 0;
    for (const sample_piece& each : source_.pieces(i)) {
      if (each.kind != piece_kind::sound) continue;
      if (!source_.read_bytes(each, bytes_)) return leave_out(i, skip::bad_sound, changed);
      try {
        if (ear_->hear(bytes_, to) && other_rate == 0) other_rate = ear_->rate();
      } catch (const error& problem) {
        return leave_out(i, skip::bad_sound, problem.what());
      }
      to += numbers;
    }
    if (other_rate > 0)
      source_.skips().report_resampled(source_.name(i),
                                       sentence({other_rate, " to ", log_mel::rate, " numbers a second"}), i);
    return true;
  }

  const sample_source& source_;
  const tokenizer& words_;
  example_config config_;
  sample_form form_;
  cache* cache_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::string> texts_;
  read_sample made_;
  tokenizer::scratch work_;
  resampler resize_;
  std::optional<sound_reader> ear_;
};

}  // namespace motet
