// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/save/pipeline_checkpoint
// pipeline_trainer with replicas of uneven shares, that follow what is measured.
#include <motet/runtime/train/pipeline_trainer.hpp>

#include <resplit_laws.hpp>

#include "unit/runtime/allocations.hpp"

#include <functional>

#include <unistd.h>

namespace {

using ranks_type = thread_ranks<local::world, local::endpoint>;
using trainer_type = pipeline_trainer<towers, cpu::device, fp32, ranks_type>;

// Ranks that wait before they compute, or whose clock shows what a test says.
class odd_ranks : public ranks_type {
 public:
  using ranks_type::ranks_type;
  std::function<double(const instruction&)> wait;  // milliseconds
  // seconds of a step; empty: the clock is right
  std::function<double(const voice&, std::int32_t stage)> pretends;

  struct odd_player {
    odd_ranks& all;
    std::int32_t rank;
    void set(std::int32_t number, action what) {
      auto& own = all.actions_.emplace_back(std::make_unique<slowed>(slowed{&all, what}));
      const op kind = all.sheet().of.instructions[number].what;
      all.ranks_type::player(rank).set(
          number, is_forward(kind) || is_backward(kind) ? action{&run_slowed, own.get()} : what);
    }
    void clock(double* seconds) {
      all.clock_ = seconds;
      if (!all.pretends) all.ranks_type::player(rank).clock(seconds);
    }
  };
  odd_player player(std::int32_t rank, std::int32_t = 0) { return {*this, rank}; }
  template <class Prepare>
  void run(Prepare&& prepare, timeline* record = nullptr) {
    ranks_type::run(prepare, record);
    const program& of = sheet().of;
    if (pretends && clock_ != nullptr)
      for (const voice& each : of.voices)
        for (std::int32_t s = 0; s < each.stages; ++s) clock_[each.first_place + s] += pretends(each, s);
  }

 private:
  struct slowed {
    odd_ranks* all;
    action what;
  };
  static bool run_slowed(void* self, const instruction& it, std::int32_t number) {
    const slowed& own = *static_cast<slowed*>(self);
    if (own.all->wait)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(own.all->wait(it)));
    return own.what.run(own.what.stage, it, number);
  }
  std::vector<std::unique_ptr<slowed>> actions_;
  double* clock_ = nullptr;
};
using odd_trainer = pipeline_trainer<towers, cpu::device, fp32, odd_ranks>;

// Pictures on so many replicas, captions on the rank behind them; two microbatches each, one loss.
score replicas(int count) {
  return placed(joined(beside(gpipe::write({1, 2}), gpipe::write({1, 2})), 1), {{count, 1}, {1, 1}},
                count + 1, [count](std::int32_t voice, std::int32_t replica, std::int32_t, std::int32_t) {
                  return voice == 0 ? replica : count;
                });
}
pipeline_config quick(motet::isize batch, const resplit_options& how) {
  pipeline_config config;
  config.batch = batch;
  config.deadline = 60;
  config.resplit = how;
  return config;
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

TEST_CASE("any shares, other ones in each step, give the single rank's loss, gradients and weights") {
  plan_maker maker(21, 6, 2);
  for (std::uint64_t i = 0; i < 6; ++i) compare_any_shares<ranks_type>(make_with_replicas(maker), i);
}

TEST_CASE("memory is planned for the largest share, and none is taken in a step") {
  for (const double most : {1.0, 1.25, 1.5}) {
    CAPTURE(most);
    trainer_type train(replicas(3), quick(24, {.every = 1000, .most = most > 1 ? most : 1.01}));
    trainer_type even(replicas(3), quick(24, {}));
    const std::vector<rank_memory> planned = train.forecast(), usual = even.forecast();
    motet::isize bytes = 0;
    for (std::size_t r = 0; r < planned.size(); ++r) {
      bytes += planned[r].total();
      CHECK(planned[r].stages.weights == usual[r].stages.weights);
      CHECK((planned[r].total() > usual[r].total()) == (most > 1));
    }
    const long before = page_bytes.load();
    train.prepare();
    CHECK(page_bytes.load() - before == bytes);
    const test_data data(24, 1, true);
    const auto whole = data.batch<towers>();
    const auto largest = bounds_of({.most = most}, 24, 3, 2).most;
    for (motet::isize r = 0; r < 3; ++r) {
      list<motet::isize> shares(3, 0);
      for (motet::isize k = 0; k < 3; ++k) shares[k] = k == r ? largest : (24 - largest) / 2;
      train.set_shares(0, shares);
      const long allocated = allocations.load();
      for (int k = 0; k < 3; ++k) train.step(whole, 1e-3);
      CHECK(allocations.load() == allocated);
      // The rank that has most fills its slots to the byte.
      CHECK(train.used_of_slots()[static_cast<std::size_t>(r)] ==
            planned[static_cast<std::size_t>(r)].stages.slots);
    }
    CHECK(page_bytes.load() - before == bytes);
  }
}

TEST_CASE("samples leave a slow replica until the bounds") {
  odd_trainer train(replicas(2), quick(16, {.every = 2, .most = 1.25, .step = 0.25}));
  train.ranks().wait = [&](const instruction& it) {
    const voice& sings = train.of().voices[it.voice];
    const interval mine =
        share(train.shares(sings.module)[sings.replica], sings.group, it.microbatch % sings.group);
    return static_cast<double>(mine.size()) * (sings.module == 0 && sings.replica == 0 ? 2 : 0.25);
  };
  train.prepare();
  single_rank<towers, fp32> one(16, 1);
  const test_data data(16);
  const auto whole = data.batch<towers>();
  CHECK(train.shares(0) == list<motet::isize>{8, 8});
  int steps = 0;
  for (; steps < 200 && !(train.shares(0) == list<motet::isize>{6, 10}); ++steps) {
    const double loss = train.step(whole, 1e-4).loss;
    if (steps < 8) CHECK(loss == doctest::Approx(one.step(whole, 1e-4).loss).epsilon(1e-4));
    CHECK(train.shares(0)[0] + train.shares(0)[1] == 16);
    CHECK(train.shares(0)[1] <= 10);
    CHECK(train.shares(1) == list<motet::isize>{16});
  }
  CHECK(train.shares(0) == list<motet::isize>{6, 10});
  CHECK(steps >= 2);
}

TEST_CASE("shares come to where all replicas are through at the same time, and follow when that changes") {
  odd_trainer train(replicas(3),
                    quick(24, {.every = 3, .most = 2, .step = 0.25, .smoothing = 0, .worth = 0}));
  std::vector<double> rates{1, 2, 2};
  train.ranks().pretends = [&](const voice& sings, std::int32_t) {
    const auto mine = static_cast<double>(train.shares(sings.module)[sings.replica]);
    return sings.module == 0 ? mine * rates[static_cast<std::size_t>(sings.replica)] : 0.01 * mine;
  };
  train.prepare();
  single_rank<towers, fp32> one(24, 1);
  const std::vector<float> start = one.weights;
  const test_data data(24);
  const auto whole = data.batch<towers>();
  const auto go = [&](int steps) {
    for (int k = 0; k < steps; ++k) {
      const step_result wanted = one.step(whole, 1e-3), found = train.step(whole, 1e-3);
      CHECK(found.loss == doctest::Approx(wanted.loss).epsilon(1e-4));
    }
  };
  go(2);
  CHECK(train.shares(0) == list<motet::isize>{8, 8, 8});
  go(1);
  CHECK(train.shares(0) == list<motet::isize>{10, 7, 7});
  go(6);
  CHECK(train.shares(0) == list<motet::isize>{12, 6, 6});
  rates = {2, 1, 1};
  go(15);
  CHECK(train.shares(0)[0] <= 5);
  CHECK(train.shares(0)[0] >= 4);
  CHECK(way_apart(train.weights(), one.weights, start) < 1e-3);
}

TEST_CASE("shares are not in a checkpoint: a run goes on with even ones") {
  const std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("motet_resplit_" + std::to_string(::getpid()));
  const test_data data(24);
  const auto whole = data.batch<towers>();
  single_rank<towers, fp32> one(24, 1);
  const std::vector<float> start = one.weights;
  trainer_type uneven(replicas(3), quick(24, {.every = 0, .most = 2}));
  uneven.prepare();
  uneven.set_shares(0, {2, 16, 6});
  for (int k = 0; k < 2; ++k) {
    one.step(whole, 1e-3);
    uneven.step(whole, 1e-3);
  }
  save(uneven, run, "towers", json{}, json{});
  for (const double most : {1.0, 2.0}) {
    trainer_type next(replicas(3), quick(24, {.every = 0, .most = most}));
    next.prepare();
    load(next, checkpoint(run), "towers");
    CHECK(next.updates() == 2);
    CHECK(next.weights() == uneven.weights());
    CHECK(next.shares(0) == list<motet::isize>{8, 8, 8});
    single_rank<towers, fp32> rest(24, 1);
    rest.weights = one.weights;
    rest.first = one.first;
    rest.second = one.second;
    rest.updates = one.updates;
    for (int k = 0; k < 2; ++k)
      CHECK(next.step(whole, 1e-3).loss == doctest::Approx(rest.step(whole, 1e-3).loss).epsilon(1e-4));
    CHECK(way_apart(next.weights(), rest.weights, start) < 1e-3);
  }
  std::filesystem::remove_all(run);
}

TEST_CASE("bad options and shares are refused with what is wanted") {
  const auto made = [&](const resplit_options& how) {
    return refusal([&] { trainer_type(replicas(2), quick(16, how)); });
  };
  CHECK(made({.every = -1}).find("resplit: every is -1, must be a number of steps, or 0 for never") !=
        std::string::npos);
  CHECK(made({.every = 5}).find("resplit: most is 1.0") != std::string::npos);
  trainer_type train(replicas(2), quick(16, {.every = 0, .most = 1.25}));
  CHECK(refusal([&] {
          train.set_shares(0, {8, 8});
        }).find("set_shares() before prepare()") != std::string::npos);
  train.prepare();
  CHECK(refusal([&] {
          train.set_shares(0, {4, 12});
        })
            .find("shares of picture are 4, 12; its 2 replicas share 16 samples of a group, each has 2 to 10 "
                  "of them") != std::string::npos);
  CHECK(refusal([&] { train.set_shares(2, {16}); }).find("resplit: module is 2, must be one of 2") !=
        std::string::npos);
  CHECK(train.shares(0) == list<motet::isize>{8, 8});
  trainer_type even(replicas(2), quick(16, {}));
  even.prepare();
  CHECK(refusal([&] { even.set_shares(0, {7, 9}); }).find("each has 2 to 8 of them") != std::string::npos);
}
