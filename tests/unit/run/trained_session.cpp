// SPDX-License-Identifier: Apache-2.0
#include <motet/run/trained_session.hpp>

#include <unit/format/scratch.hpp>

#include "tiny_pair.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Two towers that are trained, and of which nothing is tested.
class silent_session final : public trained_session<silent_session, cpu::device, tiny_pair, fp32> {
 public:
  explicit silent_session(const session_request& wanted)
      : trained_session({.name = "silent", .loss = {}, .precision = {}, .shape = {}}, wanted) {}
  const pair_input& inputs(const step_input& batch) const { return std::get<pair_input>(batch); }
};

}  // namespace

TEST_CASE("a session is its trainer, whatever the model") {
  silent_session made(tiny_request());
  session& model = made;
  CHECK(model.facts().name == "silent");
  CHECK(model.facts().loss == "infonce");
  CHECK(model.facts().parameters > 1000);
  CHECK(model.is_main());
  CHECK(model.of().ranks() == 1);
  REQUIRE(model.memory().size() == 1);
  CHECK(model.memory()[0].total() > 0);
  CHECK(model.foretold_costs().flops() > 0);
  model.prepare();
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  const step_input batch = source.next();
  CHECK(model.flops(batch) > 0);
  const double first = model.step(batch, 1e-3).loss;
  for (int k = 0; k < 5; ++k) model.step(batch, 1e-3);
  CHECK(model.step(batch, 1e-3).loss < first);
  CHECK(model.updates() == 7);
  CHECK(model.weights().size() == as_size(tiny_pair::parameter_size));
  // Of what it has not, it says nothing.
  CHECK(std::isnan(model.logit_scale()));
  CHECK(std::isnan(model.loss_of(batch)));
  CHECK(model.say({}, 0, 9).empty());
}

TEST_CASE("what a run asks of its machine and of its batches, the trainer answers") {
  silent_session made(tiny_request());
  session& model = made;
  CHECK(model.threads() == 1);
  CHECK(model.machine() == cpu::device(1).describe());
  CHECK(model.peak_product() == cpu::device::peak_product);
  CHECK(model.scores() == nullptr);
  CHECK(model.reordered() == nullptr);
  // Memory of processors is near as it is, and nobody reads a part of the samples alone.
  CHECK(model.pin(&made, sizeof made) == nullptr);
  CHECK_FALSE(model.own_samples().has_value());
  CHECK_FALSE(model.tells_own_samples(std::make_shared<share_line>()));
  CHECK(model.paths().empty());
  model.prepare();
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  const step_input batch = source.next();
  model.expect(batch);
  model.choose(batch);
  model.step(batch, 1e-3);
  model.finish();
  const auto seconds = [&] {
    double sum = 0;
    for (const section_cost& each : model.costs()) sum += each.seconds;
    return sum;
  };
  CHECK(seconds() > 0);
  model.clear_costs();
  CHECK(seconds() == 0);
  model.require_same({});
  // Its two towers read other things, and it embeds neither.
  std::vector<float> features(6 * 8, 7);
  model.embed(std::get<0>(std::get<pair_input>(batch)), features.data());
  model.embed(std::get<1>(std::get<pair_input>(batch)), features.data());
  CHECK(features == std::vector<float>(6 * 8, 7));
}

TEST_CASE("what a session saved another one goes on from, or begins with") {
  const scratch folder;
  silent_session first(tiny_request());
  first.prepare();
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  first.step(source.next(), 1e-2);
  first.gather();
  const checkpoint saved(first.save(folder.path(), "tiny", {}, 1));
  session_request wanted = tiny_request();
  wanted.options.seed = 9;
  silent_session second(wanted), third(wanted);
  second.prepare();
  second.gather();
  CHECK(second.weights() != first.weights());
  second.load(saved, "tiny");
  CHECK(second.updates() == 1);
  second.gather();
  CHECK(second.weights() == first.weights());
  third.prepare();
  REQUIRE(third.begin(saved, {.module = "caption", .as = {}}).size() == 1);
  CHECK(third.updates() == 0);
  third.gather();
  CHECK(third.weights() != first.weights());
}

TEST_CASE("a program without bf16 says how to build one that has it") {
  CHECK_THROWS_WITH_AS(refuse_precision("bf16"),
                       doctest::Contains("--precision bf16, in a program that was compiled without bf16"),
                       error);
}

TEST_CASE("two questions at once, of one process") {
  silent_session model(tiny_request());
  for (const bool first : {false, true}) {
    CHECK(model.any(first) == first);
    for (const bool second : {false, true}) CHECK(model.any(first, second) == std::pair(first, second));
  }
}

TEST_CASE("a plan is that of the request") {
  session_request wanted = tiny_request();
  wanted.how = plan_of("data-2", facts_of<tiny_pair>());
  wanted.by = find_launch({}, {.ranks = 2});
  silent_session model(wanted);
  CHECK(model.of().ranks() == 2);
  CHECK(model.memory().size() == 2);
}
