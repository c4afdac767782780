// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/deal_by_modules.hpp>

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace motet;

namespace {

constexpr std::int32_t count = 24;

// Two modules, the first with so many microbatches, the second with three; both with two replicas of one
// stage, each on a rank of its own.
struct two_modules {
  program of;
  program_samples samples;
  place_clock clock;
  explicit two_modules(int microbatches)
      : of(voices_of(microbatches)),
        samples(of, {sample_split{count, microbatches, 2, 1, {}}, sample_split{count, 3, 2, 1, {}}}),
        clock(samples, list<stage_cost>(4, stage_cost{1, 1, 1})) {}
  two_modules(const two_modules&) = delete;

  static program voices_of(int microbatches) {
    program out;
    for (std::int32_t v = 0; v < 4; ++v) {
      voice own;
      own.module = v / 2;
      own.replica = v % 2;
      own.microbatches = v < 2 ? microbatches : 3;
      own.first_place = v;
      out.voices.push(own);
      out.places.push(v);
    }
    for (std::int32_t r = 0; r <= 4; ++r) out.starts.push(0);
    return out;
  }
  // The largest load of a replica over the even one.
  double uneven(const hands& dealt, const step_headers& costs, std::int32_t module) const {
    double load[2] = {0, 0};
    for (isize b = 0; b < dealt.size(); ++b)
      for (const std::int32_t s : dealt[b])
        load[samples.hands()[samples.blocks()[b].hand].replicas[module]] += costs.work_of(module, s);
    return 2 * std::max(load[0], load[1]) / (load[0] + load[1]);
  }
  using isize = motet::isize;
};
step_headers drawn(std::uint64_t seed) {
  const random_stream draw(seed, "samples");
  step_headers out;
  out.samples = count;
  out.modules = {"eye", "talk"};
  for (std::uint64_t k = 0; k < 2 * count; ++k) out.work.push(std::exp(0.9 * draw.normal(k)));
  out.rows = out.work;
  return out;
}

}  // namespace

TEST_CASE("every sample is dealt once, and where rows cross each module is evener by itself") {
  const two_modules tied(3), apart(6);
  CHECK_FALSE(tied.samples.rows_cross());
  CHECK(apart.samples.rows_cross());
  double of_eye[2] = {0, 0}, of_talk[2] = {0, 0};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const step_headers costs = drawn(seed);
    for (const two_modules* const each : {&tied, &apart}) {
      const hands dealt = deal_by_modules(each->samples, each->clock, costs);
      list<std::uint8_t> seen(count, 0);
      for (motet::isize b = 0; b < dealt.size(); ++b) {
        CHECK_EQ(dealt[b].size(), each->samples.blocks()[b].places.size());
        for (const std::int32_t s : dealt[b]) ++seen[s];
      }
      CHECK_EQ(seen, list<std::uint8_t>(count, 1));
      of_eye[each == &apart ? 1 : 0] += each->uneven(dealt, costs, 0) / 20;
      of_talk[each == &apart ? 1 : 0] += each->uneven(dealt, costs, 1) / 20;
    }
  }
  MESSAGE("busiest replicas over the mean: ", of_eye[0], " and ", of_eye[1], ", ", of_talk[0], " and ",
          of_talk[1]);
  CHECK(of_eye[1] < 1.04);
  CHECK(of_talk[1] < 1.04);
  CHECK(of_eye[1] < 0.97 * of_eye[0]);
  CHECK(of_talk[1] < 0.97 * of_talk[0]);
}
