// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/profile_pair.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/model/module.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace motet;

namespace {

using ear =
    module<"ear", text_tower<text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4}>>;
using eye = module<"eye", frozen<vit<vit_config{.image = 8,
                                                .patch = 4,
                                                .width = 16,
                                                .layers = 3,
                                                .heads = 4,
                                                .embedding = 4,
                                                .pool = pool_kind::mean}>>>;

// Says a time that depends on whether the other is at work, after a short sleep in which the other may begin.
struct scripted_work {
  std::atomic<int>& busy;
  double alone, together;
  int calls = 0, fails_at = -1;
  double timed() {
    if (calls++ == fails_at) throw std::runtime_error("a block failed");
    ++busy;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool beside = busy > 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --busy;
    return beside ? together : alone;
  }
};

}  // namespace

TEST_CASE("each share has the threads that a lane has by it") {
  const module_pair found =
      profile_pair<ear, eye, cpu::device, fp32>({.samples = 2, .threads = 4, .repeats = 1, .seconds = 0});
  CHECK(found.first == label("ear"));
  CHECK(found.second == label("eye"));
  CHECK(found.samples == 2);
  REQUIRE(found.points.size() == 3);
  for (int i = 0; i < 3; ++i) {
    const pair_point& at = found.points[i];
    CHECK(at.share == .25 * (i + 1));
    CHECK(at.first_threads == i + 1);
    CHECK(at.second_threads == 3 - i);
    CHECK(at.first > 0);
    CHECK(at.second > 0);
  }
}

TEST_CASE("what counts as together are times at which both compute") {
  std::atomic<int> busy{0};
  scripted_work one{busy, 1, 5}, other{busy, 2, 9};
  list<double> alone, first, second;
  const pair_options how{.repeats = 20, .seconds = 0};
  detail::time_alone(one, how, alone);
  CHECK(alone.size() == 20);
  CHECK(median(alone) == 1);
  detail::time_together(one, other, how, first, second);
  CHECK(first.size() >= 20);
  CHECK(second.size() >= 20);
  // One that is through goes on until the other is.
  CHECK(one.calls - 20 >= first.size());
}

TEST_CASE("seconds are of each round, repeats too") {
  std::atomic<int> busy{0};
  scripted_work one{busy, 1, 5};
  list<double> alone;
  detail::time_alone(one, {.repeats = 2, .seconds = 4.5}, alone);
  CHECK(alone.size() == 5);
  detail::time_alone(one, {.repeats = 2, .seconds = 0}, alone);
  CHECK(alone.size() == 7);
}

TEST_CASE("a failure of one lane is thrown, and the other stops") {
  for (const bool first : {true, false}) {
    std::atomic<int> busy{0};
    scripted_work one{busy, 1, 5, 0, first ? 3 : -1}, other{busy, 1, 5, 0, first ? -1 : 3};
    list<double> a, b;
    CHECK_THROWS_WITH((detail::time_together(one, other, {.repeats = 1000000, .seconds = 0}, a, b)),
                      "a block failed");
  }
}

TEST_CASE("shares that leave a lane nothing are refused") {
  const auto refuses = [](pair_options how, const char* part) {
    CHECK_THROWS_WITH_AS((profile_pair<ear, eye, cpu::device, fp32>(how)), doctest::Contains(part), error);
  };
  refuses({.shares = {1}}, "a share of 1.0");
  refuses({.shares = {0}}, "MT-R02");
  refuses({.samples = 0}, "0 samples on 2 threads");
  refuses({.threads = 0}, "16 samples on 0 threads");
}
