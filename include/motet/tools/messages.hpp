// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// What goes wrong in programs: sentences of the codes MT-X.
namespace motet {

inline constexpr message unknown_option{"MT-X01", "there is no such option",
                                        "it is misspelt or belongs to another program",
                                        "--help lists all options"};
inline constexpr message option_without_value{"MT-X02", "an option lacks its value",
                                              "the command line ends, or the next word is an option",
                                              "Write the value after the option"};
inline constexpr message bad_option_value{"MT-X03", "the value of an option is not understood",
                                          "it is no number, out of range or not among the choices",
                                          "--help says what is possible"};
inline constexpr message option_missing{"MT-X04", "a required option is missing",
                                        "the program cannot choose it", "Add the option"};
inline constexpr message unexpected_word{"MT-X05", "a word on the command line belongs to no option",
                                         "a dash is missing, or a value has spaces",
                                         "Quote values with spaces; options begin with --"};

inline constexpr message tools_messages[] = {unknown_option, option_without_value, bad_option_value,
                                             option_missing, unexpected_word};

}  // namespace motet
