// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/layers/token_embedding.hpp>

#include <memory>

// The towers of a run of train_clip, whatever their types. Those of each model are compiled in the unit that
// trains it.
namespace motet::embed {

class saved_towers {
 public:
  saved_towers() = default;
  saved_towers(const saved_towers&) = delete;
  saved_towers& operator=(const saved_towers&) = delete;
  virtual ~saved_towers() = default;
  virtual isize side() const = 0;        // of a picture, in pixels
  virtual isize context() const = 0;     // tokens of a text, at most
  virtual isize vocabulary() const = 0;  // tokens below it are known
  virtual isize width() const = 0;       // of features
  // Make rows (samples, width) of length one.
  virtual void embed(const pictures& shown, float* features) = 0;
  virtual void embed(const tokens& said, float* features) = 0;
};

// Each is null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<saved_towers> open_quick(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_towers> open_tiny(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_towers> open_small(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_towers> open_b16(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_towers> open_l14(const checkpoint& from, int threads);

}  // namespace motet::embed
