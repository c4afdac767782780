// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>

#include <memory>

// The picture tower of a run of train_clip, whatever its type. Each is compiled in the unit that trains it.
namespace motet::embed {

class saved_tower {
 public:
  saved_tower() = default;
  saved_tower(const saved_tower&) = delete;
  saved_tower& operator=(const saved_tower&) = delete;
  virtual ~saved_tower() = default;
  virtual isize side() const = 0;   // of a picture, in pixels
  virtual isize width() const = 0;  // of its features
  // Makes rows (samples, width) of length one of pictures (samples, 3, side, side).
  virtual void embed(const float* pixels, isize samples, float* features) = 0;
};

// Each is null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<saved_tower> open_quick(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_tower> open_tiny(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_tower> open_small(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_tower> open_b16(const checkpoint& from, int threads);
[[gnu::weak]] std::unique_ptr<saved_tower> open_l14(const checkpoint& from, int threads);

}  // namespace motet::embed
