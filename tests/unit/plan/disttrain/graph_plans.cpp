// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/graph_plans.hpp>

#include "unit/plan/disttrain/counted_speech.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("plans of a graph pass check_plan, and groups, nested modules and gaps are among them") {
  const counted_graph of = counted_speech({.ranks = 4});
  motet::isize all = 0, apart = 0, together = 0, nested = 0, filled = 0, stages = 0, tensor = 0, context = 0,
               chunks = 0;
  each_graph_plan(of, [&](const plan& how) {
    ++all;
    REQUIRE(check_plan(how, of.facts, of.samples).ok());
    REQUIRE(how.cluster.ranks == 4);
    const module_plan &eye = how.modules[0], &talk = how.modules[2];
    const bool shares = eye.on.find(talk.on.ranks()[0]) >= 0;
    apart += shares ? 0 : 1;
    together += shares ? 1 : 0;
    nested += shares && eye.on.split().data == 4 && talk.on.split().data < 4 ? 1 : 0;
    filled += eye.fills ? 1 : 0;
    stages += talk.on.split().stages > 1 ? 1 : 0;
    tensor += talk.on.split().tensor > 1 ? 1 : 0;
    context += talk.on.split().context > 1 ? 1 : 0;
    chunks += talk.chunks > 1 ? 1 : 0;
    // Rows are cut of the module that takes them alone, and only it has several stages on a rank.
    REQUIRE(eye.chunks == 1);
    REQUIRE((talk.chunks == 1 || how.schedule == label("interleaved")));
    if (shares && !eye.fills) REQUIRE(eye.on.split().context == 1);
  });
  for (const motet::isize each : {apart, together, nested, filled, stages, tensor, context, chunks})
    CHECK(each > 0);
  CHECK(all < 20'000);
}

TEST_CASE("glue that hardly computes has no ranks of its own") {
  const counted_graph of = counted_speech({.ranks = 4});
  each_graph_plan(of, [&](const plan& how) {
    for (const std::int32_t rank : how.modules[1].on.ranks())
      REQUIRE((how.modules[0].on.find(rank) >= 0 || how.modules[2].on.find(rank) >= 0));
  });
}

TEST_CASE("many ranks are tried in steps") {
  for (const std::int32_t ranks : {48, 96}) {
    motet::isize all = 0;
    each_graph_plan(counted_speech({.ranks = ranks, .samples = 96}), [&](const plan&) { ++all; });
    CHECK(all > 100);
    CHECK(all < 200'000);
  }
}
