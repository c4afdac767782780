// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../make_shapes_messages.hpp"

#include <motet/data/pictures/jpeg.hpp>
#include <motet/data/pictures/png.hpp>

#include <charconv>
#include <limits>
#include <string>

namespace motet::shapes {

inline constexpr const char* usage =
    "make_shapes --output DIR --count N [--task pairs|captions|sounds] [--size 64] [--seed 1] [--format "
    "png|jpeg|ppm] "
    "[--shards K] [--quiet]\n"
    "\n"
    "Draws N captioned pictures of coloured shapes. About a tenth of them, at least one for each class when "
    "N allows, is held out.\n"
    "DIR/train-{000..}.tar  pictures, captions and attributes to train on\n"
    "DIR/test-000.tar       the held-out ones\n"
    "DIR/tokenizer.json     a vocabulary trained on the captions\n"
    "DIR/classes.json       50 classes (colour and shape; with sounds 20 more) with one caption each, and "
    "the class of each "
    "held-out picture\n"
    "\n"
    "  --task T     captions: besides the pairs an eighth as many samples with two pictures, and a sixteenth "
    "as "
    "many of text alone, for train_vlm\n"
    "               sounds: besides the pairs as many samples with a sound (WAV: one of four instruments "
    "plays one "
    "of five notes), and half as many with a picture and a sound\n"
    "  --size P     side of a picture in pixels (16 to 1024)\n"
    "  --seed S     other seeds draw other pictures\n"
    "  --format F   png and jpeg need their libraries; ppm always works and is larger. Default: png where "
    "there is libspng, else ppm\n"
    "  --shards K   number of training shards (default: one for each 5000 pictures)\n"
    "  --quiet      no progress line\n";

struct options {
  std::string output;
  isize count = 0;
  isize size = 64;
  std::uint64_t seed = 1;
  std::string format = has_png ? "png" : "ppm";
  isize shards = 0;
  bool quiet = false;
  bool mixed = false;  // samples of several pieces, too
  bool heard = false;  // samples with sounds, too
};

inline isize whole_number(const std::string& name, const std::string& text, isize low, isize high) {
  isize value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    fail(shapes_command_line, name + " wants a whole number from " + std::to_string(low) + " to " +
                                  std::to_string(high) + ", got \"" + text + "\"");
  return value;
}

inline options parse(int count, char** words) {
  options given;
  for (int i = 1; i < count; ++i) {
    const std::string name = words[i];
    if (name == "--quiet") {
      given.quiet = true;
      continue;
    }
    const auto value = [&] {
      if (i + 1 >= count) fail(shapes_command_line, name + " wants a value");
      return std::string(words[++i]);
    };
    if (name == "--output") given.output = value();
    else if (name == "--count") given.count = whole_number(name, value(), 2, 100000000);
    else if (name == "--size") given.size = whole_number(name, value(), 16, 1024);
    else if (name == "--seed")
      given.seed =
          static_cast<std::uint64_t>(whole_number(name, value(), 0, std::numeric_limits<isize>::max()));
    else if (name == "--format") given.format = value();
    else if (name == "--task") {
      const std::string task = value();
      if (task != "pairs" && task != "captions" && task != "sounds")
        fail(shapes_command_line, "--task wants pairs, captions or sounds, got \"" + task + "\"");
      given.mixed = task == "captions";
      given.heard = task == "sounds";
    } else if (name == "--shards") given.shards = whole_number(name, value(), 1, 999);
    else fail(shapes_command_line, "there is no option " + name);
  }
  if (given.output.empty()) fail(shapes_command_line, "--output is missing");
  if (given.count == 0) fail(shapes_command_line, "--count is missing");
  if (given.format != "png" && given.format != "jpeg" && given.format != "ppm")
    fail(shapes_command_line, "--format wants png, jpeg or ppm, got \"" + given.format + "\"");
  if (given.format == "png" && !has_png) fail(picture_library_missing, "PNG needs libspng");
  if (given.format == "jpeg" && !has_jpeg) fail(picture_library_missing, "JPEG needs libjpeg-turbo");
  return given;
}

}  // namespace motet::shapes
