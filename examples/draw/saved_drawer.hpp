// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../generate/prompt.hpp"

#include <motet/front/trained/painter.hpp>

#include <memory>
#include <string>
#include <vector>

// A model of train_vlm that draws, by its checkpoint, whatever its type. Each is compiled in a unit of its
// own.
namespace motet::drawing {

struct drawer_request {
  const checkpoint* saved = nullptr;
  weights_of which = weights_of::last_step;
  int threads = 0;
};

class saved_drawer {
 public:
  saved_drawer() = default;
  saved_drawer(const saved_drawer&) = delete;
  saved_drawer& operator=(const saved_drawer&) = delete;
  virtual ~saved_drawer() = default;
  virtual const generate::spoken_facts& facts() const = 0;
  virtual isize most_seen() const = 0;
  // So many pictures of one prompt, (count, 3, side, side).
  virtual std::vector<float> paint(const generate::prompt& of, isize count, const painting& how) = 0;
};

// Null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<saved_drawer> make_draw_quick(const drawer_request& wanted);

// What the command line asks for.
struct saved_request {
  std::string checkpoint, prompt, tokenizer, output;
  std::vector<std::string> pictures;
  isize count = 1, threads = 0;
  bool averages = false;
  painting how{};
};

// Reads the checkpoint, paints, and writes the pictures beside each other.
void paint_saved(const saved_request& wanted);

}  // namespace motet::drawing
