// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/lists.hpp>
#include <motet/schedule/check/play.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

#include <algorithm>

using namespace motet;

namespace {

// Notes what is performed together, and lets chosen instructions share a link, each at its own time.
struct notes {
  std::vector<std::vector<std::int32_t>> performed;
  std::map<std::int32_t, double> wanted;
  bool shares(std::int32_t i) const { return wanted.count(i) != 0; }
  double earliest(std::int32_t i) const { return wanted.count(i) != 0 ? wanted.at(i) : 0; }
  void perform(const std::int32_t* all, std::int32_t count) { performed.emplace_back(all, all + count); }
};

struct played {
  bool whole;
  notes seen;
  list<stuck_lane> stuck;
};
played play(const program& of, delivery how, std::map<std::int32_t, double> wanted = {}) {
  program_graph graph;
  REQUIRE(build_graph(of, how, graph).ok());
  notes clock{{}, std::move(wanted)};
  program_player<notes> player(of, graph, clock);
  const bool whole = player.run();
  for (std::int32_t i = 0; whole && i < of.instructions.size(); ++i) CHECK(player.done(i));
  return {whole, clock, player.stuck()};
}

}  // namespace

TEST_CASE("every instruction is performed once, behind all that it waits for") {
  laws::dice draw(3);
  for (int k = 0; k < 40; ++k) {
    const program of = compile(k % 2 == 0 ? laws::overlapped::write({draw.between(1, 4), draw.between(1, 5)})
                                          : one_f_one_b::write({draw.between(1, 4), draw.between(1, 5)}));
    for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
      program_graph graph;
      REQUIRE(build_graph(of, how, graph).ok());
      const played found = play(of, how);
      CHECK(found.whole);
      CHECK(found.stuck.empty());
      std::vector<bool> done(static_cast<std::size_t>(of.instructions.size()));
      isize count = 0;
      for (const auto& together : found.seen.performed) {
        for (const std::int32_t i : together)
          for (const std::int32_t each : graph.waits_of(i))
            CHECK((each < 0 || done[static_cast<std::size_t>(each)]));
        for (const std::int32_t i : together) {
          CHECK_FALSE(done[static_cast<std::size_t>(i)]);
          done[static_cast<std::size_t>(i)] = true;
          ++count;
        }
        // Members of one meeting, or a pair, or one alone.
        if (together.size() < 2) continue;
        const std::int32_t meeting = graph.meetings[together[0]];
        for (const std::int32_t i : together) CHECK(graph.meetings[i] == meeting);
        if (meeting < 0) CHECK(of.instructions[together[0]].paired);
      }
      CHECK(count == of.instructions.size());
    }
  }
}

TEST_CASE("a rendezvous takes place when both are there, a buffered send at once") {
  const program of =
      compile(laws::written(laws::a_voice(2, 1), {"F0 B0", "F0 B0"}), {messages::in_channels, false});
  // Rank 0: forward, send, receive, backward (0 to 3); rank 1: receive, forward, backward, send (4 to 7).
  using order = std::vector<std::vector<std::int32_t>>;
  const auto sorted = [](order all) {
    for (auto& each : all) std::sort(each.begin(), each.end());
    return all;
  };
  CHECK(sorted(play(of, delivery::rendezvous).seen.performed) == order{{0}, {1, 4}, {5}, {6}, {2, 7}, {3}});
  CHECK(sorted(play(of, delivery::buffered).seen.performed) == order{{0}, {1}, {4}, {5}, {6}, {7}, {2}, {3}});
}

TEST_CASE("a shared link is given in the order of time, and of lanes when times are equal") {
  // Three ranks send to a fourth each.
  program of;
  for (int k = 0; k < 3; ++k) {
    voice each = laws::a_voice(2, 1);
    each.module = k;
    each.learns = false;
    each.first_place = each.first_cell = 2 * k;
    of.voices.push(each);
    of.places.push(k);
    of.places.push(3);
    of.instructions.push({op::forward, lane::compute, false, 0, k, 0, 0});
    of.instructions.push({op::send_forward, lane::first_channel, false, 0, k, 0, 0, 3});
    of.starts.push(2 * (k + 1));
  }
  for (int k = 0; k < 3; ++k)
    of.instructions.push({op::receive_forward, static_cast<std::uint8_t>(4 + k), false, 0, k, 1, 0, k});
  for (int k = 0; k < 3; ++k) of.instructions.push({op::forward, lane::compute, false, 0, k, 1, 0});
  of.starts.push(12);
  of.slots.resize(6, 0);
  const auto sends = [&](std::map<std::int32_t, double> times, delivery how) {
    // Of a rendezvous, both ends share the link.
    if (how == delivery::rendezvous)
      for (int k = 0; k < 3; ++k) times[6 + k] = times[1 + 2 * k];
    std::vector<std::int32_t> order;
    for (const auto& together : play(of, how, times).seen.performed)
      for (const std::int32_t i : together)
        if (is_send(of.instructions[i].what)) order.push_back(i);
    return order;
  };
  using order = std::vector<std::int32_t>;
  for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
    CHECK(sends({{1, 2}, {3, 1}, {5, 3}}, how) == order{3, 1, 5});
    CHECK(sends({{1, 3}, {3, 2}, {5, 1}}, how) == order{5, 3, 1});
    CHECK(sends({{1, 2}, {3, 2}, {5, 2}}, how) == order{1, 3, 5});
    CHECK(sends({{1, 2}, {3, 2}, {5, 1}}, how) == order{5, 1, 3});
  }
}

TEST_CASE("who is stuck, and for what") {
  // Both ranks of a pair would send before they receive, in their only lane.
  const program of = compile(one_f_one_b::write({2, 2}), {messages::in_compute, false});
  CHECK(play(of, delivery::buffered).whole);
  const played found = play(of, delivery::rendezvous);
  CHECK_FALSE(found.whole);
  REQUIRE(found.stuck.size() == 2);
  // Rank 0: F0 send F1 send! ...; rank 1: receive F0 B0 send! ...
  CHECK(found.stuck[0].at == 3);
  CHECK(of.instructions[3].what == op::send_forward);
  CHECK(found.stuck[0].waits_for == -1);
  CHECK(of.instructions[found.stuck[1].at].what == op::send_backward);
}
