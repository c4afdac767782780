// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/input_traits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

// An input as a device has it that reads from memory of its own: each list that is brought there fits in the
// bytes that were foretold, and begins where its numbers may.
template <class Traits, class Input>
struct staged_input {
  std::vector<std::byte> room;
  Input here;

  explicit staged_input(const Input& all)
      : room(motet::as_size(Traits::staged_bytes(all)) + 64), here(Traits::stage(all, begin(), bring())) {}

 private:
  std::byte* begin() {
    return reinterpret_cast<std::byte*>(
        motet::round_up(reinterpret_cast<motet::isize>(room.data()), motet::isize{64}));
  }
  auto bring() {
    return [this](const auto* from, auto* to, motet::isize count) {
      const auto* const first = reinterpret_cast<const std::byte*>(to);
      CHECK(first >= begin());
      CHECK(reinterpret_cast<const std::byte*>(to + count) <= room.data() + room.size());
      CHECK(reinterpret_cast<std::uintptr_t>(to) % alignof(std::remove_cvref_t<decltype(*to)>) == 0);
      std::copy(from, from + count, to);
    };
  }
};
template <class T>
bool is_brought(const T* from, const T* to, motet::isize count) {
  return from != to && std::equal(from, from + count, to);
}
