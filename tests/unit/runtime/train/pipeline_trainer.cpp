// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/train/pipeline_trainer.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/write/schedules.hpp>

#include "drawn_cases.hpp"
#include "pipeline_comparisons.hpp"
#include "unit/runtime/allocations.hpp"

#include <limits>
#include <random>

namespace {

using picture = motet::module<
    "picture", vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 4, .heads = 2, .embedding = 8}>>;
using caption =
    motet::module<"caption",
                  text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;
using trainer_type = pipeline<towers, fp32>;

pipeline_config quick(motet::isize samples) {
  pipeline_config config;
  config.batch = samples;
  config.deadline = 20;
  return config;
}
void compare(const score& order, motet::isize samples, std::vector<std::vector<motet::isize>> layers = {}) {
  static std::uint64_t asked = 0;
  if (!laws::in_our_half(asked++)) return;
  compare_with_single_rank<towers, fp32>(order, samples, 1e-5, std::move(layers));
}
// Both towers by one schedule; a loss for each microbatch, or one for all where the order is all forward
// first.
score both(const char* name, int picture_stages, int caption_stages, int microbatches, int groups) {
  const auto one = [&](int stages) {
    return write_schedule(name, {.stages = stages, .microbatches = microbatches});
  };
  return joined(beside(one(picture_stages), one(caption_stages)), groups);
}
// Ranks of one's own choice for every stage, all forward and then all backward in each group.
score placed(int ranks, const std::vector<std::vector<int>>& places, int microbatches, int groups) {
  score out;
  for (std::size_t v = 0; v < places.size(); ++v) {
    voice made;
    made.module = static_cast<std::int32_t>(v);
    made.stages = static_cast<int>(places[v].size());
    made.microbatches = microbatches;
    made.join = 0;
    made.group = microbatches / groups;
    out.add(made, [&](int stage) { return places[v][static_cast<std::size_t>(stage)]; });
  }
  for (int r = 0; r < ranks; ++r) {
    out.rank();
    for (int g = 0; g < groups; ++g) {
      const auto all = [&](op what) {
        for (int m = g * microbatches / groups; m < (g + 1) * microbatches / groups; ++m)
          for (std::size_t v = 0; v < places.size(); ++v)
            for (int k = 0; k < static_cast<int>(places[v].size()); ++k) {
              const int s = what == op::forward ? k : static_cast<int>(places[v].size()) - 1 - k;
              if (places[v][static_cast<std::size_t>(s)] == r) out.play(what, static_cast<int>(v), s, m);
            }
      };
      all(op::forward);
      for (const auto& each : places)
        if (each.back() == r) {
          out.join(0, g);
          break;
        }
      all(op::backward);
    }
  }
  return out;
}
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const error& problem) {
    return problem.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("every schedule gives the single rank's loss and gradients") {
  for (const char* name : {"gpipe", "1f1b", "zb_h1", "zb_h2", "zb_auto"}) {
    CAPTURE(name);
    compare(both(name, 1, 1, 4, 4), 8);
    compare(both(name, 2, 3, 4, 4), 9 * 4);
    compare(both(name, 4, 2, 6, 6), 12, {{1, 1, 1, 1}, {3, 1}});
    compare(both(name, 3, 2, 4, 4), 12, {{1, 1, 2}, {}});
  }
  // Two chunks on each device.
  for (const char* name : {"interleaved", "zb_v", "dualpipe_v"}) {
    CAPTURE(name);
    compare(both(name, 2, 2, 8, 8), 16);
    compare(both(name, 2, 1, 4, 4), 13 * 4, {{}, {1, 3}});
  }
}

TEST_CASE("losses over several microbatches, fewer or more than the stages") {
  for (const int groups : {1, 2, 3}) {
    CAPTURE(groups);
    compare(both("gpipe", 3, 2, 6, groups), 12);
    compare(both("gpipe", 2, 4, 6, groups), 30, {{3, 1}, {}});
  }
}

TEST_CASE("batch-synchronous pipelines, whatever is stashed, hidden and grouped") {
  for (const int stash : {0, 1, 3, 4}) {
    for (const int ahead : {0, 2}) {
      CAPTURE(stash);
      CAPTURE(ahead);
      compare(batch_sync::write({{{2, 8, 4, stash, ahead}, {3, 8, 4, -1, 0}}, 2}), 16, {{3, 1}, {}});
      compare(batch_sync::write({{{4, 4, 4, stash, ahead}, {1, 2, 2, 0, 0}}, 2}), 12);
    }
  }
  // Groups cut unevenly: 7 samples in 4 and in 3 microbatches.
  compare(batch_sync::write({{{2, 8, 4, 2}, {2, 6, 3, 0}}, 2}), 14);
}

TEST_CASE(
    "ranks may hold both towers, parts of both, the end of one and the start of the other, or nothing") {
  for (const int groups : {1, 2}) {
    compare(placed(1, {{0}, {0}}, 4, groups), 8);
    compare(placed(1, {{0, 0, 0}, {0, 0}}, 4, groups), 8);
    compare(placed(2, {{0, 1}, {1, 0}}, 4, groups), 10);
    compare(placed(3, {{0, 1}, {1, 2}}, 4, groups), 8, {{1, 3}, {2, 2}});
    compare(placed(3, {{2, 1, 2, 0}, {2, 0, 1}}, 4, groups), 8);
    compare(placed(4, {{0, 2}, {2, 0}}, 2, groups), 4);
  }
}

TEST_CASE("several steps with clipping leave the weights of the single rank") {
  const test_data first(8, 1), second(8, 2);
  optimizer_settings settings;
  settings.clip = 0.5;
  single_rank<towers, fp32> one(8, 1, settings, 7);
  pipeline_config config = quick(8);
  config.seed = 7;
  config.optimizer = settings;
  trainer_type many(batch_sync::write({{{2, 4, 4, 1}, {3, 4, 4}}, 2}), config);
  many.prepare();
  CHECK(many.weights() == one.weights);
  for (int k = 0; k < 6; ++k) {
    const auto whole = (k % 2 == 0 ? first : second).batch<towers>();
    const step_result wanted = one.step(whole, 1e-3), found = many.step(whole, 1e-3);
    CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-5));
    CHECK(wanted.gradient_norm > settings.clip);
    CHECK(found.gradient_norm == doctest::Approx(wanted.gradient_norm).epsilon(1e-5));
    CHECK(found.rate == 1e-3);
  }
  CHECK(many.updates() == 6);
  const single_rank<towers, fp32> start(8, 1, settings, 7);
  CHECK(way_apart(many.weights(), one.weights, start.weights) < 1e-4);
  const flat_state<float> state = many.state();
  CHECK(apart<towers>(state.first, one.first) < 1e-4);
  CHECK(apart<towers>(state.second, one.second) < 1e-4);
}

TEST_CASE("several losses in a step, several steps") {
  single_rank<towers, fp32> one(12, 3);
  trainer_type many(both("1f1b", 3, 2, 3, 3), quick(12));
  many.prepare();
  for (int k = 0; k < 4; ++k) {
    const test_data data(12, static_cast<std::uint64_t>(k));
    const auto whole = data.batch<towers>();
    const step_result wanted = one.step(whole, 1e-3), found = many.step(whole, 1e-3);
    CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-5));
    CHECK(found.gradient_norm == doctest::Approx(wanted.gradient_norm).epsilon(1e-5));
  }
  CHECK(way_apart(many.weights(), one.weights, single_rank<towers, fp32>(12, 3).weights) < 1e-4);
  CHECK(apart<towers>(many.state().first, one.first) < 1e-4);
}

TEST_CASE("a forecast tells the bytes that are taken, and what slots hold") {
  const std::vector<score> orders{batch_sync::write({{{2, 8, 4, 1}, {2, 4, 2, 0, 1}}, 2}),
                                  both("zb_h2", 3, 2, 4, 4), both("zb_v", 2, 2, 8, 8),
                                  placed(3, {{0, 1}, {1, 2}}, 4, 2), placed(1, {{0}, {0}}, 4, 1)};
  for (const score& order : orders) {
    trainer_type train(order, quick(16));
    motet::isize planned = 0, weights = 0, slots = 0;
    for (const rank_memory& each : train.forecast()) {
      planned += each.total();
      weights += each.stages.weights;
      slots += each.stages.slots;
      CHECK(each.stages.optimizer == 2 * each.stages.weights);
    }
    CHECK(weights == towers::trainable_of_modules * 4);
    CHECK(slots > 0);
    const long before = page_bytes.load();
    train.prepare();
    CHECK(page_bytes.load() - before == planned);
    // Captions of full length fill their slots to the byte.
    const test_data data(16, 1, true);
    train.step(data.batch<towers>(), 1e-3);
    const std::vector<motet::isize> used = train.used_of_slots();
    for (std::size_t r = 0; r < used.size(); ++r) CHECK(used[r] == train.forecast()[r].stages.slots);
    // Shorter ones stay below.
    const test_data less(16, 2);
    train.step(less.batch<towers>(), 1e-3);
  }
}

TEST_CASE("a rank keeps as much as the schedule lets it") {
  // 1F1B keeps as many as there are stages behind, GPipe all.
  const std::vector<rank_memory> in_turns = trainer_type(both("1f1b", 4, 1, 8, 8), quick(16)).forecast(),
                                 all_forward = trainer_type(both("gpipe", 4, 1, 8, 8), quick(16)).forecast();
  for (std::size_t r = 1; r < 3; ++r) {
    CHECK(in_turns[r].stages.slots * 8 == all_forward[r].stages.slots * (4 - static_cast<motet::isize>(r)));
    CHECK(in_turns[r].stages.weights == all_forward[r].stages.weights);
  }
}

TEST_CASE("a step allocates nothing") {
  for (const score& order :
       {both("zb_h1", 2, 2, 4, 4), batch_sync::write({{{2, 8, 4, 1}, {1, 8, 4, 0, 1}}, 2})}) {
    trainer_type train(order, quick(8));
    train.prepare();
    const test_data data(8), other(8, 2);
    const auto one = data.batch<towers>(), two = other.batch<towers>();
    const long before = allocations.load();
    for (int k = 0; k < 3; ++k) {
      train.step(one, 1e-3);
      train.step(two, 1e-3);
    }
    CHECK(allocations.load() == before);
  }
}

// Scores of one cast: of schedules that keep unlike many microbatches, and of towers that stash unlike much.
std::vector<std::vector<score>> casts() {
  std::vector<std::vector<score>> out(2);
  for (const char* name : {"1f1b", "gpipe", "zb_h1", "zb_h2"}) out[0].push_back(both(name, 3, 2, 6, 6));
  for (const int stash : {4, 1, 0})
    out[1].push_back(batch_sync::write({{{2, 8, 4, stash, stash == 1 ? 2 : 0}, {3, 8, 4, 4 - stash, 0}}, 2}));
  return out;
}

TEST_CASE("scores of one cast take turns, and every step is the single rank's") {
  for (const bool by_rows : {false, true})
    for (const std::vector<score>& orders : casts()) {
      CAPTURE(by_rows);
      const motet::isize groups = orders[0].voices()[0].joins();
      pipeline_config config = quick(24);
      config.each.rooms.by_rows = by_rows;
      pipeline<towers, fp32> many(orders, config);
      many.prepare();
      single_rank<towers, fp32> one(24, groups);
      const test_data data[] = {test_data(24), test_data(24, 2), test_data(24, 3)};
      std::mt19937_64 roll(7);
      std::int32_t played = 0;
      for (std::size_t step = 0; step < 5; ++step) {
        const auto whole = data[step % 3].batch<towers>();
        played = step == 0 ? 0 : static_cast<std::int32_t>(roll() % orders.size());
        CAPTURE(played);
        const step_result wanted = one.step(whole, 1e-3),
                          found = many.step(whole, 1e-3, nullptr, {.score = played});
        CHECK(found.score == played);
        const double tolerance = step == 0 ? 1e-5 : 2e-4;
        CHECK(laws::off_by(found.loss, wanted.loss) <= tolerance * std::abs(wanted.loss));
        CHECK(laws::off_by(found.gradient_norm, wanted.gradient_norm) <=
              2 * tolerance * wanted.gradient_norm);
      }
    }
}

TEST_CASE("every gradient is the single rank's, whichever score was played before") {
  for (const std::vector<score>& orders : casts()) {
    const test_data data(24);
    const auto whole = data.batch<towers>();
    single_rank<towers, fp32> one(24, orders[0].voices()[0].joins());
    const double loss = one.differentiate(whole);
    pipeline_config config = quick(24);
    config.update = false;
    pipeline<towers, fp32> many(orders, config);
    many.prepare();
    for (std::int32_t turn = 0; turn <= many.scores(); ++turn) {
      const std::int32_t played = turn % many.scores();
      CHECK(laws::off_by(many.step(whole, 0, nullptr, {.score = played}).loss, loss) <=
            1e-5 * std::abs(loss));
      CHECK(apart<towers>(many.gradients(), one.gradients) <= 1e-5);
    }
  }
}

TEST_CASE("a step allocates nothing when another score takes its turn, and its record is of that score") {
  for (const std::vector<score>& orders : casts()) {
    trainer_type train(orders, quick(24));
    train.prepare();
    const test_data data(24);
    const auto whole = data.batch<towers>();
    train.step(whole, 1e-3);  // threads are there
    const long before = allocations.load();
    for (std::int32_t k = 0; k <= train.scores(); ++k)
      train.step(whole, 1e-3, nullptr, {.score = k % train.scores()});
    CHECK(allocations.load() == before);
    for (std::int32_t k = train.scores(); k-- > 0;) {
      timeline when;
      train.step(whole, 1e-3, &when, {.score = k});
      REQUIRE(when.finish.size() == train.of(k).instructions.size());
      CHECK(*std::min_element(when.finish.begin(), when.finish.end()) > 0);
    }
  }
}

TEST_CASE("ranks hold what the score asks for that asks for most") {
  const std::vector<score> orders = casts()[0];
  std::vector<motet::isize> most;
  for (const score& each : orders) {
    const auto alone = trainer_type(each, quick(24)).forecast();
    most.resize(alone.size());
    for (std::size_t r = 0; r < alone.size(); ++r)
      most[r] = std::max(most[r], alone[r].stages.slots + alone[r].stages.boundaries);
  }
  const auto all = trainer_type(orders, quick(24)).forecast();
  for (std::size_t r = 0; r < all.size(); ++r)
    CHECK(all[r].stages.slots + all[r].stages.boundaries >= most[r]);
}

TEST_CASE("scores of other casts, and scores that are not there, are refused") {
  const score first = both("1f1b", 3, 2, 6, 6);
  const auto with = [&](const score& other) {
    return refusal([&] { trainer_type(std::vector<score>{first, other}, quick(24)); });
  };
  CHECK(with(both("1f1b", 2, 3, 6, 6)).find("voice 0 has 2 stages, wanted 3") != std::string::npos);
  CHECK(with(both("1f1b", 3, 2, 4, 4)).find("voice 0 has 4 microbatches, wanted 6") != std::string::npos);
  CHECK(with(both("gpipe", 3, 2, 6, 2)).find("MT-R75") != std::string::npos);
  trainer_type train(std::vector<score>{first, both("zb_h1", 3, 2, 6, 6)}, quick(24));
  train.prepare();
  const test_data data(24);
  CHECK(refusal([&] {
          train.step(data.batch<towers>(), 0, nullptr, {.score = 2});
        }).find("score 2 was picked, there are 2") != std::string::npos);
}

TEST_CASE("a run goes on from what another left, by another program") {
  const test_data data(8);
  const auto whole = data.batch<towers>();
  trainer_type from(batch_sync::write({{{2, 4, 4}, {1, 4, 4}}, 2}), quick(8));
  from.prepare();
  for (int k = 0; k < 3; ++k) from.step(whole, 1e-3);
  flat_state<float> kept = from.state();
  CHECK(kept.updates == 3);
  CHECK(kept.weights.size() == static_cast<std::size_t>(towers::parameter_size));
  CHECK(kept.first.size() == static_cast<std::size_t>(towers::trainable_size));

  pipeline_config other = quick(8);
  other.seed = 99;
  trainer_type same(batch_sync::write({{{2, 4, 4}, {1, 4, 4}}, 2}), other),
      next(both("gpipe", 3, 2, 4, 1), other);
  for (trainer_type* each : {&same, &next}) {
    each->prepare();
    CHECK(each->weights() != kept.weights);
    each->set_state(kept);
    CHECK(each->weights() == kept.weights);
    CHECK(each->state().first == kept.first);
    CHECK(each->state().second == kept.second);
    CHECK(each->updates() == 3);
  }
  const step_result wanted = from.step(whole, 1e-3), exact = same.step(whole, 1e-3),
                    near = next.step(whole, 1e-3);
  CHECK(exact.loss == wanted.loss);
  CHECK(same.weights() == from.weights());
  CHECK(near.loss == doctest::Approx(wanted.loss).epsilon(1e-5));
  CHECK(near.gradient_norm == doctest::Approx(wanted.gradient_norm).epsilon(1e-5));
  kept.first.pop_back();
  CHECK(refusal([&] { next.set_state(kept); }).find("MT-R02") != std::string::npos);
  CHECK(refusal([&] { next.set_weights({}); }).find("got 0 numbers for a buffer of") != std::string::npos);
}

TEST_CASE("a timeline of a step is recorded when asked for") {
  trainer_type train(both("1f1b", 2, 1, 4, 4), quick(8));
  train.prepare();
  const test_data data(8);
  timeline when;
  const step_result found = train.step(data.batch<towers>(), 1e-3, &when);
  CHECK(when.makespan > 0);
  CHECK(when.makespan <= found.seconds);
  REQUIRE(when.finish.size() == train.of().instructions.size());
  for (std::int32_t i = 0; i < train.of().instructions.size(); ++i) CHECK(when.finish[i] > 0);
  CHECK(when.gaps.empty());  // no rank shares a microbatch with others
}

TEST_CASE("what is not finite is named, and the weights stay") {
  trainer_type train(both("1f1b", 2, 2, 4, 4), quick(8));
  train.prepare();
  test_data data(8);
  train.step(data.batch<towers>(), 1e-3);
  const std::vector<float> before = train.weights();
  data.pixels[3 * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  const std::string text = refusal([&] { train.step(data.batch<towers>(), 1e-3); });
  CAPTURE(text);
  CHECK(text.find("MT-R01") != std::string::npos);
  CHECK(text.find("the input of \"picture\", sample 1") != std::string::npos);
  CHECK(train.weights() == before);
  CHECK(train.updates() == 1);
  // A good batch goes on as if nothing had happened.
  data.pixels[3 * 64 + 5] = 0;
  CHECK(std::isfinite(train.step(data.batch<towers>(), 1e-3).loss));
  CHECK(train.updates() == 2);
  // A bad weight on whatever rank.
  std::vector<float> broken = train.weights();
  const auto found =
      std::find_if(train.parameters().begin(), train.parameters().end(),
                   [](const parameter& p) { return p.name == "caption.blocks.1.mlp.up.weight"; });
  REQUIRE(found != train.parameters().end());
  broken[static_cast<std::size_t>(found->offset + 3)] = std::numeric_limits<float>::infinity();
  train.set_weights(broken);
  CHECK(refusal([&] {
          train.step(data.batch<towers>(), 1e-3);
        }).find("weight caption.blocks.1.mlp.up.weight, element 3 is inf") != std::string::npos);
}

TEST_CASE("what does not fit is refused with its place") {
  const score order = both("gpipe", 2, 2, 4, 2);
  const auto made = [&](const score& of, pipeline_config config) {
    return refusal([&] { trainer_type(of, config); });
  };
  CHECK(made(order, quick(3)).find("a batch of 3 samples in 2 groups of 2 microbatches") !=
        std::string::npos);
  CHECK(made(order, quick(2)).find("MT-R02") != std::string::npos);
  CHECK(made(both("gpipe", 5, 2, 4, 2), quick(8)).find("MT-P09") != std::string::npos);
  pipeline_config nobody = quick(8);
  nobody.each.threads = 0;
  CHECK(made(order, nobody).find("ranks with 0 threads each, wanted 1 to 4096") != std::string::npos);
  pipeline_config uneven = quick(8);
  uneven.modules = {{.layers = {3, 2}}};
  CHECK(made(order, uneven).find("picture has 4 layers, and its stages hold 5") != std::string::npos);
  CHECK(made(beside(gpipe::write({1, 2}), gpipe::write({1, 2})), quick(8)).find("MT-R09") !=
        std::string::npos);

  trainer_type train(order, quick(8));
  const test_data data(8), more(9);
  CHECK(refusal([&] { train.step(data.batch<towers>(), 0); }).find("before prepare()") != std::string::npos);
  train.prepare();
  CHECK(refusal([&] {
          train.step(more.batch<towers>(), 0);
        }).find("picture has 9 samples, planned for exactly 8") != std::string::npos);
  test_data longer(8);
  for (std::size_t s = 3; s < longer.offsets.size(); ++s) longer.offsets[s] += 7;
  longer.ids.resize(longer.ids.size() + 7, 0);
  CHECK(refusal([&] { train.step(longer.batch<towers>(), 0); }).find("caption has a sample longer than 6") !=
        std::string::npos);
  // Nothing was begun, so it can go on.
  CHECK(std::isfinite(train.step(data.batch<towers>(), 1e-3).loss));
}

TEST_CASE("a step that is late is stopped, and no other comes after it") {
  pipeline_config config = quick(64);
  config.deadline = 1e-5;
  trainer_type train(both("1f1b", 4, 2, 16, 16), config);
  train.prepare();
  const test_data data(64);
  const std::string text = refusal([&] { train.step(data.batch<towers>(), 1e-3); });
  CAPTURE(text);
  CHECK(text.find("MT-R07") != std::string::npos);
  CHECK(text.find("waits for") != std::string::npos);
  CHECK(text.find("of picture, stage") != std::string::npos);
  CHECK(refusal([&] { train.step(data.batch<towers>(), 1e-3); }).find("MT-R08") != std::string::npos);
}

TEST_CASE("ranks that are teams of threads give what single threads give") {
  const test_data data(16);
  const auto whole = data.batch<towers>();
  for (const char* const schedule : {"gpipe", "zb_h1"}) {
    CAPTURE(std::string(schedule));
    std::vector<step_result> found[2];
    std::vector<float> weights[2];
    for (const int threads : {1, 3}) {
      pipeline_config config = quick(16);
      config.each.threads = threads;
      trainer_type train(both(schedule, 2, 2, 4, 4), config);
      for (const rank_memory& each : train.forecast()) CHECK(each.threads == threads);
      train.prepare();
      for (int k = 0; k < 3; ++k) found[threads / 3].push_back(train.step(whole, 1e-3));
      weights[threads / 3] = train.weights();
    }
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(laws::off_by(found[1][k].loss, found[0][k].loss) <= 1e-4 * found[0][k].loss);
      CHECK(laws::off_by(found[1][k].gradient_norm, found[0][k].gradient_norm) <=
            1e-3 * found[0][k].gradient_norm);
    }
    CHECK(laws::off_by(weights[1], weights[0]) <= 3e-3);
  }
}

TEST_CASE("training lowers the loss") {
  trainer_type train(batch_sync::write({{{2, 4, 4, 1}, {1, 4, 4}}, 2}), quick(8));
  train.prepare();
  const test_data data(8);
  const double first = train.step(data.batch<towers>(), 3e-3).loss;
  double last = first;
  for (int k = 0; k < 30; ++k) last = train.step(data.batch<towers>(), 3e-3).loss;
  CHECK(first > 1.5);
  CHECK(last < 0.5 * first);
}
