// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace motet {

// A name that can be a template argument: module<"picture", net>.
template <std::size_t Size>
struct fixed_string {
  char text[Size]{};

  constexpr fixed_string(const char (&from)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) text[i] = from[i];
  }
  constexpr std::string_view view() const { return {text, Size - 1}; }
  template <std::size_t Other>
  constexpr bool operator==(const fixed_string<Other>& other) const {
    return view() == other.view();
  }
};

template <std::size_t Size>
fixed_string(const char (&)[Size]) -> fixed_string<Size>;

}  // namespace motet
