// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/fed_cell.hpp>

#include <doctest/doctest.h>

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
constexpr bool same(const cell_seat& a, const cell_seat& b) {
  return a.voice == b.voice && (a.voice < 0 || (a.stage == b.stage && a.microbatch == b.microbatch));
}
constexpr bool links_hold() {
  const list<voice> all = voices();
  const list<fed_cell> feeds = crossed();
  const cell_links links(all, feeds), alone(all);
  return links.has_feeds() && !alone.has_feeds() && same(links.next(0, 0, 1), {0, 1, 1}) &&
         same(links.next(0, 1, 0), {1, 0, 1}) && same(links.previous(1, 0, 0), {0, 1, 1}) &&
         same(links.previous(1, 2, 0), {1, 1, 0}) && !links.next(1, 2, 0).there() &&
         !links.previous(0, 0, 0).there() && !alone.next(0, 1, 0).there() &&
         same(links.target(2, 1, 0, 0), {0, 1, 1}) && same(links.source(0, 1, 0, 0), {0, 1, 1}) &&
         links.cell({1, 2, 1}) == 4 + 2 * 2 + 1;
}
static_assert(links_hold());

}  // namespace

TEST_CASE("no gradient comes from, or goes to, who does not go backward") {
  const list<voice> all = voices();
  list<fed_cell> feeds;
  for (std::int32_t m = 0; m < 2; ++m) feeds.push({1, m, 2, m});
  const cell_links links(all, feeds);
  CHECK(same(links.next(1, 2, 0), {2, 0, 0}));
  CHECK(!links.gradient_from(1, 2, 0).there());
  CHECK(same(links.gradient_to(2, 0, 1), {1, 2, 1}));
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
  CHECK(refused({{0, 0, 1, 0}}));                      // half of the microbatches
  CHECK(refused({{0, 0, 1, 0}, {0, 0, 1, 1}}));        // one feeds two
  CHECK(refused({{0, 0, 1, 0}, {0, 1, 1, 0}}));        // one is fed by two
  CHECK(refused({{0, 0, 0, 0}, {0, 1, 0, 1}}));        // itself
  CHECK(refused({{0, 0, 3, 0}, {0, 1, 3, 1}}));        // nobody
  CHECK(refused({{0, 0, 1, 2}, {0, 1, 1, 1}}));        // a microbatch that is not there
  CHECK(refused({{-1, 0, 1, 0}, {0, 1, 1, 1}}));       //
  CHECK(refused({{0, 0, 2, 0}, {0, 1, 2, 1}}));        // who gives no gradient back
  CHECK_FALSE(refused({{1, 0, 2, 0}, {1, 1, 2, 1}}));  // and does not have to
}
