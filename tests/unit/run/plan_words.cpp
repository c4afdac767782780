// SPDX-License-Identifier: Apache-2.0
#include <motet/run/plan_words.hpp>
#include <motet/strategy/mesh.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a plan in words has the ranks and degrees of each module, and of the rest what is not usual") {
  plan of;
  of.cluster.ranks = 9;
  of.schedule = "zb_h1";
  of.modules.push({.name = "eye", .on = mesh::from(0, {}), .microbatches = 1});
  of.modules.push(
      {.name = "talk", .on = mesh::from(1, {.stages = 2, .data = 2, .tensor = 2}), .microbatches = 4});
  CHECK(words_of(of) ==
        "eye on rank 0, 1 microbatch; talk on ranks 1-8 (stages 2 x data 2 x tensor 2), "
        "4 microbatches; zb_h1");
  of.modules[0].fills = true;
  module_plan& talk = of.modules[1];
  talk.on = mesh::from(1, {.data = 4, .context = 2});
  talk.chunks = 2, talk.experts = 2, talk.long_rows = 64;
  CHECK(words_of(of) ==
        "eye on rank 0 in the gaps, 1 microbatch; talk on ranks 1-8 (stages 1 x data 4 x context 2 "
        "x tensor 1) in 2 chunks with experts over 2 replicas of samples from 64 rows on, others "
        "whole, 4 microbatches; zb_h1");
  talk = {.name = "talk", .on = mesh::from(1, {.data = 2}), .microbatches = 2};
  talk.multiplexed = true;
  CHECK(words_of(of).find("between the others, 2 microbatches") != std::string::npos);
  talk.ahead = 1;
  CHECK(words_of(of).find("between the others, 1 ahead, 2 microbatches") != std::string::npos);
}
