// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace motet {

// Which weights a program takes: those of the last step, or the moving averages of those that learn.
enum class weights_of : std::uint8_t { last_step, averages };

}  // namespace motet
