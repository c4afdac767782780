// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/beside_inputs.hpp>
#include <motet/runtime/stage/drawn_inputs.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/random.hpp>

namespace motet {

// Samples of random numbers, as long as a net takes them: what a net computes does not depend on them, so
// they serve to time it. A net with an input type of its own specialises this.
template <class Net, class Input = typename Net::input>
class random_input;

template <class Net>
class random_input<Net, pictures> {
 public:
  explicit random_input(isize samples, std::uint64_t seed = 0)
      : samples_(samples), pixels_(samples * input_traits<Net>::pixels) {
    const random_stream draws(seed, "pixels");
    for (isize i = 0; i < pixels_.size(); ++i)
      pixels_[i] = static_cast<float>(draws.normal(static_cast<std::uint64_t>(i)));
  }
  pictures all() const { return {pixels_.data(), samples_}; }

 private:
  isize samples_;
  buffer<float> pixels_;
};

template <class Net>
class random_input<Net, drawn_pictures> {
 public:
  explicit random_input(isize samples, std::uint64_t seed = 0) : shown_(samples, seed), seed_(seed) {}
  drawn_pictures all() const { return {shown_.all(), nullptr, {.seed = seed_}, 1}; }

 private:
  random_input<Net, pictures> shown_;
  std::uint64_t seed_;
};

template <class Net>
class random_input<Net, sounds> {
 public:
  explicit random_input(isize samples, std::uint64_t seed = 0)
      : samples_(samples), features_(samples * input_traits<Net>::numbers) {
    const random_stream draws(seed, "features");
    for (isize i = 0; i < features_.size(); ++i)
      features_[i] = static_cast<float>(draws.normal(static_cast<std::uint64_t>(i)));
  }
  sounds all() const { return {features_.data(), samples_}; }

 private:
  isize samples_;
  buffer<float> features_;
};

template <class Net>
class random_input<Net, tokens> {
 public:
  explicit random_input(isize samples, std::uint64_t seed = 0)
      : samples_(samples), ids_(samples * Net::config.context) {
    const random_stream draws(seed, "tokens");
    for (isize i = 0; i < ids_.size(); ++i)
      ids_[i] = static_cast<std::int32_t>(
          draws.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(Net::config.vocabulary)));
  }
  tokens all() const { return {ids_.data(), {samples_, Net::config.context, nullptr}}; }

 private:
  isize samples_;
  buffer<std::int32_t> ids_;
};

}  // namespace motet
