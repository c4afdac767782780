// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer_laws.hpp"

namespace motet::laws {

// Some rows have no target.
struct labelled_batch : token_batch {
  std::vector<std::int32_t> targets;
  labelled_tokens labelled;
  labelled_batch(std::vector<isize> starts, isize vocabulary, double share)
      : token_batch(std::move(starts), vocabulary) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      targets.push_back(i % 5 == 3 ? -100 : static_cast<std::int32_t>((i * 7 + 2) % as_size(vocabulary)));
    labelled = {input, targets.data(), share};
  }
};

}  // namespace motet::laws
