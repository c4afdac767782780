// SPDX-License-Identifier: Apache-2.0
#include <motet/run/pair_session.hpp>

#include "tiny_pair.hpp"

#include <doctest/doctest.h>

using namespace motet;

using tiny_session = pair_session<cpu::device, tiny_picture, tiny_caption, info_nce, fp32>;

TEST_CASE("what a run tells of two towers") {
  const session_facts facts = facts_of_pair("tiny", tiny_picture, tiny_caption);
  CHECK(facts.name == "tiny");
  CHECK(facts.shape.image == 8);
  CHECK(facts.shape.context == 16);
  CHECK_FALSE(facts.shape.pieces);
  CHECK(facts.embedding == 8);
  REQUIRE(facts.outline.size() == 3);
  CHECK(facts.outline[2] == std::pair<std::string, std::string>("embedding", "8"));
  CHECK(facts.parts[1].first == "caption tower");
}

TEST_CASE("the loss of held-out pairs is that of a step, before it") {
  tiny_session model("tiny", tiny_request());
  CHECK(std::isnan(model.logit_scale()));
  model.prepare();
  model.gather();
  CHECK(model.logit_scale() == doctest::Approx(1 / 0.07).epsilon(1e-5));
  random_feed source(6, 1, model.facts().random_shape());
  const step_input batch = source.next();
  const double held_out = model.loss_of(batch);
  CHECK(model.step(batch, 1e-3).loss == doctest::Approx(held_out).epsilon(1e-5));

  std::vector<float> features(6 * 8);
  model.embed(std::get<0>(std::get<pair_input>(batch)), features.data());
  double square = 0;
  for (std::size_t k = 0; k < 8; ++k) square += static_cast<double>(features[k] * features[k]);
  CHECK(square == doctest::Approx(1).epsilon(1e-5));
}

TEST_CASE("a command line's words choose loss and numbers") {
  // The others share its code; what they are made of is compiled by the programs.
  const auto made =
      make_pair_session_of<cpu::device, tiny_picture, tiny_caption, fp32>("tiny", tiny_request());
  CHECK(dynamic_cast<tiny_session*>(made.get()) != nullptr);
  session_request sigmoid = tiny_request();
  sigmoid.loss = "sigmoid";
  const auto other = make_pair_session_of<cpu::device, tiny_picture, tiny_caption, fp32>("tiny", sigmoid);
  CHECK(other->facts().loss == "sigmoid");
  other->prepare();
  other->gather();
  CHECK(other->logit_scale() == doctest::Approx(10).epsilon(1e-5));
  random_feed source(6, 1, other->facts().random_shape());
  const step_input batch = source.next();
  const double held_out = other->loss_of(batch);
  CHECK(other->step(batch, 1e-3).loss == doctest::Approx(held_out).epsilon(1e-5));
}
