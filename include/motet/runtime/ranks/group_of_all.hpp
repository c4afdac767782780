// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/ranks/meeting_members.hpp>
#include <motet/runtime/ranks/score_sheets.hpp>
#include <motet/schedule/check/explain.hpp>

#include <map>
#include <numeric>

namespace motet {

// Throws unless each rank takes the messages of another in the order in which that one sends them: so they
// need not be told apart.
inline void require_in_order(const score_sheet& sheet) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> last;
  for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i) {
    const instruction& it = sheet.of.instructions[i];
    if (!is_receive(it.what)) continue;
    const auto [at, is_first] = last.try_emplace({it.peer, sheet.of.rank_of(i)}, sheet.tags[i]);
    if (!is_first && sheet.tags[i] < at->second)
      fail(
          program_does_not_fit,
          sentence(
              {locate(sheet.of, i), " wants a message that rank ", it.peer,
               " sends before one that was wanted earlier; this transport matches messages by their order"}));
    at->second = sheet.tags[i];
  }
}

// A world may match messages by their order instead of by their numbers.
template <class World>
concept orders_messages = std::is_constructible_v<World, std::int32_t, std::span<const message_ends>,
                                                  std::span<const std::vector<std::int32_t>>>;

// A world by the program that its ranks run; one that orders messages wants to know their ends.
template <class World>
World make_world(const score_sheet& sheet, const meeting_members& members) {
  if constexpr (orders_messages<World>) {
    require_in_order(sheet);
    std::vector<message_ends> ends(as_size(sheet.messages));
    for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i)
      if (is_send(sheet.of.instructions[i].what))
        ends[as_size(sheet.tags[i])] = {sheet.of.rank_of(i), sheet.of.instructions[i].peer};
    return World(sheet.of.ranks(), ends, members.all());
  } else {
    return World(sheet.of.ranks(), sheet.messages, members.all());
  }
}

// A world for all scores that its ranks take turns in; one that orders messages knows one score.
template <class World>
World make_world(const score_sheets& all, const meeting_members& members) {
  if (all.size() == 1) return make_world<World>(all[0], members);
  if constexpr (orders_messages<World>)
    fail(scores_stay, sentence({all.size(), " scores, and messages that are matched by their order"}));
  else return World(all[0].of.ranks(), all.messages(), members.all());
}

// All ranks of a world as a group for words of the host: what they tell each other outside of a program. A
// world whose groups work on other memory has a meeting for that.
template <class World, class Endpoint>
class group_of_all {
 public:
  group_of_all(World& world, Endpoint& end)
      : groups_(world, everyone(world.ranks())), all_(groups_, 0, end) {}
  auto& group() { return all_; }

 private:
  static std::vector<std::vector<std::int32_t>> everyone(std::int32_t ranks) {
    std::vector<std::vector<std::int32_t>> all(1, std::vector<std::int32_t>(as_size(ranks)));
    std::iota(all[0].begin(), all[0].end(), 0);
    return all;
  }
  typename World::group_set groups_;
  typename World::group all_;
};

template <class World, class Endpoint>
  requires requires { typename World::meeting; }
class group_of_all<World, Endpoint> {
 public:
  group_of_all(World& world, Endpoint&) : all_(world.everyone()) {}
  auto& group() { return all_; }

 private:
  typename World::meeting all_;
};

// body(group), before there is a world of a program: in one of its own, so that whoever leaves first with an
// error disturbs nobody.
template <class World, class Endpoint, class Body>
void all_ranks_meet(Body&& body) {
  if constexpr (requires { typename World::meeting; }) {
    typename World::meeting all(World::everyone());
    body(all);
  } else {
    World hall(World::size_of(), 0, {});
    Endpoint end(hall, hall.rank());
    group_of_all<World, Endpoint> all(hall, end);
    body(all.group());
  }
}

}  // namespace motet
