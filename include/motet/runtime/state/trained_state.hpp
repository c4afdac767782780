// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// One of several losses of a model: its name, the modules that it is of, and its mean over the step, without
// the weight that it has in the sum.
struct loss_part {
  std::string_view name;
  std::span<const std::string_view> of;
  double loss = 0;

  // People know it by this: "info_nce of picture and caption".
  std::string told() const {
    std::string out(name);
    for (const std::string_view module : of)
      out.append(out.size() == name.size() ? " of " : " and ").append(module);
    return out;
  }
};

// A result is what a step found.
struct step_result {
  double loss = 0;
  double gradient_norm = 0;  // before clipping
  double rate = 0;
  double seconds = 0;
  std::int32_t score = 0;  // which of those that take turns was played
  // Where a model has several losses these are they, until the next step; `loss` is their weighted sum.
  std::span<const loss_part> parts{};
};

// The state is what training makes, in the model's flat order, whatever made it. The moments and averages are
// of what learns, which comes first; an optimizer without a second moment leaves it empty, and so does a run
// without averages.
template <class Master>
struct flat_state {
  std::vector<Master> weights, first, second;
  isize updates = 0;
  std::vector<Master> average{};
};

// What a run begins with: every module that a checkpoint has, or this one, which is called `as` there; the
// weights of its last step, which come first, or the averages of those that have them.
enum class weights_of : std::uint8_t;
struct begin_options {
  std::string_view module{}, as{};
  weights_of which{};
};

}  // namespace motet
