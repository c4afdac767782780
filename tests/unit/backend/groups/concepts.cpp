// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/concepts.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace motet;

namespace {

// A transport that lacks exactly one member; 0: none.
template <int Lacks>
struct model {
  int rank() const
    requires(Lacks != 1)
  {
    return 0;
  }
  int ranks() const
    requires(Lacks != 2)
  {
    return 1;
  }
  void begin_step()
    requires(Lacks != 3)
  {}
  void send(std::int32_t, std::int32_t, const std::byte*, motet::isize)
    requires(Lacks != 4)
  {}
  bool sent(std::int32_t)
    requires(Lacks != 5)
  {
    return true;
  }
  bool receive(std::int32_t, std::int32_t, std::byte*, motet::isize)
    requires(Lacks != 6)
  {
    return true;
  }
  bool gather(std::int32_t, std::int32_t, const std::byte*, motet::isize, std::byte*)
    requires(Lacks != 7)
  {
    return true;
  }
  bool exchange(std::int32_t, std::int32_t, const std::byte*, std::span<const byte_range>, std::byte*,
                std::span<const byte_range>)
    requires(Lacks != 10)
  {
    return true;
  }
  bool fetch(std::int32_t, std::int32_t, const std::byte*, std::span<const byte_range>, std::int32_t,
             std::byte*, motet::isize)
    requires(Lacks != 11)
  {
    return true;
  }
  std::uint32_t observe()
    requires(Lacks != 8)
  {
    return 0;
  }
  void pause(std::uint32_t)
    requires(Lacks != 9)
  {}
};
// Counts by another type would wrap elsewhere.
struct counts_by_int : model<8> {
  int observe() { return 0; }
};
struct brings : model<0> {
  bool brings_all() const { return true; }
};
struct receives_blindly : model<6> {
  void receive(std::int32_t, std::int32_t, std::byte*, motet::isize) {}
};

template <int... Lacks>
constexpr bool each_is_needed(std::integer_sequence<int, Lacks...>) {
  return (!transport<model<Lacks + 1>> && ...);
}

static_assert(transport<model<0>>, "motet: a type with every member is a transport");
static_assert(each_is_needed(std::make_integer_sequence<int, 11>{}),
              "motet: a transport needs each of its members");
static_assert(!transport<counts_by_int>, "motet: observe() counts in 32 bits without a sign");
static_assert(!transport<receives_blindly>, "motet: receive() says whether something was there");

}  // namespace

TEST_CASE("the concept is proven by the compiler") {
  model<0> one;
  CHECK(one.sent(0));
  CHECK(one.receive(0, 0, nullptr, 0));
}

TEST_CASE("an end brings rows of one member alone, unless it says otherwise") {
  CHECK_FALSE(brings_all(model<0>{}));
  CHECK(brings_all(brings{}));
}
