// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/step_share.hpp>

#include <functional>
#include <mutex>
#include <utility>

namespace motet {

// A line between a model, which finds step by step whose pictures its process looks at, and the queue that
// asks producers for them. Either of the two may be gone before the other.
// Asks for: nothing.
// Memory: none.
// Errors: none of its own.
// Example:
//   step_share heard_of(share_line& line, const step_share& said) {
//     step_share out;
//     line.lead([&](const step_share& share) { out = share; });
//     line.say(said);
//     line.lead({});
//     return out;
//   }
class share_line {
 public:
  // Leads there from now on; when this returns, nothing is said to where it led before.
  void lead(std::function<void(const step_share&)> to) {
    const std::lock_guard hold(guard_);
    to_ = std::move(to);
  }
  void say(const step_share& share) const {
    const std::lock_guard hold(guard_);
    if (to_) to_(share);
  }

 private:
  mutable std::mutex guard_;
  std::function<void(const step_share&)> to_;
};

}  // namespace motet
