// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Tests ask these of the fake cuBLASLt beyond the library's calls.

namespace motet::emulation {

// Algorithms differ by the workspace that they want: 4096, 0 and 65536 bytes, offered in this order. From now
// on a product by the one with this workspace begins so many seconds later than it could, by the clock of
// events.
void delay_products(std::uint64_t workspace, double seconds);

}  // namespace motet::emulation
