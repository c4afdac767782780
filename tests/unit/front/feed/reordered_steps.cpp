// SPDX-License-Identifier: Apache-2.0
// labels: threads
// Whatever the order of a step's samples, a plan learns what it learns without one.
#include <motet/front/feed/reordered_steps.hpp>

#include "deviation.hpp"
#include "drawn_cases.hpp"
#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <thread>

using namespace motet;

namespace {

using fed_speech = small_fed_speech<>;
constexpr motet::isize samples = 12;

struct fed_text {
  small_seen_text data;
  std::vector<motet::isize> rows;
  explicit fed_text(std::uint64_t seed) : data(samples, seed) {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  }
  fed_speech::batch get() const {
    const pictured_tokens all = data.get();
    return {seen_pictures{all.seen, samples, all.picture_offsets},
            placed_tokens{all, rows.data(), all.places}};
  }
};
launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}

// Each module has a first rank, replicas and microbatches.
struct placed {
  int first, data, parts;
};
plan plan_of(std::int32_t ranks, const char* schedule, placed eye, placed glue, placed talk, int stages = 1) {
  plan out;
  out.cluster.ranks = ranks;
  out.schedule = schedule;
  const auto put = [&](const char* name, const placed& at, degrees split) {
    module_plan own = on_ranks(name, at.first, split, at.parts);
    own.group = 1;
    out.modules.push(own);
  };
  put("eye", eye, {.data = eye.data});
  put("glue", glue, {.data = glue.data});
  put("talk", talk, {.stages = stages, .data = talk.data});
  return out;
}
const plan plans[] = {
    plan_of(4, "1f1b", {0, 4, 1}, {0, 4, 1}, {0, 4, 1}), plan_of(2, "gpipe", {0, 2, 3}, {0, 2, 3}, {0, 2, 3}),
    plan_of(4, "1f1b", {0, 2, 3}, {0, 2, 3}, {2, 2, 3}),
    plan_of(3, "1f1b", {0, 1, 6}, {0, 1, 6}, {1, 1, 6}, 2),
    // Modules that cut samples unlike.
    plan_of(4, "1f1b", {0, 2, 2}, {2, 2, 1}, {2, 2, 3}), plan_of(4, "1f1b", {0, 3, 1}, {3, 1, 4}, {3, 1, 4}),
    plan_of(2, "1f1b", {0, 1, 2}, {0, 1, 2}, {1, 1, 4}),
    // Each replica of the eye feeds both of the language model.
    plan_of(4, "1f1b", {0, 2, 6}, {0, 2, 6}, {2, 2, 3})};

struct seen {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
// Step: of a batch and the one after it.
template <class Step>
seen steps_of(trainer<fed_speech>& train, Step&& step) {
  seen out;
  std::vector<fed_text> data;
  for (std::uint64_t k = 0; k < 5; ++k) data.emplace_back(1 + k);
  for (std::size_t k = 0; k < 4; ++k) {
    const step_result found = step(data[k].get(), data[k + 1].get());
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = train.weights();
  return out;
}
seen in_order(const launched_world& world, const plan& how, const reorder_options& order,
              bool expects = false) {
  trainer<fed_speech> train(world, how, {.batch = samples});
  reordered_steps steps(train, samples, order);
  return steps_of(train, [&](const auto& batch, const auto& next) {
    if (expects) steps.expect(next);
    return steps.step(batch, 1e-3);
  });
}
sample_order backwards(const step_headers& of) {
  sample_order order = in_turn(of.samples);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

TEST_CASE("a step in any order has the loss, the gradients and the update of the step as it came") {
  const launched_world world = alone();
  trainer<fed_speech> one(world, {.batch = samples});
  const seen want = steps_of(one, [&](const auto& batch, const auto&) { return one.step(batch, 1e-3); });
  const reorder_options orders[] = {{.every = 1},
                                    {.asked = {.ranks = true, .slots = false}, .every = 2},
                                    {.asked = {.ranks = false, .slots = true}, .every = 0},
                                    // Samples stay with the two ranks, or with the one, that they came to.
                                    {.asked = {.together = 2}, .every = 2},
                                    {.asked = {.together = 1}},
                                    {.by = backwards}};
  for (const plan& how : plans)
    for (const reorder_options& order : orders) {
      if (!laws::in_our_half(static_cast<std::uint64_t>((&how - plans) + (&order - orders)))) continue;
      CAPTURE(&how - plans);
      CAPTURE(&order - orders);
      const seen got = in_order(world, how, order, &order == orders);
      CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
      CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
      CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
    }
}

TEST_CASE("the order of an expected batch is found beside the step before it, and is the same order") {
  const launched_world world = alone();
  const reorder_options counted{.every = 0};
  const seen now = in_order(world, plans[2], counted), ahead = in_order(world, plans[2], counted, true);
  CHECK_EQ(now.losses, ahead.losses);
  CHECK_EQ(now.weights, ahead.weights);

  std::vector<std::thread::id> who;
  const auto look = [&](const step_headers& of) {
    who.push_back(std::this_thread::get_id());
    return in_turn(of.samples);
  };
  trainer<fed_speech> train(world, plans[1], {.batch = samples});
  reordered_steps steps(train, samples, {.by = look});
  const fed_text first(1), second(2), third(3);
  steps.expect(second.get());
  steps.step(first.get(), 1e-3);
  steps.expect(first.get());
  steps.step(second.get(), 1e-3);
  // Another batch came than was expected: its order is found when it is there.
  steps.step(third.get(), 1e-3);
  const auto here = std::this_thread::get_id();
  REQUIRE_EQ(who.size(), 4);
  CHECK_EQ(who[0], here);
  CHECK_NE(who[1], here);
  CHECK_NE(who[2], here);
  CHECK_EQ(who[3], here);
  CHECK(steps.told().waited_seconds >= steps.told().search_seconds);
}

TEST_CASE("an order is told when it is found: beside a step, or before one that was not expected") {
  const launched_world world = alone();
  trainer<fed_speech> train(world, plans[2], {.batch = samples});
  reordered_steps steps(train, samples, {.every = 0});
  std::vector<std::pair<sample_order, std::thread::id>> heard;
  steps.when_found([&](const sample_order& order) { heard.emplace_back(order, std::this_thread::get_id()); });
  const fed_text first(1), second(2), third(3);
  const auto here = std::this_thread::get_id();
  steps.find(first.get());
  REQUIRE_EQ(heard.size(), 1);
  CHECK(heard[0].second == here);
  steps.expect(second.get());
  steps.step(first.get(), 1e-3);
  CHECK(steps.told().waited_seconds >= steps.told().search_seconds);
  // It is being looked for, and this waits for it.
  steps.find(second.get());
  REQUIRE_EQ(heard.size(), 2);
  CHECK(heard[1].second != here);
  steps.step(second.get(), 1e-3);
  steps.find(third.get());
  CHECK_EQ(heard.size(), 3);
  const double loss = steps.step(third.get(), 1e-3).loss;

  // The order is the same, told or not.
  trainer<fed_speech> again(world, plans[2], {.batch = samples});
  reordered_steps plain(again, samples, {.every = 0});
  for (const fed_text* each : {&first, &second}) plain.step(each->get(), 1e-3);
  CHECK_EQ(plain.step(third.get(), 1e-3).loss, loss);
}

TEST_CASE("headers say what each sample brings to every module") {
  const launched_world world = alone();
  trainer<fed_speech> train(world, plans[2], {.batch = samples});
  const fed_text data(3);
  int asked = 0;
  const auto look = [&](const step_headers& of) {
    ++asked;
    REQUIRE_EQ(of.samples, samples);
    for (std::int32_t s = 0; s < samples; ++s) {
      const auto at = static_cast<std::size_t>(s);
      const motet::isize shown = data.data.picture_offsets[at + 1] - data.data.picture_offsets[at];
      CHECK_EQ(of.rows_of("eye", s), 5 * shown);
      CHECK_EQ(of.rows_of("glue", s), 5 * shown);
      CHECK_EQ(of.rows_of("talk", s), data.data.offsets[at + 1] - data.data.offsets[at]);
      CHECK_EQ(of.rows_of("ear", s), 0);
      CHECK_EQ(of.work_of(0, s) > 0, shown > 0);
    }
    return in_turn(of.samples);
  };
  reordered_steps steps(train, samples, {.by = look});
  steps.step(data.get(), 1e-3);
  CHECK_EQ(asked, 1);
  CHECK_EQ(steps.told().listed_seconds, steps.told().seconds);
}

TEST_CASE("what is told is by the clock once steps were recorded, and no order is longer than as listed") {
  const launched_world world = alone();
  for (const plan& how : {plans[0], plans[2], plans[4]}) {
    trainer<fed_speech> train(world, how, {.batch = samples});
    reordered_steps steps(train, samples, {.every = 1});
    for (std::uint64_t k = 0; k < 5; ++k) {
      const fed_text data(20 + k);
      const step_result found = steps.step(data.get(), 1e-3);
      const reorder_told& told = steps.told();
      // The second step is the first that is recorded, and counts from the fourth on: the order of the third
      // may be found while the second runs.
      CHECK_EQ(told.measured, k > 2);
      CHECK(told.seconds <= told.listed_seconds);
      CHECK(told.uneven >= 1);
      CHECK(told.gained() >= 1);
      // A computation takes no longer than the step that it is in, or a few of them.
      if (told.measured) CHECK(told.seconds < 1000 * found.seconds);
    }
  }
}

TEST_CASE("an order that is none is refused, and so are other batches") {
  const launched_world world = alone();
  trainer<fed_speech> train(world, plans[1], {.batch = samples});
  const fed_text data(1);
  const auto refused = [&](step_sorter by) {
    reordered_steps steps(train, samples, {.by = std::move(by)});
    try {
      steps.step(data.get(), 1e-3);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  const auto has = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos && text.find("[MT-R37]") != std::string::npos;
  };
  CHECK(has(refused([](const step_headers&) { return sample_order{0, 1}; }), "it names 2 of 12 samples"));
  CHECK(has(refused([](const step_headers& of) { return sample_order(of.samples, 3); }),
            "it names sample 3 twice"));
  CHECK(has(refused([](const step_headers& of) {
              sample_order order = in_turn(of.samples);
              order[4] = 12;
              return order;
            }),
            "it names sample 12, the step has 12"));
  reordered_steps grouped(train, samples, {.asked = {.together = 1}, .by = backwards});
  CHECK_THROWS_WITH(grouped.step(data.get(), 1e-3),
                    doctest::Contains("it takes sample 11 out of its group of ranks"));
  reordered_steps steps(train, 8);
  CHECK_THROWS_WITH(steps.step(data.get(), 1e-3),
                    doctest::Contains("a batch of 12 samples, the steps have 8"));
  CHECK_EQ(train.updates(), 0);
}
