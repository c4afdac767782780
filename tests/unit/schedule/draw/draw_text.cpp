// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_text.hpp>

#include "unit/schedule/drawn_programs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <locale>

using namespace motet;

TEST_CASE("1F1B, 4 stages, 8 microbatches") {
  const drawn_program p = played(one_f_one_b::write({4, 8}));
  CHECK(
      draw_text(p.program, p.when) ==
      "       0              5              10             15             20             25             30\n"
      "rank 0 F1 F2 F3 F4 ..................B1--- F5 B2--- F6 B3--- F7 B4--- F8 B5--- ...B6--- ...B7--- "
      "...B8---   27.3 %\n"
      "rank 1 ...F1 F2 F3 ............B1--- F4 B2--- F5 B3--- F6 B4--- F7 B5--- F8 B6--- ...B7--- ...B8--- "
      "......  27.3 %\n"
      "rank 2 ......F1 F2 ......B1--- F3 B2--- F4 B3--- F5 B4--- F6 B5--- F7 B6--- F8 B7--- ...B8--- "
      "............  27.3 %\n"
      "rank 3 .........F1 B1--- F2 B2--- F3 B3--- F4 B4--- F5 B5--- F6 B6--- F7 B7--- F8 B8--- "
      "..................  27.3 %\n"
      "makespan 33, bubble 27.3 %, a column is 0.333333\n"
      "F forward, B backward\n");
}

TEST_CASE("backward in two parts") {
  const drawn_program p = played(zb_h1::write({3, 4}));
  CHECK(draw_text(p.program, p.when, {.width = 80}) ==
        "       0              5              10\n"
        "rank 0 F1 F2 F3 ......I1 W1 F4 I2 W2 I3 W3 I4 W4   14.3 %\n"
        "rank 1 ...F1 F2 ...I1 F3 I2 W1 F4 I3 W2 I4 W3 W4   14.3 %\n"
        "rank 2 ......F1 I1 F2 I2 F3 I3 W1 F4 I4 W2 W3 W4   14.3 %\n"
        "makespan 14, bubble 14.3 %, a column is 0.333333\n"
        "F forward, I backward input, W backward weights\n");
}

TEST_CASE("two towers that meet, microbatches that run forward twice") {
  drawn_program p = played(batch_sync::write(two_towers()), 1);
  p.program.voices[0].name = "picture";
  p.program.voices[1].name = "caption";
  CHECK(draw_text(p.program, p.when) ==
        "                       0         5         10        15        20        25        30        35\n"
        "rank 0 picture stage 0 f1f2F3F4R1f5R2f6F7............B1- F8R5B2- R6..B3- ..B4- ....B5- ..B6- B7- "
        "B8-   28.2 %\n"
        "rank 1 picture stage 1 ..f1f2F3F4R1f5R2f6........B1- F7..B2- F8R5B3- R6B4- ....B5- ..B6- B7- B8- "
        "....  28.2 %\n"
        "rank 2 picture stage 2 ....f1f2F3F4R1f5R2....B1- f6..B2- F7B3- F8R5B4- R6..B5- ..B6- B7- B8- "
        "........  28.2 %\n"
        "rank 3 picture stage 3 ......f1f2F3F4S1R1B1- f5R2B2- f6B3- F7B4- F8S2R5B5- R6B6- B7- B8- "
        "............  23.1 %\n"
        "rank 4 caption stage 0 F1F2F3..............B1- F4B2- ....................B3- B4- "
        "....................  69.2 %\n"
        "rank 5 caption stage 1 ..F1F2........S1B1- F3B2- F4................S2B3- B4- "
        "........................  64.1 %\n"
        "makespan 39, bubble 40.2 %, a column is 0.5\n"
        "F forward, f forward only, R forward again, B backward, S join\n");
}

TEST_CASE("a join beside the computation has a line of its own") {
  const drawn_program p = played(batch_sync::write(one_tower(8, 4, -1, 1)), 1.5);
  CHECK(draw_text(p.program, p.when, {.width = 100}) ==
        "        0         5         10        15        20        25        30\n"
        "rank 0  F1F2F3F4F5F6F7F8.............B1- ..B2- ..B3- ..B4- B5- B6- B7- B8-   28.4 %\n"
        "rank 1  ..F1F2F3F4F5F6F7.........B1- F8B2- ..B3- ..B4- B5- B6- B7- B8- ....  28.4 %\n"
        "rank 2  ....F1F2F3F4F5F6.....B1- F7B2- F8B3- ..B4- B5- B6- B7- B8- ........  28.4 %\n"
        "rank 3  ......F1F2F3F4F5.B1- F6B2- F7B3- F8B4- B5- B6- B7- B8- ............  28.4 %\n"
        "  aside               S1                   S2\n"
        "makespan 33.5, bubble 28.4 %, a column is 0.5\n"
        "F forward, B backward, S join\n");
}

TEST_CASE("several modules and overlapped pairs on one rank") {
  const drawn_program p = played(shared_rank_score());
  CHECK(draw_text(p.program, p.when, {.width = 160, .unit = 0.2}) ==
        "                                        0         2         4         6         8         10        "
        "12        14\n"
        "rank 0 picture stage 0; caption stage 0 aF1- bF1- aF2- .....aB1+bF2------- bB1------ .....aB2------ "
        ".....bB2------   20.0 %\n"
        "rank 1 picture stage 1; caption stage 1 .....aF1- aB1------ bF1- bB1------ aF2- aB2------ bF2- "
        "bB2------ ..........  20.0 %\n"
        "makespan 15, bubble 20.0 %, a column is 0.2\n"
        "F forward, B backward, a picture, b caption\n");
}

TEST_CASE("where labels do not fit, letters keep the shares of time") {
  const drawn_program p = played(one_f_one_b::write({4, 32}));
  const std::string text = draw_text(p.program, p.when, {.width = 75});
  CHECK(text.find("a column is 1.75\n") != std::string::npos);
  std::size_t first = text.find('\n') + 1;
  for (int r = 0; r < 4; ++r) {
    const std::string row = text.substr(first + 7, 60);
    CHECK(std::count(row.begin(), row.end(), 'F') == doctest::Approx(32 / 1.75).epsilon(0.06));
    CHECK(std::count(row.begin(), row.end(), 'B') == doctest::Approx(64 / 1.75).epsilon(0.06));
    CHECK(row.find_first_not_of("FB.") == std::string::npos);
    CHECK(row.find_first_not_of('.') == static_cast<std::size_t>((r + 1) / 2));
    first = text.find('\n', first) + 1;
  }
}

TEST_CASE("chunks are told apart where there is room") {
  const drawn_program p = played(interleaved::write({2, 2, 2}));
  CHECK(draw_text(p.program, p.when) ==
        "                 0       1       2       3       4       5       6       7\n"
        "rank 0 stage 0,2 0F1 0F2 2F1 2F2 ............2B1---- 2B2---- 0B1---- 0B2----   20.0 %\n"
        "rank 1 stage 1,3 ....1F1 1F2 3F1 3F2 3B1---- 3B2---- 1B1---- 1B2---- ........  20.0 %\n"
        "makespan 7.5, bubble 20.0 %, a column is 0.125\n"
        "F forward, B backward\n");
}

TEST_CASE("the list of Figure 6 of the DistMM paper") {
  const program p = compile(batch_sync::write(one_tower(16, 4)));
  CHECK(draw_list(p) ==
        "rank 0: F1 F2 F3 F4 F5 F6 F7 B1 F8 B2 F9 B3 F10 B4 F11 B5 F12 B6 F13 B7 F14 B8 F15 B9 F16 B10 B11 "
        "B12 B13 B14 B15 B16\n"
        "rank 1: F1 F2 F3 F4 F5 F6 B1 F7 B2 F8 B3 F9 B4 F10 B5 F11 B6 F12 B7 F13 B8 F14 B9 F15 B10 F16 B11 "
        "B12 B13 B14 B15 B16\n"
        "rank 2: F1 F2 F3 F4 F5 B1 F6 B2 F7 B3 F8 B4 F9 B5 F10 B6 F11 B7 F12 B8 F13 B9 F14 B10 F15 B11 F16 "
        "B12 B13 B14 B15 B16\n"
        "rank 3: F1 F2 F3 F4 S1 B1 F5 B2 F6 B3 F7 B4 F8 S2 B5 F9 B6 F10 B7 F11 B8 F12 S3 B9 F13 B10 F14 B11 "
        "F15 B12 F16 S4 B13 B14 B15 "
        "B16\n");
}

TEST_CASE("the lists with a stash of two") {
  const program p = compile(batch_sync::write(one_tower(8, 4, 2)));
  CHECK(draw_list(p) ==
        "rank 0: f1 f2 F3 F4 R1 f5 R2 f6 F7 B1 F8 R5 B2 R6 B3 B4 B5 B6 B7 B8\n"
        "rank 1: f1 f2 F3 F4 R1 f5 R2 f6 B1 F7 B2 F8 R5 B3 R6 B4 B5 B6 B7 B8\n"
        "rank 2: f1 f2 F3 F4 R1 f5 R2 B1 f6 B2 F7 B3 F8 R5 B4 R6 B5 B6 B7 B8\n"
        "rank 3: f1 f2 F3 F4 S1 R1 B1 f5 R2 B2 f6 B3 F7 B4 F8 S2 R5 B5 R6 B6 B7 B8\n");
}

TEST_CASE("lists with chunks, several voices and pairs, counted from where one likes") {
  CHECK(draw_list(compile(interleaved::write({2, 2, 2})), 0) ==
        "rank 0 stage 0,2: 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n"
        "rank 1 stage 1,3: 1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1\n");
  CHECK(draw_list(compile(shared_rank_score())) ==
        "rank 0 picture stage 0; caption stage 0: aF1 bF1 aF2 aB1+bF2 bB1 aB2 bB2\n"
        "rank 1 picture stage 1; caption stage 1: aF1 aB1 bF1 bB1 aF2 aB2 bF2 bB2\n");
}

TEST_CASE("every line of a picture is equally long, whatever the program") {
  for (const auto& p : {played(one_f_one_b::write({16, 64})), played(interleaved::write({4, 8, 3})),
                        played(zb_h2::write({6, 9})), played_with_wires(batch_sync::write(two_towers(0))),
                        played_with_wires(one_f_one_b::write({3, 5}), delivery::rendezvous)}) {
    for (const int width : {0, 60, 120, 500}) {
      const std::string text = draw_text(p.program, p.when, {.width = width});
      std::size_t first = text.find('\n') + 1, size = 0;
      for (std::int32_t r = 0; r < p.program.ranks(); ++r) {
        const std::size_t end = text.find('\n', first);
        CHECK(text.compare(first, 5, "rank ") == 0);
        if (r > 0) CHECK(end - first == size);
        size = end - first;
        CHECK((size <= static_cast<std::size_t>(width) || width < 60));
        first = end + 1;
      }
    }
  }
}

TEST_CASE("nothing to draw") {
  const program nothing;
  CHECK(draw_text(nothing, {}) == "makespan 0, bubble 0.0 %\n");
  CHECK(draw_list(nothing).empty());
  const program p = compile(one_f_one_b::write({2, 1}));
  CHECK(draw_text(p, {}) == "rank 0    0.0 %\nrank 1    0.0 %\nmakespan 0, bubble 0.0 %\n");
  const drawn_program still = played(compile(one_f_one_b::write({2, 1})), even_costs(p, {0, 0, 0}));
  CHECK(draw_text(still.program, still.when) ==
        "rank 0    0.0 %\nrank 1    0.0 %\nmakespan 0, bubble 0.0 %\n");
}

TEST_CASE("odd times and units draw something finite") {
  const drawn_program p = odd_program();
  for (const double unit : {0.0, -1.0, 1e-300, 1e300, 0.25, std::numeric_limits<double>::quiet_NaN()}) {
    const std::string text = draw_text(p.program, p.when, {.width = 100, .unit = unit});
    CHECK(text.size() < 200000);
    CHECK(text.find("nan") == std::string::npos);
    CHECK(text.find("inf") == std::string::npos);
    CHECK(text.find("rank 5") != std::string::npos);
  }
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
  const std::string before = draw_text(p.program, p.when);
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new commas));
  const std::string after = draw_text(p.program, p.when);
  std::locale::global(old);
  CHECK(before == after);
}
