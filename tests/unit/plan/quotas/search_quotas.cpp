// SPDX-License-Identifier: Apache-2.0
#include "drawn_quotas.hpp"

#include <motet/plan/quotas/search_quotas.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

using namespace motet;

namespace {

// Every module is in one wave, behind what it comes after, on devices that are there; at no moment are more
// shares taken of a device than it has.
void check_plan_of(const quota_question& asked, const quota_found& found) {
  const quota_times times(asked, found.how.remade);
  std::uint64_t done = 0;
  std::vector<quota_place> places(asked.modules.size());
  for (const quota_wave& wave : found.how.waves) {
    const std::uint64_t before = done;
    for (const quota_place& each : wave) {
      CHECK((done >> each.module & 1) == 0);
      done |= std::uint64_t{1} << each.module;
      CHECK(each.on != 0);
      CHECK((each.on & ~((std::uint64_t{1} << asked.devices) - 1)) == 0);
      for (const isize other : asked.modules[as_size(each.module)].after) CHECK((before >> other & 1) == 1);
      places[as_size(each.module)] = each;
    }
  }
  CHECK(done == (std::uint64_t{1} << asked.modules.size()) - 1);
  const quota_played played = play_quotas(times, found.how);
  CHECK(played.seconds == found.seconds);
  CHECK(played.spans.size() == 2 * asked.modules.size());
  for (const quota_span& at : played.spans) {
    for (std::int32_t d = 0; d < asked.devices; ++d) {
      std::int32_t quotas = 0, beside = 0;
      for (const quota_span& other : played.spans) {
        const quota_place& place = places[as_size(other.module)];
        if ((place.on >> d & 1) == 0 || other.start > at.start || other.finish <= at.start) continue;
        quotas += asked.chip.quota(place.rung), ++beside;
      }
      CHECK(quotas <= asked.chip.all);
      CHECK(beside <= asked.chip.most_beside);
    }
    for (const quota_span& other : played.spans)
      for (const isize before : asked.modules[as_size(at.module)].after)
        if (!at.back && !other.back && other.module == before) CHECK(other.finish <= at.start * (1 + 1e-12));
  }
}

}  // namespace

TEST_CASE("plans with shares are valid, never slower than without, and the same again") {
  for (std::uint32_t seed = 1; seed <= 9; ++seed) {
    CAPTURE(seed);
    quota_question asked = drawn_quotas(seed, 1 + seed % 4, seed % 3 == 0);
    asked.devices = 1 + static_cast<std::int32_t>(seed % 4);
    const quota_answer found = search_quotas(asked), again = search_quotas(asked);
    for (const quota_found* each :
         {&found.best, &found.walled, &found.waves, &found.disjoint, &found.in_turn})
      check_plan_of(asked, *each);
    CHECK(found.best.fits);
    CHECK(found.best.seconds <= found.walled.seconds);
    CHECK(found.best.seconds <= found.waves.seconds);
    CHECK(found.waves.seconds <= found.in_turn.seconds);
    CHECK(found.waves.seconds <= found.disjoint.seconds);
    CHECK(again.best.seconds == found.best.seconds);
    CHECK(again.best.how.waves == found.best.how.waves);
  }
}
TEST_CASE("more devices never make a step longer") {
  for (std::uint32_t seed = 1; seed <= 2; ++seed) {
    double before = std::numeric_limits<double>::infinity();
    for (const std::int32_t devices : {1, 2, 3, 5}) {
      CAPTURE(devices);
      quota_question asked = drawn_quotas(seed, 3, seed % 2 == 0);
      asked.devices = devices;
      const double own = search_quotas(asked).best.seconds;
      CHECK(own <= before);
      before = own;
    }
  }
}
TEST_CASE("merging waves is within 2 % of all partitions, and plans twelve modules at once") {
  double worst = 0;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    quota_question asked = drawn_quotas(seed, 4, seed % 2 == 0);
    asked.devices = 2;
    const double all = search_quotas(asked, {.by = quota_waves::exact}).walled.seconds,
                 merged = search_quotas(asked, {.by = quota_waves::merged}).walled.seconds;
    CAPTURE(seed);
    CHECK(merged <= 1.02 * all);
    worst = std::max(worst, merged / all - 1);
  }
  MESSAGE("at most " << 100 * worst << " % above all partitions");
  quota_question many = drawn_quotas(1, 12, true);
  many.devices = 1;
  const quota_answer found = search_quotas(many);
  CHECK(found.best.seconds < found.in_turn.seconds);
}
TEST_CASE("walls that go and shares that grow are told by what they gain") {
  double sum = 0;
  int count = 0;
  for (std::uint32_t seed = 1; seed <= 3; ++seed, ++count) {
    quota_question asked = drawn_quotas(seed, 4, seed % 2 == 0);
    asked.devices = 2;
    const quota_answer found = search_quotas(asked);
    sum += found.walled.seconds / found.best.seconds - 1;
  }
  MESSAGE("on average " << 100 * sum / count << " %");
  CHECK(sum > 0);
}
TEST_CASE("half of a device each pays for small modules, not for large ones") {
  const auto gain = [](double samples) {
    quota_question asked;
    for (const char* const name : {"one", "other"}) {
      quota_module made{.name = name};
      // Half of 64 samples' time does not shrink with multiprocessors, as short products do.
      made.forward.classes = {{.lines = {{.fixed = 64 * 132, .scaled_each = 132 * 132}}}};
      made.backward = made.forward;
      asked.modules.push_back(made);
    }
    asked.samples = static_cast<isize>(samples);
    const quota_answer found = search_quotas(asked);
    return found.in_turn.seconds / found.best.seconds;
  };
  CHECK(gain(64) > 1.2);
  CHECK(gain(64) > gain(256));
  CHECK(gain(1 << 16) < 1.001);
}
TEST_CASE("memory is a limit: samples are made again, and what fits nowhere says so") {
  quota_question asked = drawn_quotas(3, 3, false);
  for (quota_module& each : asked.modules)
    each.standing_bytes = 10, each.kept_bytes = 1, each.sends_bytes = 0.1;
  asked.samples = 100;
  asked.memory_bytes = 500;
  const quota_answer roomy = search_quotas(asked);
  CHECK(roomy.best.fits);
  CHECK_FALSE(roomy.best.how.remade);
  CHECK(roomy.best.bytes == doctest::Approx(330));
  asked.memory_bytes = 100;
  const quota_answer tight = search_quotas(asked);
  CHECK(tight.best.fits);
  CHECK(tight.best.how.remade);
  CHECK(tight.best.bytes == doctest::Approx(60));
  CHECK(tight.best.seconds > roomy.best.seconds);
  asked.memory_bytes = 50;
  CHECK_FALSE(search_quotas(asked).best.fits);
}
TEST_CASE("graphs that are none are refused") {
  quota_question asked = drawn_quotas(1, 2, false);
  asked.modules[0].after = {1};
  const auto refused = [&] {
    try {
      search_quotas(asked);
    } catch (const std::exception& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(refused().find("comes after module 1, wanted one that stands before it") != std::string::npos);
  asked.modules.clear();
  CHECK(refused().find("[MT-P101]") != std::string::npos);
  CHECK(refused().find("0 modules, wanted 1 to 64") != std::string::npos);
}
