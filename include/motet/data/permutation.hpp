// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/mixed_bits.hpp>
#include <motet/tensor/random.hpp>

#include <bit>

namespace motet {

// An order of [0, count) that depends on (seed, epoch) alone and takes no memory: a Feistel network over the
// next even power of two, walked until it lands inside. Position i of epoch e can be asked for directly,
// which is what makes resuming exact and cheap.
// Asks for: a count that is not negative, and positions below it.
// Memory: a few numbers, whatever the count.
// Errors: none of its own.
// Example:
//   std::ptrdiff_t first_of(std::uint64_t epoch) { return permutation(1000, 1, epoch)(0); }
class permutation {
 public:
  constexpr permutation(isize count, std::uint64_t seed, std::uint64_t epoch)
      : count_(static_cast<std::uint64_t>(count)) {
    const auto bits = count_ > 1 ? static_cast<int>(std::bit_width(count_ - 1)) : 1;
    half_ = (bits + 1) / 2;
    const random_stream keys(seed, random_stream::hash("shuffle") + epoch * golden_step);
    for (std::uint64_t i = 0; i < rounds; ++i)
      keys_[i] = (std::uint64_t{keys.word(2 * i)} << 32) | keys.word(2 * i + 1);
  }

  constexpr isize operator()(isize position) const {
    auto value = static_cast<std::uint64_t>(position);
    // Each value has one predecessor, so walking from a value below count comes back below count.
    do value = mix(value);
    while (value >= count_);
    return static_cast<isize>(value);
  }
  constexpr isize count() const { return static_cast<isize>(count_); }

 private:
  static constexpr std::uint64_t rounds = 6;

  constexpr std::uint64_t mix(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = value >> half_, right = value & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mixed_bits(right ^ key) & mask);
      left = right;
      right = next;
    }
    return (left << half_) | right;
  }

  std::uint64_t count_;
  int half_ = 1;
  std::uint64_t keys_[rounds]{};
};

}  // namespace motet
