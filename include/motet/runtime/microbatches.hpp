// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/parts.hpp>

namespace motet {

// The microbatches of one module in a step: which samples each has, and their input. A step's samples are cut into groups of one size, one for each
// loss, and a group into microbatches as even as possible. Memory is taken once; microbatches lie where the step's batch does.
template <class Net>
class microbatches {
 public:
  using traits = input_traits<Net>;
  using input = typename Net::input;

  microbatches(index samples, index groups, index in_group) : group_(samples / groups), in_group_(in_group) {
    for (index m = 0; m < groups * in_group; ++m) most_ = std::max(most_, of(m).size());
    const auto count = static_cast<std::size_t>(groups * in_group);
    inputs_.resize(count, largest());
    first_rows_.resize(count, 0);
    for (std::size_t m = 0; m < count; ++m) rooms_.push_back(traits::room(most_));
  }

  index count() const { return static_cast<index>(inputs_.size()); }
  // Its samples, as an interval of the step's.
  interval of(index m) const {
    const index start = m / in_group_ * group_, inside = m % in_group_;
    return {start + group_ * inside / in_group_, start + group_ * (inside + 1) / in_group_};
  }
  const input& operator[](index m) const { return inputs_[static_cast<std::size_t>(m)]; }
  // The number of its first row within the step, by which random numbers are drawn.
  index first_row(index m) const { return first_rows_[static_cast<std::size_t>(m)]; }
  // What no microbatch exceeds, for dry runs: its data is never read.
  input largest() const { return traits::largest(most_); }

  void cut(const input& whole) {
    const sequences rows = Net::rows(whole);
    for (index m = 0; m < count(); ++m) {
      const auto at = static_cast<std::size_t>(m);
      inputs_[at] = traits::slice(whole, of(m).begin, of(m).size(), rooms_[at]);
      first_rows_[at] = rows.begin(of(m).begin);
    }
  }

 private:
  index group_, in_group_, most_ = 0;
  std::vector<input> inputs_;
  std::vector<index> first_rows_;
  std::vector<typename traits::storage> rooms_;
};

}  // namespace motet
