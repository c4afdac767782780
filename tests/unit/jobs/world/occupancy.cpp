// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/world/occupancy.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const job_cluster two{"two", {{"a", 70, 2, 1}, {"b", 3, 8, 1}}};
std::vector<std::int32_t> all_of(const occupancy& of) {
  std::vector<std::int32_t> out;
  for (std::int32_t d = 0; d < of.devices(); ++d) out.push_back(of.is_free(d) ? -1 : of.owner_of(d));
  return out;
}
}  // namespace

TEST_CASE("devices are given, found and taken back") {
  occupancy places(two, 4);
  CHECK(places.devices() == 164);
  CHECK(places.first_node(1) == 70);
  CHECK(places.count_with(0, 2) == 70);
  CHECK(places.give(0, 71, 4));
  CHECK(places.free_in(71) == 4);
  CHECK_FALSE(places.give(1, 71, 8));
  CHECK(places.give(1, 71, 4));
  // Fewer than before: the first ones stay.
  CHECK(places.give(1, 71, 2));
  CHECK(places.devices_of(1) == 2);
  CHECK(places.free_of(1) == 18);
  std::vector<std::int32_t> found;
  places.each_with(1, 8, [&](std::int32_t node) {
    found.push_back(node);
    return true;
  });
  CHECK(found == std::vector<std::int32_t>{70, 72});
  CHECK(places.release(0));
  CHECK_FALSE(places.release(0));
  CHECK(places.pieces(1)[0].node == 71);
}

TEST_CASE("whatever was done can be undone, and only what changed is told") {
  occupancy places(two, 20);
  const random_stream chance(7, "changes");
  std::uint64_t at = 0;
  const auto some = [&](std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) {
      const auto who = static_cast<std::int32_t>(chance.below(at++, 20));
      const auto node = static_cast<std::int32_t>(chance.below(at++, 73));
      if (chance.below(at++, 3) == 0) places.release(who);
      else places.give(who, node, 1 + node % 2);
    }
  };
  some(300);
  const std::vector<std::int32_t> before = all_of(places);
  const std::size_t mark = places.mark();
  some(200);
  const std::vector<std::int32_t> after = all_of(places);
  std::size_t different = 0;
  for (std::size_t d = 0; d < before.size(); ++d) different += before[d] != after[d] ? 1 : 0;
  CHECK(places.changes(mark).size() == different);
  places.undo(mark);
  CHECK(all_of(places) == before);
  for (std::int32_t who = 0; who < 20; ++who)
    CHECK(places.devices_of(who) == std::count(before.begin(), before.end(), who));
  for (std::int32_t kind = 0; kind < 2; ++kind) {
    std::int32_t nodes = 0, free = 0;
    for (std::int32_t n = 0; n <= places.per_node(kind); ++n)
      nodes += places.count_with(kind, n), free += n * places.count_with(kind, n);
    CHECK(nodes == places.last_node(kind) - places.first_node(kind));
    CHECK(free == places.free_of(kind));
  }
}
