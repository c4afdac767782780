// SPDX-License-Identifier: Apache-2.0
#include <motet/run/conduct_words.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("scores that take turns, one that has no other, and why others have none") {
  score_names of{{"1f1b", "gpipe"}, {"zb_v: another cast"}};
  CHECK(words_on(of, 0.02) ==
        std::vector<std::string>{
            "1f1b, gpipe take turns: a step plays another one where that is shorter by more "
            "than 2 %, by simulation",
            "without zb_v: another cast"});
  of.names.pop_back();
  CHECK(words_on(of, 0.02).front() == "1f1b plays every step: the plan has no other score of its cast");
}

TEST_CASE("how often each played") {
  const score_names of{{"1f1b", "gpipe", "zb_h1"}, {}};
  conduct_sums all;
  all.add({.score = 0});
  all.add({.score = 1, .changed = true});
  CHECK(words_of(all, of) == "1f1b played 1 step, gpipe 1, zb_h1 0, with 1 change");
  all.add({.score = 0, .changed = true});
  CHECK(words_of(all, of) == "1f1b played 2 steps, gpipe 1, zb_h1 0, with 2 changes");
}
