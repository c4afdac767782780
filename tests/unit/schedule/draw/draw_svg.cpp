// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_svg.hpp>

#include <motet/schedule/draw/draw_text.hpp>

#include "unit/schedule/drawn_programs.hpp"
#include "unit/schedule/xml_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <locale>

using namespace motet;

namespace {

// A drawing read back: its bars in places of the whole picture.
struct read_picture {
  struct box {
    double x = 0, y = 0, width = 0, height = 0;
    std::string hover, kind;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
  };
  double width = 0, height = 0;
  std::vector<box> bars;
  std::vector<box> backs;  // of rows
  std::vector<xml_element> all;

  explicit read_picture(const std::string& svg) : all(xml_reader(svg).elements) {
    REQUIRE(all[0].name == "svg");
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    width = all[0].number("width");
    height = all[0].number("height");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const xml_element& each = all[i];
      if (each.name != "rect" || each.parent < 1) continue;
      box found{each.number("x"),
                each.number("y") + down(each),
                each.number("width"),
                each.number("height"),
                "",
                ""};
      if (each.attributes.count("class") != 0) {
        found.kind = each.at("class");
        REQUIRE(i + 1 < all.size());
        REQUIRE(all[i + 1].name == "title");
        REQUIRE(all[i + 1].parent == static_cast<int>(i));
        found.hover = all[i + 1].text;
        bars.push_back(found);
      } else if (all[static_cast<std::size_t>(each.parent)].attributes.count("fill") != 0) {
        backs.push_back(found);
      }
    }
  }
  // The y of all groups around an element.
  double down(const xml_element& of) const {
    double sum = 0;
    for (int up = of.parent; up > 0; up = all[static_cast<std::size_t>(up)].parent) {
      const auto found = all[static_cast<std::size_t>(up)].attributes.find("transform");
      double x = 0, y = 0;
      if (found != all[static_cast<std::size_t>(up)].attributes.end() &&
          std::sscanf(found->second.c_str(), "translate(%lf %lf)", &x, &y) == 2)
        sum += y;
    }
    return sum;
  }
  std::string words() const {
    std::string out;
    for (const xml_element& each : all)
      if (each.name == "text") out += each.text + "\n";
    return out;
  }
  bool says(const std::string& what) const { return words().find(what) != std::string::npos; }

  void check_places() const {
    for (const box& each : bars) {
      CHECK(each.x >= backs[0].x - 1e-9);
      CHECK(each.right() <= backs[0].right() + 0.011);
      CHECK(each.y >= 0);
      CHECK(each.bottom() <= height);
      CHECK(each.height > 0);
    }
    for (const xml_element& each : all) {
      if (each.name != "text") continue;
      CHECK(each.number("x") >= 0);
      CHECK(each.number("x") <= width);
      CHECK(each.number("y") + down(each) <= height);
    }
    std::vector<box> sorted = bars;
    std::sort(sorted.begin(), sorted.end(), [](const box& l, const box& r) { return l.x < r.x; });
    std::size_t overlaps = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i)
      for (std::size_t k = i + 1; k < sorted.size() && sorted[k].x < sorted[i].right() - 1e-6; ++k)
        overlaps += sorted[k].y < sorted[i].bottom() - 0.02 && sorted[i].y < sorted[k].bottom() - 0.02;
    CHECK(overlaps == 0);
  }
};

isize timed(const drawn_program& p) {
  isize count = 0;
  for (isize i = 0; i < p.when.start.size(); ++i) count += p.when.finish[i] > p.when.start[i];
  return count;
}

}  // namespace

TEST_CASE("every bar lies where the timeline says, and nothing else is drawn") {
  for (const auto& p : {played(one_f_one_b::write({4, 8})), played(zb_h2::write({4, 8})),
                        played(interleaved::write({4, 8, 2})), played(batch_sync::write(two_towers()), 1),
                        played_with_wires(batch_sync::write(two_towers(-1, 1))),
                        played_with_wires(one_f_one_b::write({3, 5}), delivery::rendezvous)}) {
    const read_picture found(draw_svg(p.program, p.when));
    found.check_places();
    CHECK(static_cast<isize>(found.bars.size()) == timed(p));
    REQUIRE(static_cast<std::int32_t>(found.backs.size()) == p.program.ranks());
    const double left = found.backs[0].x, scale = found.backs[0].width / p.when.makespan;
    std::vector<double> starts, drawn;
    for (isize i = 0; i < p.when.start.size(); ++i) {
      if (p.when.finish[i] <= p.when.start[i]) continue;
      starts.push_back(left + p.when.start[i] * scale);
      starts.push_back(left + p.when.finish[i] * scale);
    }
    for (const auto& each : found.bars) {
      drawn.push_back(each.x);
      drawn.push_back(each.right());
    }
    std::sort(starts.begin(), starts.end());
    std::sort(drawn.begin(), drawn.end());
    for (std::size_t i = 0; i < starts.size(); ++i)
      CHECK(drawn[i] == doctest::Approx(starts[i]).epsilon(1e-9).scale(1e7));
    // Rank by rank: the computations on the row's background are those of the rank.
    for (std::int32_t r = 0; r < p.program.ranks(); ++r) {
      isize wanted = 0, there = 0;
      for (std::int32_t i = p.program.starts[r]; i < p.program.starts[r + 1]; ++i)
        wanted += p.program.instructions[i].lane == lane::compute && p.when.finish[i] > p.when.start[i];
      const auto& row = found.backs[static_cast<std::size_t>(r)];
      for (const auto& each : found.bars)
        there += each.y >= row.y - 1e-9 && each.bottom() <= row.bottom() + 1e-9;
      CHECK(there == wanted);
    }
  }
}

TEST_CASE("hover texts name what a bar is") {
  drawn_program p = played_with_wires(batch_sync::write(two_towers()));
  p.program.voices[0].name = "picture";
  const read_picture found(draw_svg(p.program, p.when, {.unit = "ms"}));
  std::vector<std::string> all;
  for (const auto& each : found.bars) all.push_back(each.hover);
  const auto has = [&](const char* text) { return std::count(all.begin(), all.end(), text) == 1; };
  CHECK(has("f1: forward only, picture, stage 0, microbatch 1, 0 to 1 ms"));
  CHECK(has("F3: forward, picture, stage 0, microbatch 3, 2 to 3 ms"));
  CHECK(has("S1: join 0, group 1, 8.05 to 9.05 ms") == false);  // on two ranks
  CHECK(std::count(all.begin(), all.end(), "S1: join 0, group 1, 8.05 to 9.05 ms") == 2);
  CHECK(has(">3: send rows, picture, stage 0, microbatch 3, to rank 1, 3 to 3.25 ms"));
  const read_picture from_zero(draw_svg(p.program, p.when, {.first = 0}));
  CHECK(from_zero.bars[0].hover == "f0: forward only, picture, stage 0, microbatch 0, 0 to 1");
}

TEST_CASE("title, bubble, axis, legend and idle shares") {
  const drawn_program p = played(one_f_one_b::write({4, 8}));
  const read_picture found(draw_svg(p.program, p.when, {.title = "1F1B & <co>", .unit = "s"}));
  CHECK(found.says("1F1B & <co>\n"));
  CHECK(found.says("makespan 33 s, bubble 27.3 %"));
  for (const char* tick : {"\n0\n", "\n5\n", "\n30\n"}) CHECK(found.says(tick));
  CHECK_FALSE(found.says("\n35\n"));
  for (const char* word :
       {"\nforward\n", "\nbackward\n", "\nrank 0\n", "\nrank 3\n", "\nF8\n", "\nB1\n", "\nidle\n"})
    CHECK(found.says(word));
  CHECK_FALSE(found.says("\nrows\n"));  // no message takes time
  CHECK_FALSE(found.says("\njoin\n"));
  const std::string words = found.words();
  std::size_t shares = 0;
  for (std::size_t at = words.find("\n27.3 %\n"); at != std::string::npos;
       at = words.find("\n27.3 %\n", at + 1))
    ++shares;
  CHECK(shares == 4);
}

TEST_CASE("what overlaps shares the height of its row") {
  const drawn_program p = played(shared_rank_score());
  const read_picture found(draw_svg(p.program, p.when));
  found.check_places();
  CHECK(static_cast<isize>(found.bars.size()) == timed(p));
  isize halves = 0;
  for (const auto& each : found.bars) halves += std::abs(each.height - found.backs[0].height / 2) < 0.01;
  CHECK(halves == 2);
  CHECK(found.says("\nbF2\n"));
}

TEST_CASE("lanes beside the computation lie below it, messages below these") {
  batch_sync::shape shape = two_towers(-1, 3);
  shape.towers[0].group = 4;
  const drawn_program p = played_with_wires(batch_sync::write(shape), delivery::rendezvous, 9);
  const read_picture found(draw_svg(p.program, p.when));
  found.check_places();
  CHECK(static_cast<isize>(found.bars.size()) == timed(p));
  double lowest = 0, highest = 1e9;
  for (const auto& each : found.bars) {
    if (each.y < found.backs[3].y || each.y >= found.backs[4].y) continue;
    if (each.hover.starts_with("S")) {
      CHECK(each.y >= found.backs[3].bottom() - 1e-9);
      lowest = std::max(lowest, each.bottom());
    } else if (each.hover.find("gradients") != std::string::npos) {
      highest = std::min(highest, each.y);
    }
  }
  CHECK(lowest > 0);
  CHECK(highest >= lowest - 0.011);
}

TEST_CASE("names and numbers may be odd") {
  const drawn_program p = odd_program();
  svg_style style{.title = "a\x02 <&\">\xff", .unit = "\"<"};
  const read_picture found(draw_svg(p.program, p.when, style));
  found.check_places();
  CHECK(found.says("<&\"'\\"));
  CHECK(found.says("caf\xc3\xa9 \xe6\x96\x87???"));
  CHECK(found.says("a? <&\">?\n"));
  read_picture(draw_overlay_svg(p.program, p.when, p.when, style)).check_places();
  for (const double size : {1e-300, 1.0, 1e9, -5.0}) {
    style.width = style.height = style.run_times = size;
    read_picture(draw_svg(p.program, p.when, style));
    read_picture(draw_overlay_svg(p.program, p.when, p.when, style));
  }
}

TEST_CASE("a rank with nothing to do is drawn, and is no bubble, as analyse() has it") {
  score from = one_f_one_b::write({4, 8});
  from.rank();
  const drawn_program p = played(std::move(from));
  const read_picture found(draw_svg(p.program, p.when, {}));
  CHECK(found.says("\nrank 4\n"));
  CHECK(found.says("\n100.0 %\n"));
  CHECK(found.says("bubble 27.3 %"));
  CHECK(draw_text(p.program, p.when).find("makespan 33, bubble 27.3 %") != std::string::npos);
}

TEST_CASE("nothing to draw") {
  const program nothing;
  const read_picture empty(draw_svg(nothing, {}));
  CHECK(empty.bars.empty());
  CHECK(empty.says("makespan 0, bubble 0.0 %"));
  const program p = compile(one_f_one_b::write({2, 1}));
  const read_picture untimed(draw_svg(p, {}));
  CHECK(untimed.bars.empty());
  CHECK(untimed.backs.size() == 2);
  const drawn_program still = played(compile(one_f_one_b::write({2, 1})), even_costs(p, {0, 0, 0}));
  CHECK(read_picture(draw_svg(still.program, still.when)).bars.empty());
  read_picture(draw_overlay_svg(nothing, {}, {}));
  read_picture(draw_overlay_svg(p, {}, {}));
  read_picture(draw_svg(nothing, {}, {.most_bars = 0}));
}

TEST_CASE("64 stages, 256 microbatches: every computation has its bar, and the file stays small") {
  const pipeline_shape shape{64, 256};
  const drawn_program p = played_with_wires(one_f_one_b::write(shape));
  const std::string svg = draw_svg(p.program, p.when);
  CHECK(svg.size() < 8'000'000);
  const read_picture found(svg);
  CHECK(found.bars.size() == 2 * 64 * 256);
  found.check_places();
  CHECK(found.width < 2000);
  CHECK(found.height < 2000);
  // Messages, too many for hover texts, are a path for each lane.
  std::size_t paths = 0;
  for (const xml_element& each : found.all)
    paths += each.name == "path" && each.attributes.count("transform") != 0;
  CHECK(paths == 2 * 63);
}

TEST_CASE("without hover texts the shares of time stay") {
  const pipeline_shape shape{4, 200};
  const drawn_program p = played(one_f_one_b::write(shape));
  const read_picture found(draw_svg(p.program, p.when, {.width = 700, .most_bars = 0}));
  CHECK(found.bars.empty());
  struct path {
    double y = 0, columns = 0;
    std::string colour;
    std::vector<std::pair<long, long>> pieces;
  };
  std::vector<path> paths;
  for (const xml_element& each : found.all) {
    if (each.name != "path" || each.attributes.count("transform") == 0) continue;
    path made;
    double x = 0, scale = 0;
    REQUIRE(std::sscanf(each.at("transform").c_str(), "translate(%lf %lf)scale(%lf 1)", &x, &made.y,
                        &scale) == 3);
    CHECK(x == doctest::Approx(found.backs[0].x));
    made.colour = each.at("stroke");
    made.columns = 700 / scale;
    const char* text = each.at("d").c_str();
    int used = 0;
    REQUIRE((std::sscanf(text, "M0 0%n", &used) == 0 && used == 4));
    long at = 0, move = 0, run = 0;
    for (text += used; *text != '\0'; text += used) {
      REQUIRE(std::sscanf(text, "m%ld 0h%ld%n", &move, &run, &used) == 2);
      CHECK((move > 0 || (move == 0 && made.pieces.empty())));
      CHECK(run > 0);
      made.pieces.emplace_back(at + move, at + move + run);
      at += move + run;
    }
    CHECK(at <= std::lround(made.columns));
    paths.push_back(made);
  }
  REQUIRE(paths.size() == 8);
  for (std::size_t i = 0; i < paths.size(); i += 2) {
    CHECK(paths[i].y == paths[i + 1].y);
    std::vector<std::pair<long, long>> both = paths[i].pieces;
    both.insert(both.end(), paths[i + 1].pieces.begin(), paths[i + 1].pieces.end());
    std::sort(both.begin(), both.end());
    for (std::size_t k = 1; k < both.size(); ++k) CHECK(both[k].first >= both[k - 1].second);
    const auto columns = [](const path& of) {
      long sum = 0;
      for (const auto& [from, to] : of.pieces) sum += to - from;
      return static_cast<double>(sum) / of.columns;
    };
    CHECK(columns(paths[i]) == doctest::Approx(200 / p.when.makespan).epsilon(0.01));
    CHECK(columns(paths[i + 1]) == doctest::Approx(400 / p.when.makespan).epsilon(0.01));
  }
}

TEST_CASE("plan above run on one axis") {
  const drawn_program plan = played(one_f_one_b::write({4, 8}));
  cost_table slower = even_costs(plan.program, {1.5, 1, 1});
  const drawn_program run = played(plan.program, slower);
  const read_picture found(draw_overlay_svg(plan.program, plan.when, run.when));
  found.check_places();
  REQUIRE(found.backs.size() == 8);
  CHECK(found.bars.size() == 2 * 64);
  const double left = found.backs[0].x, wide = found.backs[0].width;
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(found.backs[2 * r].bottom() <= found.backs[2 * r + 1].y);
    double end[2] = {0, 0};
    for (const auto& each : found.bars)
      for (std::size_t k = 0; k < 2; ++k)
        if (each.y >= found.backs[2 * r + k].y && each.bottom() <= found.backs[2 * r + k].bottom() + 1e-9)
          end[k] = std::max(end[k], each.right());
    if (r > 0) continue;
    CHECK(end[0] == doctest::Approx(left + wide));
    CHECK(end[1] == doctest::Approx(left + wide));  // scaled so that both end together
  }
  char title[100];
  std::snprintf(title, sizeof title, "Run (below): makespan %g, bubble 27.3 %%, drawn x %.6g",
                run.when.makespan, 33 / run.when.makespan);
  CHECK(found.says(title));
  CHECK(found.says("Plan (above): makespan 33, bubble 27.3 %"));
  CHECK(found.says("\n+0.0 %\n"));
  CHECK(found.says("\nrun - plan\n"));
  // As it is, the run ends later.
  const read_picture same(draw_overlay_svg(plan.program, plan.when, run.when, {.run_times = 1}));
  same.check_places();
  double end = 0;
  for (const auto& each : same.bars)
    if (each.y < same.backs[1].y) end = std::max(end, each.right());
  CHECK((end - same.backs[0].x) / same.backs[0].width ==
        doctest::Approx(33 / run.when.makespan).epsilon(1e-3));
}

TEST_CASE("a run that waits more shows it on the right") {
  const drawn_program plan = played(one_f_one_b::write({2, 2}));
  timeline run = plan.when;
  for (isize i = 0; i < run.start.size(); ++i) run.start[i] *= 0.5;
  for (isize i = 0; i < run.start.size(); ++i)
    run.finish[i] = run.start[i] + 0.25 * (plan.when.finish[i] - plan.when.start[i]);
  run.makespan = plan.when.makespan / 2;
  const read_picture found(draw_overlay_svg(plan.program, plan.when, run));
  CHECK(found.says("drawn x 2."));
  CHECK(found.says("\n33.3 %\n"));  // 6 of 9
  CHECK(found.says("\n66.7 %\n"));
  CHECK(found.says("\n+33.3 %\n"));
}

TEST_CASE("thousands of ranks stay a bounded file") {
  const pipeline_shape shape{1500, 20};
  const drawn_program p = played(one_f_one_b::write(shape));
  const std::string svg = draw_svg(p.program, p.when);
  CHECK(svg.size() < 12'000'000);
  CHECK(read_picture(svg).height < 2000);
}

namespace {
struct commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};
}  // namespace

TEST_CASE("a locale changes nothing") {
  const drawn_program p = played_with_wires(one_f_one_b::write({4, 8}));
  const std::string before = draw_svg(p.program, p.when);
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new commas));
  const std::string after = draw_svg(p.program, p.when);
  std::locale::global(old);
  CHECK(before == after);
}
