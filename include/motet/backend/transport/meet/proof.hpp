// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/format/files/sha256.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

// How both ends of a connection show that they know a token, without saying it.
namespace motet::meet {

// A number that nobody can have seen before.
inline std::string fresh_nonce() {
  std::random_device source;
  std::string bytes(32, '\0');
  for (char& each : bytes) each = static_cast<char>(source());
  return bytes;
}

// Proves that `role` knows the token, for these two numbers.
inline std::string proof(const std::string& token, const std::string& role, const std::string& asked,
                         const std::string& own) {
  const std::string text = sentence({"motet ", role, '\n', asked, own});
  const digest made = keyed_digest(token, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return {reinterpret_cast<const char*>(made.data()), made.size()};
}
inline bool same_proof(const std::string& a, const std::string& b) {
  digest one{}, two{};
  if (a.size() != one.size() || b.size() != two.size()) return false;
  std::memcpy(one.data(), a.data(), one.size());
  std::memcpy(two.data(), b.data(), two.size());
  return same(one, two);
}

// Texts one behind the other, each after its length.
inline void append(std::string& to, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to += text;
}
inline std::string part(const std::string& of, std::size_t& at) {
  std::uint64_t size = 0;
  if (of.size() - at < sizeof size) fail(meeting_refused, "a message ends too early");
  std::memcpy(&size, of.data() + at, sizeof size);
  at += sizeof size;
  if (of.size() - at < size) fail(meeting_refused, "a message ends too early");
  at += static_cast<std::size_t>(size);
  return of.substr(at - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
}

}  // namespace motet::meet
