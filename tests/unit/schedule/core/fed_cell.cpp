// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/fed_cell.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

// Two stages, three and one, one behind the other in cells; the last one is frozen.
constexpr list<voice> voices() {
  list<voice> all;
  std::int32_t cells = 0;
  for (const int stages : {2, 3, 1}) {
    voice made;
    made.stages = stages;
    made.microbatches = 2;
    made.first_cell = cells;
    made.join = all.empty() ? -1 : 0;
    made.learns = all.size() < 2;
    cells += 2 * stages;
    all.push(made);
  }
  return all;
}
constexpr list<fed_cell> crossed() {
  list<fed_cell> all;
  all.push({0, 0, 1, 1});
  all.push({0, 1, 1, 0});
  return all;
}
// The only one at the other end; no voice: none, or several.
constexpr cell_seat only(const cell_links& links, bool next, std::int32_t v, std::int32_t stage,
                         std::int32_t m) {
  cell_seat found;
  int count = 0;
  const auto look = [&](const cell_seat& at, int, int) {
    found = at;
    ++count;
  };
  if (next) links.each_next(v, stage, m, look);
  else links.each_previous(v, stage, m, look);
  return count == 1 ? found : cell_seat{};
}
constexpr bool links_hold() {
  const list<voice> all = voices();
  const list<fed_cell> feeds = crossed();
  const cell_links links(all, feeds), alone(all);
  return links.has_feeds() && !alone.has_feeds() && only(links, true, 0, 0, 1) == cell_seat{0, 1, 1} &&
         only(links, true, 0, 1, 0) == cell_seat{1, 0, 1} &&
         only(links, false, 1, 0, 0) == cell_seat{0, 1, 1} &&
         only(links, false, 1, 2, 0) == cell_seat{1, 1, 0} && only(links, true, 1, 2, 0).voice < 0 &&
         only(links, false, 0, 0, 0).voice < 0 && only(alone, true, 0, 1, 0).voice < 0 &&
         links.other_end(true, 2, 1, 0, 0, 0).at == cell_seat{0, 1, 1} &&
         links.other_end(false, 0, 1, 0, 0, 0).at == cell_seat{0, 1, 1} &&
         !links.other_end(true, 2, 1, 0, 0, 1).there() && links.cell({1, 2, 1}) == 4 + 2 * 2 + 1;
}
static_assert(links_hold());

}  // namespace

TEST_CASE("no gradient comes from, or goes to, who does not go backward") {
  const list<voice> all = voices();
  list<fed_cell> feeds;
  for (std::int32_t m = 0; m < 2; ++m) feeds.push({1, m, 2, m});
  const cell_links links(all, feeds);
  CHECK(only(links, true, 1, 2, 0) == cell_seat{2, 0, 0});
  CHECK_FALSE(links.has_source(2, 1, 2, 0));
  CHECK(links.has_source(0, 2, 0, 0));
  CHECK(links.other_end(true, 2, 2, 0, 1, 0).at == cell_seat{1, 2, 1});
}

TEST_CASE("each part of a microbatch's rows has a message of its own, which both ends number alike") {
  const list<voice> all = voices();
  list<fed_cell> feeds;  // both microbatches of one feed both of the other
  for (std::int32_t m = 0; m < 2; ++m)
    for (std::int32_t n = 0; n < 2; ++n) feeds.push({0, m, 1, n});
  REQUIRE(find_misfed(all, feeds).ok());
  const cell_links links(all, feeds);
  const std::int32_t cells = 4 + 6 + 2;
  std::vector<int> forward(static_cast<std::size_t>(links.messages(cells)), 0), back = forward;
  for (std::int32_t m = 0; m < 2; ++m) {
    int parts = 0;
    links.each_next(0, 1, m, [&](const cell_seat& at, int part, int theirs) {
      CHECK(part == parts++);
      CHECK(at.microbatch == part);
      CHECK(theirs == m);
      const linked_cell back_here = links.other_end(false, 0, at.voice, at.stage, at.microbatch, theirs);
      CHECK(back_here.at == cell_seat{0, 1, m});
      CHECK(back_here.part == part);
      ++forward[static_cast<std::size_t>(links.message(cells, 0, 1, 0, at.microbatch, theirs))];
      ++back[static_cast<std::size_t>(links.message(cells, 2, 0, 1, m, part))];
    });
    CHECK(parts == 2);
  }
  for (const auto& counts : {forward, back}) {
    int all_of_them = 0;
    for (const int each : counts) {
      CHECK(each <= 1);
      all_of_them += each;
    }
    CHECK(all_of_them == 4);
  }
}

TEST_CASE("feeds that do not fit are found") {
  const list<voice> all = voices();
  CHECK(find_misfed(all, crossed()).ok());
  CHECK(find_misfed(all, {}).ok());
  const auto refused = [&](std::initializer_list<fed_cell> feeds) {
    list<fed_cell> given;
    for (const fed_cell& each : feeds) given.push(each);
    return !find_misfed(all, given).ok();
  };
  CHECK(refused({{0, 0, 1, 0}}));                              // half of the microbatches
  CHECK(refused({{0, 0, 1, 0}, {0, 0, 1, 1}}));                // one feeds two, the other none
  CHECK(refused({{0, 0, 1, 0}, {0, 1, 1, 0}}));                // one is fed by two, the other by none
  CHECK(refused({{0, 0, 1, 0}, {0, 1, 1, 1}, {0, 0, 1, 0}}));  // twice the same
  CHECK_FALSE(refused({{0, 0, 1, 0}, {0, 0, 1, 1}, {0, 1, 1, 1}}));
  CHECK_FALSE(refused({{0, 0, 1, 1}, {0, 0, 1, 0}, {0, 1, 1, 1}}));          // in any order
  CHECK(refused({{0, 0, 1, 1}, {0, 0, 1, 0}, {0, 1, 1, 1}, {0, 0, 1, 1}}));  // and twice the same
  CHECK(refused({{0, 0, 0, 0}, {0, 1, 0, 1}}));                              // itself
  CHECK(refused({{0, 0, 3, 0}, {0, 1, 3, 1}}));                              // nobody
  CHECK(refused({{0, 0, 1, 2}, {0, 1, 1, 1}}));                              // a microbatch that is not there
  CHECK(refused({{-1, 0, 1, 0}, {0, 1, 1, 1}}));                             //
  CHECK(refused({{0, 0, 2, 0}, {0, 1, 2, 1}}));                              // who gives no gradient back
  CHECK_FALSE(refused({{1, 0, 2, 0}, {1, 1, 2, 1}}));                        // and does not have to
}
