// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/pack.hpp>
#include <motet/tensor/view.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace motet {

// Room for the pictures of one batch, in memory that is somebody else's. Each is put at its own place by any
// thread; close() then leaves no gaps behind the places that are empty or not filled to their end.
class picture_room {
 public:
  void prepare(std::byte* memory, isize places, isize side, picture_form form,
               const resampler::colours& colours, const shape_limits& shapes = {}) {
    memory_ = memory;
    side_ = side;
    room_ = bytes(1, side, shapes);
    places_ = places;
    sizes_.assign(as_size(places), -1);
    // Pictures of any shape say which they have.
    form_ = shapes.any() ? picture_form::bytes : form;
    colours_ = colours;
    if (form_ == picture_form::bytes) each_.resize(as_size(places));
  }
  static isize bytes(isize places, isize side, const shape_limits& shapes = {}) {
    return places * (shapes.any() ? shapes.bytes() : packed_room(side));
  }

  void clear() { std::fill(sizes_.begin(), sizes_.end(), isize{-1}); }
  void leave_out(isize place) { sizes_[as_size(place)] = -1; }
  // Numbers that nobody looks at: their place is kept, and what lies there is not touched.
  void keep_blank(isize place) { sizes_[as_size(place)] = blank; }
  // Reader: what resizes, with pixels() and pack() as example_reader has them.
  template <class Resize, class Pack>
  void put(isize place, Resize&& pixels, Pack&& pack) {
    if (form_ == picture_form::floats) {
      pixels(reinterpret_cast<float*>(memory_) + place * numbers());
      sizes_[as_size(place)] = numbers() * static_cast<isize>(sizeof(float));
    } else {
      sizes_[as_size(place)] = pack(room(place), each_[as_size(place)]);
    }
  }
  // The pictures that are there, in the order of their places; returns how many.
  isize close() {
    isize end = 0, count = 0;
    const isize floats = numbers() * static_cast<isize>(sizeof(float));
    for (isize place = 0; place < places_; ++place) {
      const isize size = sizes_[as_size(place)] == blank ? floats : sizes_[as_size(place)];
      if (size < 0) continue;
      std::byte* const from = memory_ + (form_ == picture_form::floats ? place * floats : place * room_);
      if (memory_ + end != from && sizes_[as_size(place)] != blank)
        std::memmove(memory_ + end, from, as_size(size));
      if (form_ == picture_form::bytes) {
        each_[as_size(count)] = each_[as_size(place)];
        each_[as_size(count)].at = end;
      }
      end += size;
      ++count;
    }
    used_ = end;
    return count;
  }
  // What close() left, and the same taken into another room, whose bytes lie there already.
  std::span<const std::byte> used() const { return {memory_, as_size(used_)}; }
  std::span<const packed_picture> sizes(isize count) const {
    return std::span(each_).first(form_ == picture_form::bytes ? as_size(count) : 0);
  }
  std::byte* memory() const { return memory_; }
  void take(std::span<const packed_picture> sizes) { std::copy(sizes.begin(), sizes.end(), each_.begin()); }

  // This is called after close(), with the count that it returned.
  matrix<float> pixels(isize count) const {
    if (form_ != picture_form::floats) return {};
    return {reinterpret_cast<float*>(memory_), count, numbers(), numbers()};
  }
  packed_pictures packed() const {
    if (form_ != picture_form::bytes) return {};
    packed_pictures out{reinterpret_cast<const std::uint8_t*>(memory_), each_.data(), each_.data(), {}, {}};
    set_colours(colours_, out);
    return out;
  }

 private:
  static constexpr isize blank = -2;
  isize numbers() const { return bitmap::channels * side_ * side_; }
  std::uint8_t* room(isize place) const { return reinterpret_cast<std::uint8_t*>(memory_) + place * room_; }

  std::byte* memory_ = nullptr;
  isize places_ = 0, side_ = 0, room_ = 0, used_ = 0;
  picture_form form_ = picture_form::floats;
  resampler::colours colours_{};
  std::vector<isize> sizes_;          // bytes of each place; negative: nothing is there
  std::vector<packed_picture> each_;  // (places)
};

}  // namespace motet
