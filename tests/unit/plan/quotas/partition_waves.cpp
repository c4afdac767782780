// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/quotas/partition_waves.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace motet;

namespace {

using waves = detail::wave_partitioner::waves;

std::vector<quota_module> drawn_modules(std::mt19937& random, motet::isize count) {
  std::vector<quota_module> modules(as_size(count));
  for (motet::isize m = 0; m < count; ++m)
    for (motet::isize before = 0; before < m; ++before)
      if (random() % 4 == 0) modules[as_size(m)].after.push_back(before);
  return modules;
}
// Seconds of any wave, of which those of more modules are often less than one by one.
auto drawn_seconds(std::uint64_t seed) {
  return [seed](std::uint64_t wave) {
    std::mt19937_64 random(seed * 1000003 + wave);
    return (1 + static_cast<double>(random() % 1000) / 1000) * std::sqrt(std::popcount(wave));
  };
}
double sum_of(const waves& all, auto&& seconds) {
  double sum = 0;
  for (const std::uint64_t each : all) sum += seconds(each);
  return sum;
}
// Each module is in one wave, behind those that it comes after.
void check_waves(const std::vector<quota_module>& modules, const waves& found, int most) {
  std::uint64_t done = 0;
  for (const std::uint64_t wave : found) {
    CHECK(wave != 0);
    CHECK((wave & done) == 0);
    CHECK(std::popcount(wave) <= most);
    for (std::size_t m = 0; m < modules.size(); ++m)
      if ((wave >> m & 1) != 0)
        for (const motet::isize each : modules[m].after) CHECK((done >> each & 1) == 1);
    done |= wave;
  }
  CHECK(done == (std::uint64_t{1} << modules.size()) - 1);
}
// All orders of all partitions, one by one.
double least_of_all(const std::vector<quota_module>& modules, std::uint64_t done, int most, auto&& seconds) {
  const std::uint64_t whole = (std::uint64_t{1} << modules.size()) - 1;
  if (done == whole) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint64_t wave = 1; wave <= whole; ++wave) {
    bool may = (wave & done) == 0 && std::popcount(wave) <= most;
    for (std::size_t m = 0; may && m < modules.size(); ++m)
      for (const motet::isize each : modules[m].after)
        may = may && ((wave >> m & 1) == 0 || (done >> each & 1) == 1);
    if (may) least = std::min(least, seconds(wave) + least_of_all(modules, done | wave, most, seconds));
  }
  return least;
}

}  // namespace

TEST_CASE("all partitions have the least sum that there is, and merging ends in waves that may be") {
  std::mt19937 random(5);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const std::vector<quota_module> modules = drawn_modules(random, 1 + static_cast<motet::isize>(seed % 5));
    const int most = 2 + static_cast<int>(seed % 3);
    const auto seconds = drawn_seconds(seed);
    const auto by = [&](quota_waves how) {
      const waves found =
          detail::wave_partitioner(modules, {.by = how, .most_in_wave = most}).shortest(seconds);
      check_waves(modules, found, most);
      return sum_of(found, seconds);
    };
    const double least = least_of_all(modules, 0, most, seconds);
    CHECK(by(quota_waves::exact) == doctest::Approx(least));
    CHECK(by(quota_waves::chosen) == doctest::Approx(least));
    CHECK(by(quota_waves::merged) >= least * (1 - 1e-12));
  }
}

TEST_CASE("many modules are merged: what gains together is together, also where two change places") {
  // Modules 0 to 7 are alike; 3 and 6 gain more together than any others, and no wave has more than two.
  std::vector<quota_module> modules(8);
  const auto seconds = [](std::uint64_t wave) {
    if (std::popcount(wave) == 1) return 1.0;
    return wave == 0b1001000 ? 1.0 : 1.5;
  };
  const waves found = detail::wave_partitioner(modules, {.most_in_wave = 2}).shortest(seconds);
  check_waves(modules, found, 2);
  CHECK(sum_of(found, seconds) == 5.5);
  CHECK(std::find(found.begin(), found.end(), 0b1001000u) != found.end());
  // The best pair leaves two for which there is none, 5 in all; of pairs in a level two modules change
  // places.
  const auto crossed = [](std::uint64_t wave) {
    if (std::popcount(wave) == 1) return 2.0;
    if (wave == 0b11) return 1.0;
    return wave == 0b101 || wave == 0b1010 ? 1.2 : 4.0;
  };
  modules.resize(4);
  const waves swapped =
      detail::wave_partitioner(modules, {.by = quota_waves::merged, .most_in_wave = 2}).shortest(crossed);
  CHECK(sum_of(swapped, crossed) == doctest::Approx(2.4));
}

TEST_CASE("levels are as far from the first ones as the longest way, however many modules they have") {
  std::vector<quota_module> modules(5);
  modules[2].after = {0};
  modules[3].after = {0, 2};
  const detail::wave_partitioner all(modules, {.most_in_wave = 1});
  CHECK(all.levels() == waves{0b10011, 0b100, 0b1000});
}
