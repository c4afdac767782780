// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet::cuda {

// Division of numbers below 2^31 by one that the host knows: a product and a shift, where a GPU has no
// instruction to divide (Granlund and Montgomery, PLDI'94).
class divisor {
 public:
  divisor() = default;
  explicit divisor(isize by) : by_(static_cast<std::uint32_t>(by)) {
    while ((std::uint64_t{1} << (shift_ - 31)) < by_) ++shift_;
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + by_ - 1) / by_);
  }
  MOTET_HOST_DEVICE std::uint32_t value() const { return by_; }
  MOTET_HOST_DEVICE std::uint32_t quotient(std::uint32_t n) const {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(n) * factor_) >> shift_);
  }
  // n becomes the rest.
  MOTET_HOST_DEVICE std::uint32_t divide(std::uint32_t& n) const {
    const std::uint32_t found = quotient(n);
    n -= found * by_;
    return found;
  }

 private:
  std::uint32_t by_ = 1, factor_ = 0x80000000u, shift_ = 31;
};

}  // namespace motet::cuda
