// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/picture_grid.hpp>
#include <motet/data/pictures/resize.hpp>
#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/front/trained/sampling.hpp>

#include <functional>
#include <memory>

// A model that speaks, whatever its type. Each is compiled in a unit of its own.
namespace motet::generate {

// These are known of a model before it is asked.
struct spoken_facts {
  std::string name;
  isize vocabulary = 0, context = 0;
  isize rows = 0;                    // that a picture takes of a text; none: the model does not see
  isize bins = 0, frames = 0;        // of a sound; none: the model hears nothing
  isize rows_of_sound = 0;           // that it takes of a text; none: it lies beside, and is always there
  isize side = 0, covered = 0;       // of a picture in pixels; what of it whole patches cover
  shape_limits shapes{};             // of pictures of any shape, which take fewer rows than that, too
  resampler::colours colours{};      // of its pictures
  std::int32_t picture_token = -1;   // what stands for a picture in its texts; negative: pictures come first
  std::vector<std::int32_t> ends{};  // tokens after which nothing follows
  isize latest_begin = time_tokens{}.latest_begin;  // of the first segment, where times are told
};

// Tokens, of which one below zero is the next picture, or the next sound.
struct prompt {
  static constexpr std::int32_t picture = -1, sound = -2;
  std::vector<std::int32_t> ids;
  std::vector<float> pixels;  // (pictures, channels, covered, covered)
  isize pictures = 0;
  std::vector<picture_grid> grids;  // of pictures of any shape, whose pixels are (channels, height, width)
  std::vector<float> features;      // (sounds x frames, bins)
  isize sounds = 0;
  isize begin = 0;  // of what may have pictures in front: tokens before it
};

class spoken_model {
 public:
  spoken_model() = default;
  spoken_model(const spoken_model&) = delete;
  spoken_model& operator=(const spoken_model&) = delete;
  virtual ~spoken_model() = default;
  virtual const spoken_facts& facts() const = 0;
  // hear(token) says whether to go on.
  virtual said_tokens say(const prompt& after, const saying& how,
                          const std::function<bool(std::int32_t)>& hear) = 0;
};

struct model_request {
  std::filesystem::path folder;       // of weights, where there is no checkpoint
  std::string adapters;               // that such weights get, or none
  const checkpoint* saved = nullptr;  // else of a run
  int threads = 0;
  bool rounded = false;                      // products in bf16
  weights_of which = weights_of::last_step;  // of a checkpoint
};

// Each is null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<spoken_model> make_say_quick(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_say_quick_adapted(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_say_quick_joined(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_say_quick_experts(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_sense_quick(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_say_small(const model_request& wanted);
[[gnu::weak]] std::unique_ptr<spoken_model> make_imported(const model_request& wanted);

}  // namespace motet::generate
