// SPDX-License-Identifier: Apache-2.0

// Draws a captioned picture set to learn from: coloured shapes on backgrounds, as WebDataset shards with a
// vocabulary and a list of classes. What picture i shows depends on the seed and i alone, never on the number
// of shards.
#include "make_shapes/canvas.hpp"
#include "make_shapes/caption.hpp"
#include "make_shapes/settings.hpp"
#include "make_shapes/tones.hpp"

#include <motet/data/make/set_folder.hpp>
#include <motet/data/sound/wav.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace motet::shapes {
namespace {

struct split {
  const char* name;
  isize first, count;
};

class maker {
 public:
  explicit maker(options given)
      : given_(std::move(given)),
        folder_(given_.output, "make_shapes"),
        page_(given_.size),
        held_out_(std::max(given_.count / 10, std::min(class_count, given_.count / 2))) {
    if (given_.shards == 0) given_.shards = (given_.count - held_out_ + 4999) / 5000;
  }

  void make() {
    const auto started = std::chrono::steady_clock::now();
    const isize train = given_.count - held_out_;
    for (isize k = 0; k < given_.shards; ++k) {
      const isize first = train * k / given_.shards, last = train * (k + 1) / given_.shards;
      shard("train-" + padded(k, 3) + ".tar", {"train", first, last - first});
    }
    shard("test-000.tar", {"test", 0, held_out_});
    folder_.text("tokenizer.json", format_tokenizer(words_.train(1024)));
    folder_.text("classes.json", classes());
    folder_.commit(
        json{{"seed", given_.seed}, {"count", given_.count}, {"size", given_.size}, {"train", train}});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (!given_.quiet) {
      if (terminal_) std::fputs("\r", stderr);
      if (mixed_ > 0)
        std::fprintf(
            stderr, "%td samples of %s besides\n", mixed_,
            given_.heard ? "a sound, or of a sound and a picture," : "two pictures, or of text alone,");
      std::fprintf(
          stderr, "%td pictures in %.1f s: %td to train on in %td shards, %td held out, %td classes, in %s\n",
          given_.count, seconds, train, given_.shards, held_out_, class_count, given_.output.c_str());
    }
  }

 private:
  std::string encode(const bitmap& drawn) const {
    if (given_.format == "png") return encode_png(drawn);
    return given_.format == "jpeg" ? encode_jpeg(drawn) : encode_ppm(drawn);
  }

  void shard(const std::string& name, const split& part) {
    tar_writer& tar = folder_.shard(name);
    const std::string extension = given_.format == "jpeg" ? "jpg" : given_.format;
    for (isize i = part.first; i < part.first + part.count; ++i) {
      dice roll(given_.seed, part.name, i);
      // Every block of 64 pictures shows every class once.
      const scene shown = imagine(roll, i % class_count);
      const std::string caption = describe(roll, shown);
      const std::string key = (part.name[1] == 'e' ? "test" : "train") + padded(i, 7);
      tar.add(key + "." + extension, encode(page_.draw(shown, roll.stream())));
      tar.add(key + ".txt", caption);
      tar.add(key + ".json", attributes(key, shown, caption));
      if (part.name[1] == 'e') {
        held_out_classes_.set(key, shown.class_id());
      } else {
        words_.add(caption);
      }
      ++done_;
      progress();
    }
    if (given_.mixed) mix(tar, part);
    if (given_.heard) play(tar, part);
    tar.finish();
  }

  // Samples of several pieces. What each is depends on the seed and its number, as that of pairs does.
  void mix(tar_writer& tar, const split& part) {
    const std::string name = part.name, extension = given_.format == "jpeg" ? "jpg" : given_.format;
    for (isize i = part.first / 8; i < (part.first + part.count) / 8; ++i) {
      dice choice(given_.seed, name + " two", i);
      const isize shown[2] = {choice.below(class_count), choice.below(class_count)};
      const std::string key = name + "-two" + padded(i, 7), caption = with_article(class_name(shown[0])) +
                                                                      ", then " +
                                                                      with_article(class_name(shown[1]));
      json pieces(json::array{});
      for (isize k = 0; k < 2; ++k) {
        dice roll(given_.seed, name + " of two", 2 * i + k);
        scene made = imagine(roll, shown[k]);
        while (made.number > 1) made = imagine(roll, shown[k]);
        const std::string field = std::to_string(k) + "." + extension;
        tar.add(key + "." + field, encode(page_.draw(made, roll.stream())));
        pieces.push_back({{"picture", field}});
      }
      pieces.push_back({{"asked", caption}});
      written(tar, part, key, std::move(pieces));
    }
    for (isize i = part.first / 16; i < (part.first + part.count) / 16; ++i) {
      dice roll(given_.seed, name + " words", i);
      const isize which = roll.below(class_count);
      json pieces(json::array{});
      pieces.push_back({{"given", "what is " + with_article(synonym(roll, which)) + "?"}});
      pieces.push_back({{"asked", with_article(class_name(which))}});
      written(tar, part, name + "-words" + padded(i, 7), std::move(pieces));
    }
  }
  // Sounds, as many as pictures, and half as many of a picture and a sound.
  void play(tar_writer& tar, const split& part) {
    const std::string name = part.name, extension = given_.format == "jpeg" ? "jpg" : given_.format;
    const auto sound = [&](dice& roll, const std::string& key, const std::string& field, isize tone) {
      tar.add(key + "." + field, encode_wav(shapes::play(roll, tone)));
      return json{{"sound", field}};
    };
    for (isize i = part.first; i < part.first + part.count; ++i) {
      dice roll(given_.seed, name + " sound", i);
      const isize tone = i % tone_count;
      const std::string key = name + "-sound" + padded(i, 7), caption = describe(roll, tone);
      json pieces(json::array{});
      pieces.push_back(sound(roll, key, "0.wav", tone));
      pieces.push_back({{"asked", caption}});
      written(tar, part, key, std::move(pieces));
      if (part.name[1] == 'e') held_out_classes_.set(key, class_count + tone);
    }
    for (isize i = part.first / 2; i < (part.first + part.count) / 2; ++i) {
      dice choice(given_.seed, name + " both", i), roll(given_.seed, name + " seen of both", i),
          other(given_.seed, name + " heard of both", i);
      const isize which = choice.below(class_count), tone = choice.below(tone_count);
      const std::string key = name + "-both" + padded(i, 7);
      scene made = imagine(roll, which);
      while (made.number > 1) made = imagine(roll, which);
      tar.add(key + ".0." + extension, encode(page_.draw(made, roll.stream())));
      json pieces(json::array{});
      pieces.push_back({{"picture", "0." + extension}});
      pieces.push_back(sound(other, key, "1.wav", tone));
      pieces.push_back({{"asked", with_article(class_name(which)) + ", and " + tone_caption(tone)}});
      written(tar, part, key, std::move(pieces));
    }
  }
  void written(tar_writer& tar, const split& part, const std::string& key, json pieces) {
    for (const json& each : pieces.items())
      for (const char* const kind : {"given", "asked"})
        if (const json* text = each.find(kind); text != nullptr && part.name[1] != 'e')
          words_.add(text->string());
    tar.add(key + ".json", write_json(json{{"pieces", std::move(pieces)}}));
    ++mixed_;
  }

  // A terminal shows a line that changes, a file has one line for each tenth.
  void progress() const {
    if (given_.quiet) return;
    if (terminal_) {
      if (done_ % 100 == 0) std::fprintf(stderr, "\rdrawing %td of %td", done_, given_.count);
    } else if (done_ * 10 / given_.count != (done_ - 1) * 10 / given_.count) {
      std::fprintf(stderr, "drawing %td of %td\n", done_, given_.count);
    }
  }

  static std::string attributes(const std::string& key, const scene& shown, const std::string& caption) {
    return write_json(json{{"key", key},
                           {"class", shown.class_id()},
                           {"colour", colours[shown.hue].words[0]},
                           {"shape", shapes[shown.form].words[0]},
                           {"number", shown.number},
                           {"size", *shown.size_word == '\0' ? "medium" : shown.size_word},
                           {"position", shown.number > 1 ? "spread" : places[shown.where].word},
                           {"background", std::string(backdrops[shown.backdrop_kind].words[0]) + " " +
                                              grounds[shown.ground_kind].word},
                           {"caption", caption}});
  }

  std::string classes() const {
    json rows(json::array{});
    for (isize i = 0; i < class_count; ++i)
      rows.push_back({{"name", class_name(i)}, {"caption", class_caption(i)}});
    for (isize i = 0; given_.heard && i < tone_count; ++i)
      rows.push_back({{"name", tone_name(i)}, {"caption", tone_caption(i)}});
    return write_json(json{{"classes", std::move(rows)}, {"samples", held_out_classes_}}, 1) + "\n";
  }

  options given_;
  set_folder folder_;
  canvas page_;
  isize held_out_;
  isize done_ = 0, mixed_ = 0;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  tokenizer_trainer words_;
  json held_out_classes_{json::object{}};
};

}  // namespace

int run(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--help") {
      std::fputs(usage, stdout);
      return std::fputs(exit_table().c_str(), stdout) < 0 ? 1 : 0;
    }
  }
  try {
    maker(parse(count, words)).make();
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem);
  }
}

}  // namespace motet::shapes

int main(int count, char** words) { return motet::shapes::run(count, words); }
