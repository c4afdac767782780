// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/section_exchange.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace motet;

namespace {

// Four members with three sections each.
constexpr motet::isize members = 4, sections = 3;
constexpr motet::isize sizes[members][sections] = {{10, 70, 8}, {0, 64, 0}, {200, 0, 1}, {0, 0, 0}};
// Member 0 needs all, 1 the first, 2 the outer ones, 3 nothing but the last.
constexpr bool wants[members][sections] = {
    {true, true, true}, {true, false, false}, {true, false, true}, {false, false, true}};

section_exchange exchange_of(std::int32_t me) {
  return {members, me, sections, [](motet::isize m, motet::isize s) { return sizes[m][s]; },
          [](motet::isize who, motet::isize, motet::isize s) { return wants[who][s]; }};
}

}  // namespace

TEST_CASE("ranges of both ends agree, and each section that is needed is found where it came") {
  for (std::int32_t me = 0; me < members; ++me) {
    const section_exchange own = exchange_of(me);
    std::vector<std::byte> block(static_cast<std::size_t>(own.own_bytes()), std::byte{0xee}),
        came(static_cast<std::size_t>(own.received_bytes()));
    for (std::int32_t other = 0; other < members; ++other) {
      const section_exchange theirs = exchange_of(other);
      const byte_range out = theirs.out()[static_cast<std::size_t>(me)],
                       in = own.in()[static_cast<std::size_t>(other)];
      CHECK(out.bytes == in.bytes);
      if (other == me) {
        CHECK(in.bytes == 0);
        continue;
      }
      CHECK(in.offset + in.bytes <= own.received_bytes());
      // Each byte of a section says whose and which it is.
      std::vector<std::byte> text(static_cast<std::size_t>(theirs.own_bytes()), std::byte{0xee});
      for (motet::isize s = 0; s < sections; ++s)
        for (motet::isize i = 0; i < sizes[other][s]; ++i)
          *(theirs.at(text.data(), nullptr, other, s) + i) = static_cast<std::byte>(10 * other + s);
      if (in.bytes > 0)
        std::memcpy(came.data() + in.offset, text.data() + out.offset, static_cast<std::size_t>(in.bytes));
    }
    for (std::int32_t other = 0; other < members; ++other)
      for (motet::isize s = 0; s < sections; ++s)
        for (motet::isize i = 0; other != me && wants[me][s] && i < sizes[other][s]; ++i) {
          const std::byte wanted = static_cast<std::byte>(10 * other + s);
          CHECK(*(own.at(block.data(), came.data(), other, s) + i) == wanted);
          CHECK(*(own.in_range(came.data() + own.in()[static_cast<std::size_t>(other)].offset, other, s) +
                  i) == wanted);
        }
    for (motet::isize s = 0; s < sections; ++s)
      CHECK((own.at(block.data(), came.data(), me, s) - block.data()) % arena::alignment == 0);
  }
}

TEST_CASE("a member gets no more than from the first section that it needs to the last") {
  const auto came = [](std::int32_t me, std::size_t from) { return exchange_of(me).in()[from].bytes; };
  CHECK(came(1, 0) == 10);
  CHECK(came(1, 2) == 200);
  CHECK(came(2, 0) == 64 + 128 + 8);
  CHECK(came(3, 0) == 8);
  CHECK(came(3, 1) == 0);
  CHECK(came(3, 2) == 1);
  CHECK(came(0, 1) == 64);
  CHECK(exchange_of(3).own_bytes() == 0);
  CHECK(exchange_of(3).received_bytes() == 128);
  CHECK(exchange_of(3).largest() == 64);
  CHECK(exchange_of(1).largest() == 256);
}
