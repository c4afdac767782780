// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/produced_steps.hpp>
#include <motet/tools/feed.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// The batches of open_data(), by producers.
inline std::unique_ptr<feed> open_produced(const data_folder& from, const json* saved,
                                           const data_wishes& wishes, const sample_shape& shape,
                                           produced_options by) {
  by.production = production_of(wishes, shape, from);
  if (from.has_pieces())
    return std::make_unique<loaded_feed<produced_steps<sample_maker>>>(
        from, from.samples(), from.sample_config(), saved, std::move(by));
  return std::make_unique<loaded_feed<produced_steps<pair_maker>>>(from, from.pairs(), from.config(), saved,
                                                                   std::move(by));
}

}  // namespace motet
