// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/local/local.hpp>
#include <motet/runtime/feeds/feed_receiver.hpp>

#include <doctest/doctest.h>
#include <sites.hpp>

using namespace motet;

namespace {

// Both ends of a feed in one thread: rank 0 sends, rank 1 receives, or one rank does both.
struct pair_of_ends {
  pair_of_ends(const feed_edge& edge, const sequences& all, motet::index slots, std::int32_t receiver_rank)
      : world(2, edge.tags(), {}),
        ends{{world, 0}, {world, 1}},
        out(edge, true, 0),
        in(edge, false, receiver_rank),
        nothing(edge, true, 1),
        sender(out, ends[0], 0),
        silent(nothing, ends[1], 0),
        receiver(in, ends[receiver_rank], 0, {}, receiver_rank == 0 ? sender : silent) {
    sender.prepare(host.ctx, all, slots);
    receiver.prepare(host.ctx, all, slots);
    begin(all);
  }
  void begin(const sequences& all) {
    for (local::endpoint& each : ends) each.begin_step();
    sender.begin_step(all);
    receiver.begin_step(all);
  }
  laws::host_site host;
  local::world world;
  local::endpoint ends[2];
  feed_seat out, in, nothing;
  feed_sender<float, local::endpoint, cpu::context> sender, silent;
  feed_receiver<float, local::endpoint, cpu::context> receiver;
};
matrix<float> column(std::vector<float>& of) {
  return {of.data(), static_cast<motet::index>(of.size()), 1, 1};
}

}  // namespace

TEST_CASE("a microbatch is there when all its messages are") {
  const sequences all{4, 1, nullptr};
  for (const std::int32_t rank : {0, 1}) {
    const feed_edge edge({mesh::from(0, {}), 0, 1, 4}, {mesh::from(rank, {}), 0, 1, 2}, 4, 1);
    pair_of_ends both(edge, all, 1, rank);
    for (int step = 0; step < 2; ++step) {
      if (step > 0) both.begin(all);
      std::vector<float> rows{1, 2, 3, 4}, first(2, -1.0f), second(2, -1.0f);
      const auto send = [&](motet::index m) { return both.sender.send(m, {rows.data() + m, 1, 1, 1}); };
      CHECK_FALSE(both.receiver.receive(0, column(first)));
      CHECK(send(0));
      CHECK_FALSE(send(1));  // one slot, and nobody took it
      CHECK_FALSE(both.receiver.receive(0, column(first)));
      CHECK(send(1));
      CHECK(both.receiver.receive(0, column(first)));
      CHECK(both.receiver.receive(0, column(first)));  // asked again, it stays there
      CHECK(send(2));
      CHECK_FALSE(both.receiver.receive(1, column(second)));  // the slot is not free before the gather
      both.receiver.gather(0, column(first));
      CHECK_FALSE(both.receiver.receive(1, column(second)));
      CHECK(send(3));
      CHECK(both.receiver.receive(1, column(second)));
      both.receiver.gather(1, column(second));
      CHECK(first == std::vector<float>{1, 2});
      CHECK(second == std::vector<float>{3, 4});
    }
    CHECK(both.sender.bytes_sent() == (rank == 0 ? 0 : 32));
  }
}

TEST_CASE("calls that do not fit") {
  const sequences all{2, 1, nullptr};
  const feed_edge edge({mesh::from(0, {}), 0, 1, 1}, {mesh::from(1, {}), 0, 1, 1}, 2, 1);
  pair_of_ends both(edge, all, 1, 1);
  std::vector<float> rows(2), three(3);
  CHECK_THROWS_WITH_AS(both.receiver.gather(0, column(rows)), doctest::Contains("was not received"), error);
  CHECK_THROWS_WITH_AS(both.receiver.receive(0, column(three)),
                       doctest::Contains("given as 3 x 1, not 2 x 1"), error);
  CHECK_THROWS_WITH_AS(both.receiver.receive(1, column(rows)), doctest::Contains("MT-R13"), error);
  // A rank that is one of two in its tensor group has to know the other.
  const feed_edge cut({mesh::from(0, {}), 0, 1, 1}, {mesh::from(0, {1, 1, 1, 2}), 0, 1, 1}, 2, 4);
  const feed_seat seat(cut, false, 1);
  using receiver = feed_receiver<float, local::endpoint, cpu::context>;
  CHECK_THROWS_WITH_AS(receiver(seat, both.ends[1], 0, {}, both.silent),
                       doctest::Contains("tensor member 1 of 2"), error);
  CHECK_THROWS_WITH_AS(receiver(seat, both.ends[1], 0, any_group(2, 0), both.silent),
                       doctest::Contains("member 0 of 2"), error);
}
