// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/mixed_bits.hpp>
#include <motet/tensor/random.hpp>

namespace motet {

// What a net that learns to draw does not know of its pictures: how far each is on its way to noise, to which
// noise, and whether the net is told its class. All follow from the seed, the step and the place of the
// picture in the step, so it is the same in any plan and in any number of microbatches.
struct noise_draws {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  isize first = 0;                       // place in the step of the first picture here; the others follow
  const std::int32_t* places = nullptr;  // or the places of all
  const float* times = nullptr;          // given: pictures came so far on their way, and nothing is drawn

  MOTET_HOST_DEVICE constexpr bool given() const { return times != nullptr; }
  MOTET_HOST_DEVICE constexpr std::uint64_t place(isize picture) const {
    return static_cast<std::uint64_t>(places != nullptr ? places[picture] : first + picture);
  }
  // 0: the picture itself, 1: noise alone.
  MOTET_HOST_DEVICE constexpr float time(isize picture) const {
    return given() ? times[picture] : stream(of_times).uniform(place(picture));
  }
  MOTET_HOST_DEVICE constexpr bool forgets_class(isize picture, float rate) const {
    return !given() && stream(of_classes).uniform(place(picture)) < rate;
  }
  // Number j of a picture of so many is number place * numbers + j of this stream of normals.
  MOTET_HOST_DEVICE constexpr random_stream noise() const { return stream(of_noise); }

  constexpr bool operator==(const noise_draws&) const = default;

 private:
  // The names of the streams; a device does not hash texts.
  static constexpr std::uint64_t of_times = random_stream::hash("time"),
                                 of_classes = random_stream::hash("class"),
                                 of_noise = random_stream::hash("noise");
  MOTET_HOST_DEVICE constexpr random_stream stream(std::uint64_t of) const {
    return {seed, of ^ (step + 1) * golden_step};
  }
};

}  // namespace motet
