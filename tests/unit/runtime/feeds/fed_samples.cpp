// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/fed_samples.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Two modules, each with so many replicas and microbatches; ranks of their own.
program chain(std::int32_t from_replicas, std::int32_t from_microbatches, std::int32_t to_replicas,
              std::int32_t to_microbatches) {
  through_shape of;
  for (const bool last : {false, true}) {
    const std::int32_t replicas = last ? to_replicas : from_replicas;
    for (std::int32_t r = 0; r < replicas; ++r) {
      through_module made;
      made.module = last ? 1 : 0;
      made.replica = r;
      made.replicas = replicas;
      made.microbatches = last ? to_microbatches : from_microbatches;
      made.meets = last;
      made.ranks.push((last ? from_replicas : 0) + r);
      for (std::int32_t source = 0; last && source < from_replicas; ++source) made.from.push(source);
      of.modules.push(made);
    }
  }
  return compile(write_through(of));
}
struct found {
  int whole = 0;
  motet::isize pieces = 0, samples = 0;
};
found look(const program& of, motet::isize samples) {
  const stage_groups groups(of, {1, 1});
  const list<sample_split> splits = splits_of(of, samples);
  const fed_samples fed(of, groups, splits);
  found out;
  fed.each_whole([&](const cell_seat&, const cell_seat&) { ++out.whole; });
  fed.each_piece([&](const cell_seat& from, const cell_seat& to, int, int, interval both) {
    ++out.pieces;
    out.samples += both.size();
    CHECK(both.begin >= fed.of(from.voice, from.microbatch).begin);
    CHECK(both.end <= fed.of(to.voice, to.microbatch).end);
  });
  return out;
}

}  // namespace

TEST_CASE("what is cut alike stays whole") {
  const found all = look(chain(2, 3, 2, 3), 12);
  CHECK(all.whole == 2);
  CHECK(all.pieces == 0);
}

TEST_CASE("three replicas feed two: every sample once") {
  const found all = look(chain(3, 2, 2, 2), 12);
  CHECK(all.whole == 0);
  CHECK(all.pieces == 2 * 4);
  CHECK(all.samples == 12);
}

TEST_CASE("one microbatch feeds four") {
  const found all = look(chain(1, 2, 1, 8), 16);
  CHECK(all.pieces == 8);
  CHECK(all.samples == 16);
}

TEST_CASE("feeds that lose samples, as a batch that lies across parts makes them, are named before a step") {
  CHECK_THROWS_WITH_AS(look(chain(1, 2, 1, 4), 6), doctest::Contains("the feeds"), error);
  program lost = chain(2, 2, 1, 2);
  list<fed_cell> fewer;
  for (const fed_cell& each : lost.feeds)
    if (each.from == 0) fewer.push(each);
  lost.feeds = fewer;
  CHECK_THROWS_WITH_AS(look(lost, 8), doctest::Contains("the feeds take the rows of 0 to module 1"), error);
}
