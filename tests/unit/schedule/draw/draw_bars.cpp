// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_bars.hpp>

#include "unit/schedule/drawn_programs.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace motet;
using namespace motet::detail;

TEST_CASE("bars are the instructions that take time") {
  const drawn_program p = played_with_wires(one_f_one_b::write({4, 8}));
  rank_bars bars(p.program, p.when);
  isize drawn = 0, wanted = 0;
  for (isize i = 0; i < p.program.instructions.size(); ++i) wanted += p.when.finish[i] > p.when.start[i];
  for (std::int32_t r = 0; r < 4; ++r) {
    bars.read(r);
    CHECK(bars.lane(lane::compute).size() == 16);
    CHECK(bars.busy() == doctest::Approx(24));
    for (int l = 0; l < bars.lanes(); ++l) {
      for (const bar& each : bars.lane(l)) {
        CHECK(each.count == 1);
        CHECK(p.program.rank_of(each.first) == r);
        CHECK(p.program.instructions[each.first].lane == l);
        CHECK(each.start == p.when.start[each.first]);
        CHECK(each.finish == p.when.finish[each.first]);
        ++drawn;
      }
    }
  }
  CHECK(drawn == wanted);
}

TEST_CASE("what overlaps is one bar") {
  const drawn_program p = played(shared_rank_score());
  rank_bars bars(p.program, p.when);
  bars.read(0);
  REQUIRE(bars.lane(0).size() == 7);
  const bar& both = bars.lane(0)[3];
  CHECK(both.count == 2);
  CHECK(both.finish - both.start == 3);
  CHECK(bars.busy() == 1 + 1 + 1 + 3 + 2 + 2 + 2);
}

TEST_CASE("idle shares and the span") {
  const drawn_program p = played(one_f_one_b::write({4, 8}));
  rank_bars bars(p.program, p.when);
  const time_span span = span_of(p.when);
  CHECK(span.low == 0);
  CHECK(span.high == 33);
  bars.read(1);
  CHECK(idle_share(bars, span) == doctest::Approx(9.0 / 33));
  CHECK(idle_share(bars, {0, 0}) == 0);
  CHECK(idle_share(bars, {0, 1}) == 0);
  timeline odd = p.when;
  odd.start[2] = -4;
  odd.finish[2] = std::numeric_limits<double>::infinity();
  odd.finish[4] = 40;
  odd.start[5] = -2;
  odd.makespan = std::numeric_limits<double>::quiet_NaN();
  CHECK(span_of(odd).low == -2);
  CHECK(span_of(odd).high == 40);
  CHECK(span_of(timeline{}).length() == 0);
}

TEST_CASE("times that are none are left out") {
  timeline when;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const double cases[][2] = {{0, 1},   {1, 1},   {2, 1},    {nan, 1},
                             {0, nan}, {0, inf}, {-inf, 0}, {-1e305, 1e305}};
  for (const auto& each : cases) {
    when.start.push(each[0]);
    when.finish.push(each[1]);
  }
  when.start.push(0);  // no finish
  for (isize i = 0; i < 9; ++i) CHECK(has_times(when, i) == (i < 2));
  CHECK_FALSE(has_times(when, 100));
}

namespace {
std::string shown(const list<bar>& lane, double width, isize columns) {
  list<std::int32_t> found;
  share_columns(
      lane, 0, width, columns, 26, [](const bar& of) { return isize{of.first}; }, found);
  std::string text;
  for (const std::int32_t each : found) text += each < 0 ? '.' : static_cast<char>('a' + lane[each].first);
  return text;
}
}  // namespace

TEST_CASE("columns that fit show bars as they are") {
  const list<bar> lane = {{0, 1, 0, 1}, {1, 1, 1, 3}, {0, 1, 4, 5}};
  CHECK(shown(lane, 1, 6) == "abb.a.");
  CHECK(shown(lane, 0.5, 12) == "aabbbb..aa..");
  CHECK(shown({}, 1, 3) == "...");
  // Rounding in the last digit makes no column of its own.
  list<bar> thirds;
  for (int i = 0; i < 30; ++i) thirds.push({i % 3, 1, i * 0.1, (i + 1) * 0.1});
  std::string wanted;
  for (int i = 0; i < 30; ++i) wanted += static_cast<char>('a' + i % 3);
  CHECK(shown(thirds, 0.1, 30) == wanted);
}

TEST_CASE("bars narrower than a column keep their share") {
  list<bar> lane;
  for (int i = 0; i < 3000; ++i)
    lane.push({i % 3 == 0 ? 0 : 1, 1, 1.0 * i, 1.0 * i + (i % 3 == 2 ? 0.4 : 1)});
  const std::string text = shown(lane, 7.3, 411);
  std::map<char, double> counts;
  for (const char c : text) ++counts[c];
  CHECK(counts['a'] == doctest::Approx(3000 / 3 / 7.3).epsilon(0.02));
  CHECK(counts['b'] == doctest::Approx(3000 / 3 * 1.4 / 7.3).epsilon(0.02));
  // The picture is never two columns off anywhere.
  double owed = 0;
  for (std::size_t c = 0; c < 410; ++c) {
    owed += 7.3 / 3 - (text[c] == 'a' ? 7.3 : 0);
    CHECK(std::abs(owed) < 2 * 7.3);
  }
}
