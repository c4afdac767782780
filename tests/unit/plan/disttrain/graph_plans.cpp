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

TEST_CASE(
    "multiplexed modules have parts of each microbatch on all ranks of the language model, and are proven") {
  for (const std::int32_t ranks : {2, 4, 8}) {
    motet::isize all = 0, replicas = 0, tensor = 0, ahead = 0, other_orders = 0;
    const counted_graph of = counted_speech({.ranks = ranks, .samples = 16, .layers = 8});
    each_graph_plan(of, [&](const plan& how) {
      const module_plan &eye = how.modules[0], &glue = how.modules[1], &talk = how.modules[2];
      REQUIRE((eye.multiplexed == glue.multiplexed && !talk.multiplexed));
      if (!eye.multiplexed) return;
      ++all;
      REQUIRE(!eye.fills);
      REQUIRE((talk.on.split().stages > 1 && talk.on.ranks().size() == ranks));
      REQUIRE((eye.on == glue.on && eye.microbatches == talk.microbatches));
      REQUIRE(eye.on.split().data * eye.on.split().tensor == ranks);
      // The samples of a replica of the language model stay on its ranks.
      const std::int32_t parts = eye.on.split().data / talk.on.split().data;
      for (std::int32_t r = 0; r < eye.on.split().data; ++r)
        REQUIRE(talk.on.position(talk.on.find(eye.on.rank({0, r, 0, 0}))).replica == r / parts);
      if (all % 7 == 1) REQUIRE(prove_plan(how, of.facts, of.samples).ok());
      replicas += talk.on.split().data > 1 ? 1 : 0;
      tensor += eye.on.split().tensor > 1 ? 1 : 0;
      ahead += eye.ahead;
      other_orders += how.schedule == label("1f1b") ? 0 : 1;
    });
    CHECK((all > 0 && ahead == all / 2 && other_orders > 0));
    CHECK((replicas > 0) == (ranks > 2));
    CHECK((tensor > 0) == (ranks > 2));
  }
}

// An eye of few long pictures: on ranks of its own, on the language model's, on all of them.
TEST_CASE("rows are cut before the loss where each part has enough of them, and such plans are proven") {
  for (const motet::isize rows : {0, 127, 128, 1024}) {
    CAPTURE(rows);
    motet::isize cut = 0, apart = 0, beside = 0, alike = 0, filled = 0, few = 0;
    const counted_graph of = counted_speech({.ranks = 4, .samples = 2, .layers = 8, .seen = rows});
    each_graph_plan(of, [&](const plan& how) {
      const module_plan &eye = how.modules[0], &glue = how.modules[1], &talk = how.modules[2];
      REQUIRE(glue.on.split().context == 1);
      REQUIRE(of.cuts_before_loss(how) == (eye.on.split().context > 1));
      if (eye.on.split().context == 1) return;
      ++cut;
      REQUIRE(check_plan(how, of.facts, of.samples).ok());
      REQUIRE(!eye.multiplexed);
      // What would fill gaps that are not there is left out when it is played.
      if (!eye.fills || talk.on.split().stages > 1) REQUIRE(prove_plan(how, of.facts, of.samples).ok());
      const bool shares = eye.on.find(talk.on.ranks()[0]) >= 0;
      apart += shares ? 0 : 1;
      // In the place of the language model's tensor parts, and as it has them.
      beside += shares && talk.on.split().tensor == 2 && talk.on.split().context == 1 ? 1 : 0;
      alike += eye.on.split() == talk.on.split() ? 1 : 0;
      filled += eye.fills ? 1 : 0;
      few += eye.on.ranks().size() > 2 && !eye.fills ? 1 : 0;
    });
    for (const motet::isize each : {cut, apart, beside, alike, filled, few})
      CHECK((each > 0) == (rows >= 2 * 64));
  }
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
