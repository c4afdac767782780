// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

namespace motet {

inline constexpr message shapes_command_line{"MT-X20", "the command line of make_shapes is not understood",
                                             "an option is misspelt or its value is missing",
                                             "Run make_shapes --help"};
inline constexpr message make_shapes_messages[] = {shapes_command_line};

}  // namespace motet
