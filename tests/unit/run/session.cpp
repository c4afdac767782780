// SPDX-License-Identifier: Apache-2.0
#include <motet/run/session.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("random captions are as long as any, whatever a sample may hold") {
  session_facts facts;
  facts.shape = {.model = "speaks", .image = 8, .vocabulary = 300, .context = 160, .pieces = true};
  facts.caption = 32;
  CHECK(facts.random_shape().context == 32);
  CHECK(facts.random_shape().image == 8);
  CHECK(facts.shape.context == 160);
}

TEST_CASE("a session that says nothing of orders or of its own samples takes all of them as they come") {
  scripted_session made(session_request{});
  session& model = made;
  random_feed source(4, 1, model.facts().random_shape());
  const step_input batch = source.next();
  CHECK(model.loads(batch).samples == 0);
  CHECK_FALSE(model.own_samples().has_value());
  CHECK_FALSE(model.tells_own_samples(std::make_shared<share_line>()));
  model.choose(batch);
  CHECK(made.rates.empty());
  CHECK(model.scores() == nullptr);
  CHECK(model.reordered() == nullptr);
}
