// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/feed_slots.hpp>

#include <doctest/doctest.h>
#include <sites.hpp>

using namespace motet;

namespace {

// One rank to two context parts of two tensor parts each; three samples of 4, 1 and 3 rows, 3 columns.
const feed_edge& edge() {
  static const feed_edge one({mesh::from(0, {}), 0, 1, 1}, {mesh::from(0, {1, 1, 2, 2}), 0, 1, 1}, 3, 3);
  return one;
}
const motet::index offsets[] = {0, 4, 5, 8};
const sequences all{3, 1, offsets};

}  // namespace

TEST_CASE("what is packed at one seat is unpacked in its place at the other") {
  const feed_seat source(edge(), true, 0), target(edge(), false, 1);  // upper rows, right column
  feed_slots<float, cpu::context> from(source), to(target);
  laws::host_site host;
  from.prepare(host.ctx, all, 1, 0);
  to.prepare(host.ctx, all, 1, 0);
  from.begin_step(all);
  to.begin_step(all);
  std::vector<float> rows(8 * 3), got(5 * 3, -1.0f), packed(5);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  auto &out = from.of(0), &in = to.of(0);
  from.open(out, 0, 8, 3);
  to.open(in, 0, 5, 3);
  const auto& wanted = target.parcels()[0];
  const auto& it = source.parcels()[static_cast<std::size_t>(wanted.number)];
  CHECK(it.what.columns.begin == 2);
  CHECK(out.memory.size() >= 4 * arena::alignment);  // four messages, each at a place of its own
  CHECK_FALSE(from.find_rows(out, it).in_one);
  CHECK(from.find_rows(out, it).rows == 5);
  CHECK(to.find_rows(in, wanted).in_one);
  from.pack(out, it, matrix<const float>{rows.data(), 8, 3, 3}, packed.data());
  CHECK(packed == std::vector<float>{2, 5, 14, 17, 20});  // rows 0 1, 4, 5 6
  to.unpack(in, wanted, packed.data(), {got.data(), 5, 3, 3}, 0);
  for (std::size_t r = 0; r < 5; ++r) {
    CHECK(got[3 * r] == -1.0f);
    CHECK(got[3 * r + 2] == packed[r]);
  }
}

TEST_CASE("slots are as many as asked for, or as there are microbatches, and microbatches take turns") {
  const feed_edge busy({mesh::from(0, {}), 0, 2, 3}, {mesh::from(1, {}), 0, 1, 1}, 6, 2);
  const feed_seat seat(busy, true, 0);
  feed_slots<float, cpu::context> slots(seat);
  CHECK_THROWS_WITH_AS(slots.of(0), doctest::Contains("MT-R13"), error);  // not prepared
  laws::host_site host;
  slots.prepare(host.ctx, {6, 2, nullptr}, 4, 0);
  CHECK(&slots.of(0) == &slots.of(4));
  CHECK(&slots.of(0) != &slots.of(3));
  CHECK(slots.of(0).memory.size() >= 2 * 2 * 4);
  slots.prepare(host.ctx, {6, 2, nullptr}, 100, 0);
  CHECK(&slots.of(0) != &slots.of(5));
  CHECK_THROWS_WITH_AS(slots.of(6), doctest::Contains("microbatch 6 of 6"), error);
}

TEST_CASE("steps and rows that were not planned") {
  const feed_seat seat(edge(), true, 0);
  feed_slots<float, cpu::context> slots(seat);
  laws::host_site host;
  slots.prepare(host.ctx, {3, 2, nullptr}, 1, 0);
  CHECK_THROWS_WITH_AS(slots.begin_step({4, 1, nullptr}),
                       doctest::Contains("4 samples, the feed was made for 3"), error);
  CHECK_THROWS_WITH_AS(slots.begin_step(all), doctest::Contains("8 rows here, planned were up to 6"), error);
  slots.begin_step({3, 2, nullptr});
  CHECK_THROWS_WITH_AS(slots.open(slots.of(0), 0, 5, 3), doctest::Contains("given as 5 x 3, not 6 x 3"),
                       error);
  CHECK_THROWS_WITH_AS(slots.open(slots.of(0), 0, 6, 4), doctest::Contains("given as 6 x 4"), error);
}
