// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/towers/rows_through.hpp>

namespace motet {

// A net may have a loss of its own: its features are then what each of its samples lost, one number.
template <class Net>
inline constexpr bool has_own_loss = [] {
  if constexpr (requires { Net::own_loss; }) return Net::own_loss;
  else return false;
}();

// Losses and nets agree on what such a net ends with: nothing of the kind, tokens to say, or noise to take
// away.
enum class own_head : std::uint8_t { none, tokens, noise };
template <class Net>
inline constexpr own_head head_of = [] {
  if constexpr (requires { Net::draws; }) return Net::draws ? own_head::noise : own_head::none;
  else return has_own_loss<Net> ? own_head::tokens : own_head::none;
}();

// A net may end with rows for another module, and take rows of so many columns; 0: it takes none.
template <class Net>
inline constexpr bool gives_rows = [] {
  if constexpr (requires { Net::gives_rows; }) return Net::gives_rows;
  else return false;
}();
template <class Net>
inline constexpr isize takes_rows = [] {
  if constexpr (requires { Net::takes_rows; }) return Net::takes_rows;
  else return isize{0};
}();

// Its blocks may look at them without giving them places among its own.
template <class Net>
inline constexpr bool looks_beside = [] {
  if constexpr (requires { Net::looks_beside; }) return Net::looks_beside;
  else return false;
}();

// A net that can take them from several modules says so by `with_sources`.
template <class Net>
inline constexpr bool takes_rows_of_several = requires { typename Net::template with_sources<2>; };

namespace detail {

// A layer is a module that rows pass through.
template <class Net>
struct net_of {
  using type = rows_through<Net>;
};
template <class Net>
  requires requires { typename Net::input; }
struct net_of<Net> {
  using type = Net;
};

}  // namespace detail

// A named submodule: a net, or a layer that rows of another module pass through, and whether it learns.
// Asks for: a net with `input`, or a layer; a name that no other module of the model has.
// Memory: none; the net says what it keeps.
// Errors: none of its own.
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using still = module<"picture", frozen<eye>>;
//   static_assert(still::frozen && still::embedding == eye::embedding);
template <fixed_string Name, class Net>
struct module {
  static constexpr std::string_view name = Name.view();
  using net = typename detail::net_of<Net>::type;
  using input = typename net::input;
  static constexpr bool frozen = is_frozen<Net>;
  static constexpr isize embedding = net::embedding;
  static constexpr own_head head = head_of<net>;
};

// A module may have another net, which computes the same.
template <class Module, class Net>
struct module_with : Module {
  using net = Net;
};

}  // namespace motet
