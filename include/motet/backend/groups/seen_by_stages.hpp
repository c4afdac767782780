// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace motet {

namespace detail {
template <class T>
struct seen_type {
  using type = T;
};
template <class T>
  requires requires { typename T::seen; }
struct seen_type<T> {
  using type = typename T::seen;
};
}  // namespace detail

// What stages see of an end of a transport, or of a group: its own type, or a base that it names `seen`,
// which several transports have in common. All that computes is compiled once for each.
template <class T>
using seen_by_stages = typename detail::seen_type<T>::type;

}  // namespace motet
