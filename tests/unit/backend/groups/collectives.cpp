// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/collectives.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// The least that each concept asks for; every one below lacks one thing.
struct bare {
  std::int32_t size() const { return 1; }
  std::int32_t member() const { return 0; }
  bool test(ticket) { return true; }
  void wait(ticket) {}
};
struct whole : bare {
  template <class T>
  ticket all_reduce_sum(T*, motet::isize) {
    return 0;
  }
  template <class T>
  ticket reduce_scatter_sum(const T*, T*, std::span<const motet::isize>) {
    return 0;
  }
  ticket all_gather(const std::byte*, std::byte*, std::span<const motet::isize>) { return 0; }
  ticket all_to_all(const std::byte*, std::span<const motet::isize>, std::byte*,
                    std::span<const motet::isize>) {
    return 0;
  }
  ticket broadcast(std::byte*, motet::isize, std::int32_t) { return 0; }
  ticket barrier() { return 0; }
};
struct cannot_test : whole {
  void test(ticket) {}
};
struct sums_float_alone : whole {
  ticket all_reduce_sum(float*, motet::isize) { return 0; }
};
struct blocks : whole {
  void barrier() {}
};
struct unsized {
  std::int32_t member() const { return 0; }
  bool test(ticket) { return true; }
  void wait(ticket) {}
};
struct gathers_evenly : whole {
  ticket all_gather(const std::byte*, std::byte*, motet::isize) { return 0; }
};
struct everyone_is_root : whole {
  ticket broadcast(std::byte*, motet::isize) { return 0; }
};
}  // namespace

static_assert(rank_group<bare> && !collective_group<bare>);
static_assert(collective_group<whole>);
static_assert(!rank_group<unsized>);
static_assert(!rank_group<cannot_test> && !has_barrier<cannot_test>);
static_assert(all_reduces<sums_float_alone, float> && !all_reduces<sums_float_alone, bf16> &&
              !collective_group<sums_float_alone>);
static_assert(!has_barrier<blocks> && broadcasts<blocks> && !collective_group<blocks>);
static_assert(!all_gathers<gathers_evenly> && all_to_alls<gathers_evenly> &&
              !collective_group<gathers_evenly>);
static_assert(!broadcasts<everyone_is_root> && reduce_scatters<everyone_is_root, double>);

TEST_CASE("several calls may be under way, and memory is asked for when it is needed") {
  CHECK(group_options{}.in_flight > 1);
  CHECK(group_options{}.sum_bytes == 0);
}
