// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/feed_seat.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Two stages of two replicas on the ranks 0 to 3, to one replica of two context and two tensor parts on the
// ranks 3 to 6.
feed_edge some_edge() {
  return {{mesh::from(0, {2, 2, 1, 1}), 1, 1, 2}, {mesh::from(3, {1, 1, 2, 2}), 0, 2, 1}, 8, 5};
}

std::vector<interval> runs(const feed_seat& seat, motet::index m, motet::index which, const sequences& all) {
  std::vector<motet::index> starts;
  seat.starts(m, all, starts);
  std::vector<interval> out;
  seat.each_run(seat.parcels()[static_cast<std::size_t>(seat.parcels_of(m).begin + which)], m, all, starts,
                [&](motet::index first, motet::index count) {
                  out.push_back({first, first + count});
                });
  return out;
}

}  // namespace

TEST_CASE("who sits where") {
  const feed_edge edge = some_edge();
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(feed_seat(edge, true, rank).seated() == (rank == 2 || rank == 3));  // the last stage alone
    CHECK(feed_seat(edge, false, rank).seated() == (rank >= 3 && rank < 7));  // rank 3 at both sides
  }
  CHECK(feed_seat(edge, true, 0).microbatches() == 0);
  CHECK(feed_seat(edge, true, 0).parcels().empty());
  const feed_seat own(edge, false, 6);
  CHECK(own.microbatches() == 2);
  CHECK(own.tensor_member() == 1);
  CHECK(own.columns(1).begin == 3);
  CHECK(own.columns(1).end == 5);
}

TEST_CASE("each message has one seat at either side, in its microbatch, and they know each other") {
  const feed_edge edge = some_edge();
  std::vector<int> sent(static_cast<std::size_t>(edge.messages.size())), received = sent;
  for (std::int32_t rank = 0; rank < 8; ++rank)
    for (const bool sender : {true, false}) {
      const feed_seat seat(edge, sender, rank);
      motet::index count = 0;
      for (motet::index m = 0; m < seat.microbatches(); ++m) {
        const interval samples = seat.samples_of(m), parcels = seat.parcels_of(m);
        count += parcels.size();
        for (motet::index p = parcels.begin; p < parcels.end; ++p) {
          const auto& it = seat.parcels()[static_cast<std::size_t>(p)];
          ++(sender ? sent : received)[static_cast<std::size_t>(it.number)];
          CHECK(it.what.samples.begin >= samples.begin);
          CHECK(it.what.samples.end <= samples.end);
          const feed_seat other(edge, !sender, it.peer);
          bool knows_me = false;
          for (const auto& theirs : other.parcels())
            knows_me = knows_me || (theirs.number == it.number && theirs.peer == rank);
          CHECK(knows_me);
        }
      }
      CHECK(count == static_cast<motet::index>(seat.parcels().size()));
    }
  for (const int times : sent) CHECK(times == 1);
  for (const int times : received) CHECK(times == 1);
}

TEST_CASE("rows of a message are as few runs as can be") {
  const feed_edge edge = some_edge();
  const motet::index offsets[] = {0, 4, 4, 7, 9, 12, 14, 15, 20};  // 4 0 3 2 3 2 1 5
  const sequences all{8, 1, offsets};
  const feed_seat source(edge, true, 2), target(edge, false, 3);
  CHECK(source.rows_of(0, all) == 4);
  CHECK(source.rows_of(1, all) == 5);
  CHECK(target.rows_of(0, all) == 2 + 0 + 2 + 1);
  CHECK(target.rows_of(1, all) == 2 + 1 + 1 + 3);
  // Of the sender's first samples, 4 and 0 rows, the upper context part has two rows; of 3 and 2 rows, 2 and
  // 1, with one between.
  CHECK(runs(source, 0, 0, all).size() == 1);
  const auto split = runs(source, 1, 0, all);
  REQUIRE(split.size() == 2);
  CHECK(split[0].begin == 0);
  CHECK(split[0].end == 2);
  CHECK(split[1].begin == 3);
  CHECK(split[1].end == 4);
  // The receiver has nothing between them.
  const auto whole = runs(target, 0, 1, all);
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].begin == 2);
  CHECK(whole[0].end == 5);
}

TEST_CASE("an edge between meshes that lack ranks or microbatches, or from a stage that is not there") {
  const feed_module good{mesh::from(0, {}), 0, 1, 1};
  CHECK_THROWS_WITH_AS(feed_edge(good, {mesh({1, 2, 1, 1}, {1}), 0, 1, 1}, 4, 4),
                       doctest::Contains("on 1 ranks where 2 are needed"), error);
  CHECK_THROWS_WITH_AS(feed_edge(good, {mesh::from(0, {}), 0, 1, 0}, 4, 4),
                       doctest::Contains("1 groups of 0 microbatches"), error);
  CHECK_THROWS_WITH_AS(feed_edge({mesh::from(0, {}), 1, 1, 1}, good, 4, 4), doctest::Contains("MT-R13"),
                       error);
  CHECK_THROWS_WITH_AS(feed_edge(good, {mesh::from(0, {1, 2, 1, 1}), 0, 1, 1, {1, 2, 3}}, 4, 4),
                       doctest::Contains("3 weights for 2 replicas"), error);
  CHECK_THROWS_WITH_AS(feed_edge(good, {mesh::from(0, {1, 2, 1, 1}), 0, 1, 1, {1, -2}}, 4, 4),
                       doctest::Contains("a replica of weight -2"), error);
}

TEST_CASE("replicas with weights have samples by them") {
  const feed_edge edge({mesh::from(0, {1, 2, 1, 1}), 0, 1, 2, {3, 1}}, {mesh::from(2, {1, 1, 1, 1}), 0, 1, 1},
                       16, 4);
  const feed_seat first(edge, true, 0), second(edge, true, 1), all(edge, false, 2);
  CHECK(first.samples_of(1).end == 12);
  CHECK(second.samples_of(0).begin == 12);
  CHECK(second.samples_of(1).size() == 2);
  CHECK(all.parcels().size() == 4);
}
