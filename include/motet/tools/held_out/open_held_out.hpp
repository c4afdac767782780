// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/held_out/held_out_drawings.hpp>
#include <motet/tools/held_out/held_out_samples.hpp>

#include <memory>

namespace motet {

// The result is null where nothing is held out. `width` is that of the model's features, where it makes some.
inline std::unique_ptr<held_out> open_held_out(data_folder& from, isize width) {
  if (held_out_files(from).empty()) return nullptr;
  if (from.sample_config().sample.least_pictures > 0) return std::make_unique<held_out_drawings>(from);
  if (from.has_pieces()) return std::make_unique<held_out_samples>(from);
  return std::make_unique<held_out_pairs>(from, width);
}

}  // namespace motet
