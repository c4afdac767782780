// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/meta/error.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace motet {

// What remembers something lists its members once, by remembers(with), which calls with("name", member) for
// each. By this list a state is kept as JSON, and read back to the last bit. What lists nothing, remembers
// nothing.
template <class T>
json kept(T& of);
template <class T>
void read_back(const json& from, T& to);

struct state_writer {
  json out{json::object{}};
  template <class T>
  void operator()(const char* name, T& member) {
    out.set(name, kept(member));
  }
};
// Throws MT-F02 where a name is missing or a value is of another kind.
struct state_reader {
  const json& from;
  std::size_t read = 0;
  template <class T>
  void operator()(const char* name, T& member) {
    read_back(from.at(name), member);
    ++read;
  }
};

namespace detail {
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
}  // namespace detail

template <class T>
json kept(T& of) {
  if constexpr (requires(state_writer& with) { of.remembers(with); }) {
    state_writer with;
    of.remembers(with);
    return with.out;
  } else if constexpr (detail::is_vector<T>) {
    json out{json::array{}};
    for (auto& each : of) out.push_back(kept(each));
    return out;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::int64_t>(of);
  } else if constexpr (std::is_floating_point_v<T>) {
    // JSON has no endless number; what is not there is endless.
    return std::isfinite(of) ? json(of) : json(nullptr);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return of;
  } else {
    return json::object{};
  }
}

template <class T>
void read_back(const json& from, T& to) {
  if constexpr (requires(state_reader& with) { to.remembers(with); }) {
    state_reader with{from};
    to.remembers(with);
    if (with.read != from.members().size())
      fail(json_wrong_kind, sentence({"got ", from.members().size(), " members, wanted ", with.read}));
  } else if constexpr (detail::is_vector<T>) {
    to.clear();
    for (const json& each : from.items()) read_back(each, to.emplace_back());
  } else if constexpr (std::is_same_v<T, bool>) {
    to = from.boolean();
  } else if constexpr (std::is_floating_point_v<T>) {
    to = from.is_null() ? std::numeric_limits<T>::infinity() : from.number();
  } else if constexpr (std::is_same_v<T, std::string>) {
    to = from.string();
  } else if constexpr (std::is_integral_v<T>) {
    if (!std::in_range<T>(from.integer()))
      fail(json_wrong_kind, sentence({"got ", from.integer(), ", which is out of range"}));
    to = static_cast<T>(from.integer());
  } else if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(from.integer());
  } else if (!from.members().empty()) {
    fail(json_wrong_kind, sentence({"got ", from.members().size(), " members, wanted none"}));
  }
}

}  // namespace motet
