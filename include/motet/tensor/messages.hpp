// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// The sentences of the codes MT-T say what goes wrong with tensors.
namespace motet {

inline constexpr message arena_full{"MT-T01", "the arena is full",
                                    "a step asked for more memory than was planned for it",
                                    "report this: the dry run of a step and its run must agree"};

inline constexpr message tensor_messages[] = {arena_full};

}  // namespace motet
