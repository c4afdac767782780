// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// Pictures or sounds by sample: none, one or many of each, in their order. `samples` counts pictures, or
// sounds.
template <class Each>
struct several : Each {
  isize of_samples = 0;
  const isize* offsets = nullptr;  // of_samples + 1 entries, which are whose; none: one each

  isize before(isize sample) const { return offsets == nullptr ? sample : offsets[sample]; }
};

}  // namespace motet
