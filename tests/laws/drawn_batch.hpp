// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/noised_pictures.hpp>

#include "layer_laws.hpp"

namespace motet::laws {

// Samples whose first row is a condition: none, one that is a condition alone, one row behind, several.
template <class L>
void check_conditioned(bool conditions_go_on, const law_settings& settings = {}) {
  for (const sequences& seq : {sequences{0, 5, nullptr}, sequences{2, 1, nullptr}, sequences{1, 2, nullptr},
                               sequences{3, 6, nullptr}}) {
    INFO("samples " << seq.samples << ", rows " << seq.rows());
    check_laws(layer_subject<L>{seq, conditions_go_on ? seq : behind_conditions(seq)}, settings);
  }
}

// Pictures of classes -1, 0, 1, 2, ... of so many, some way into a step.
struct drawn_batch {
  picture_batch shown;
  std::vector<std::int32_t> classes;
  drawn_pictures input;
  drawn_batch(isize samples, const noised_config& of) : shown(samples, of.channels, of.image) {
    for (isize s = 0; s < samples; ++s)
      classes.push_back(static_cast<std::int32_t>(s % (of.classes + 1)) - 1);
    input = {shown.input, classes.data(), {.seed = 5, .step = 3, .first = 7}, 1 / 3.0};
  }
};

}  // namespace motet::laws
