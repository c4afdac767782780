// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_names.hpp>

#include "unit/schedule/drawn_programs.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace motet;
using namespace motet::detail;

TEST_CASE("every operation has a letter and words; only messages share letters") {
  std::set<char> letters;
  std::set<std::string> words;
  for (int i = 0; i < op_count; ++i) {
    words.insert(words_of(static_cast<op>(i)));
    if (!is_transfer(static_cast<op>(i))) letters.insert(letter_of(static_cast<op>(i)));
  }
  CHECK(words.size() == op_count);
  CHECK(letters.size() == op_count - 6);
  CHECK(letters.count('>') + letters.count('<') == 0);
  CHECK(letter_of(op::send_replay) == '>');
  CHECK(letter_of(op::receive_backward) == '<');
  const op papers[] = {op::forward,        op::forward_only,    op::re_forward, op::backward,
                       op::backward_input, op::backward_weight, op::join};
  std::string all;
  for (const op each : papers) all += letter_of(each);
  CHECK(all == "FfRBIWS");
}

TEST_CASE("numbers are short") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(-0.0) == "0");
  CHECK(short_number(33) == "33");
  CHECK(short_number(0.1 + 0.2) == "0.3");
  CHECK(short_number(1.0 / 3) == "0.333333");
  CHECK(short_number(-1e300) == "-1e+300");
  CHECK(percent(0.27272727) == "27.3 %");
  CHECK(percent(0) == "0.0 %");
  CHECK(percent(1) == "100.0 %");
  CHECK(percent(-1e300) == "-1000.0 %");
}

TEST_CASE("steps are 1, 2 or 5 times a power of ten") {
  const double cases[][2] = {{1, 1},   {1.1, 2},     {2, 2},       {2.5, 5},    {5.5, 10},
                             {10, 10}, {0.03, 0.05}, {9e-7, 1e-6}, {1234, 2000}};
  for (const auto& each : cases) CHECK(round_step(each[0]) == doctest::Approx(each[1]).epsilon(1e-12));
}

TEST_CASE("a clean name is UTF-8 without control characters") {
  CHECK(clean_name("picture") == "picture");
  CHECK(clean_name("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(clean_name("\xe6\x96\x87\xf0\x9f\x8e\xb5") == "\xe6\x96\x87\xf0\x9f\x8e\xb5");
  CHECK(clean_name("a\nb\x7f\x01") == "a?b??");
  CHECK(clean_name("cut \xe6\x96") == "cut ??");
  CHECK(clean_name("\xc3") == "?");
  CHECK(clean_name("\xff\xfe\x80") == "???");
  CHECK(clean_name("\xc0\xaf") == "??");            // longer than needed
  CHECK(clean_name("\xe0\x80\x80") == "???");       // longer than needed
  CHECK(clean_name("\xed\xa0\x80") == "???");       // half of a pair
  CHECK(clean_name("\xf4\x90\x80\x80") == "????");  // beyond the last letter
  CHECK(clean_name("\xef\xbf\xbf") == "???");       // not a letter in XML
  CHECK(clean_name("\xef\xbf\xbd") == "\xef\xbf\xbd");
  CHECK(letters_in("caf\xc3\xa9") == 4);
}

TEST_CASE("one module, one stage on each rank: short labels, nothing to say about ranks") {
  const program p = compile(one_f_one_b::write({4, 8}));
  const drawn_names names(p, 1);
  CHECK(names.head(2).empty());
  CHECK(names.module(0).empty());
  CHECK_FALSE(names.marked());
  CHECK(names.label({op::forward, 0, false, 0, 0, 2, 6, -1}) == "F7");
  CHECK(names.label({op::optimizer_step, 0, false, 0, 0, 2, -1, -1}) == "U");
  CHECK(drawn_names(p, 0).label({op::backward, 0, false, 0, 0, 2, 0, -1}) == "B0");
}

TEST_CASE("stages of one rank are told apart, and listed up to a point") {
  const program p = compile(interleaved::write({2, 4, 8}));
  const drawn_names names(p, 1);
  CHECK(names.head(0) == "stage 0,2,4,6..");
  CHECK(names.label({op::backward, 0, false, 0, 0, 14, 3, -1}) == "14B4");
  CHECK(names.chunk(0) == 0);
  CHECK(names.chunk(13) == 6);
}

TEST_CASE("voices of one rank are told apart, replicas are named") {
  program p = compile(shared_rank_score());
  const drawn_names names(p, 1);
  CHECK(names.marked());
  CHECK(names.head(1) == "picture stage 1; caption stage 1");
  CHECK(names.label({op::forward, 0, false, 0, 0, 1, 1, -1}) == "aF2");
  CHECK(names.label({op::forward, 0, false, 0, 1, 1, 1, -1}) == "bF2");
  CHECK(drawn_names::voice_mark(25) == "z");
  CHECK(drawn_names::voice_mark(26) == "26:");
  p.voices[1].name = "";
  CHECK(drawn_names(p, 1).module(1) == "module 1");
  p.voices[1].replica = 2;
  CHECK(drawn_names(p, 1).module(1) == "module 1/2");
}

TEST_CASE("joins are numbered where there are several, and what is out of range has no place") {
  program p = compile(batch_sync::write(two_towers()));
  const instruction join{op::join, 0, false, 0, 0, -1, 1, -1};
  CHECK(drawn_names(p, 1).label(join) == "S2");
  p.joins = 2;
  CHECK(drawn_names(p, 1).label(join) == "0S2");
  const drawn_names names(p, 1);
  CHECK(names.place(join) == -1);
  CHECK(names.place({op::forward, 0, false, 0, 7, 0, 0, -1}) == -1);
  CHECK(names.place({op::forward, 0, false, 0, -1, 0, 0, -1}) == -1);
  CHECK(names.place({op::forward, 0, false, 0, 1, 2, 0, -1}) == -1);
  CHECK(names.place({op::forward, 0, false, 0, 1, 1, 0, -1}) == 5);
  CHECK(names.label({op::forward, 0, false, 0, 7, 0, 0, -1}) == "F1");
}

TEST_CASE("a program without ranks has names too") {
  const program nothing;
  CHECK_FALSE(drawn_names(nothing, 1).marked());
}
