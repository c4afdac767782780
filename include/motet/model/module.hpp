// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>
#include <motet/nn/compose/frozen.hpp>

namespace motet {

// Whether the features of a net are what each of its samples lost, one number.
template <class Net>
inline constexpr bool has_own_loss = [] {
  if constexpr (requires { Net::own_loss; }) return Net::own_loss;
  else return false;
}();

// A named submodule: a net, and whether it learns.
template <fixed_string Name, class Net>
struct module {
  static constexpr std::string_view name = Name.view();
  using net = Net;
  using input = typename Net::input;
  static constexpr bool frozen = is_frozen<Net>;
  static constexpr index embedding = Net::embedding;
  static constexpr bool own_loss = has_own_loss<Net>;
};

}  // namespace motet
