// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/tower_times.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr tower_outline encoder() {
  tower_outline out;
  out.layers = 4;
  out.width = 256;
  out.heads = 8;
  out.tokens = 64;
  out.embedding = 128;
  out.patch = 192;
  return out;
}
// Products at their peak, and memory that takes no time.
constexpr device_facts ideal() {
  device_facts out;
  out.half_flops = 4e12;
  out.single_flops = 1e12;
  out.products = {1, 0, 0};
  return out;
}
constexpr training_bytes bytes{};
// FLOPs of products and attention alone.
double counted(const tower_outline& of, tower_part which) {
  double sum = 0;
  const part_steps made = steps_of(of, which);
  for (const product_step& each : made.products) sum += each.flops();
  for (const attention_step& each : made.attention) sum += 4 * each.width * each.pairs;
  return sum;
}
double part_seconds(const tower_outline& of, tower_part which, double samples, degrees split,
                    const device_facts& on, const training_bytes& keeping) {
  return times_of_part(of, which, samples, split, on, keeping).forward;
}

}  // namespace

TEST_CASE("at the peak and with free memory, FLOPs over rate") {
  const tower_outline of = encoder();
  for (const tower_part each : {tower_part::before, tower_part::block, tower_part::behind}) {
    CHECK(part_seconds(of, each, 3, {}, ideal(), bytes) == doctest::Approx(3 * counted(of, each) / 4e12));
    training_bytes single;
    single.activation = 4;
    CHECK(part_seconds(of, each, 3, {}, ideal(), single) == doctest::Approx(3 * counted(of, each) / 1e12));
  }
  const part_times block = times_of_part(of, tower_part::block, 3, {}, ideal(), bytes);
  const double scores = 64.0 * 64 * 256, products = counted(of, tower_part::block) - 4 * scores;
  CHECK(block.backward_input == doctest::Approx(3 * (products + 10 * scores) / 4e12));
  CHECK(block.backward_weight == doctest::Approx(3 * products / 4e12));
  CHECK(block.backward() == block.backward_input + block.backward_weight);
  // Pictures need no gradient.
  CHECK(times_of_part(of, tower_part::before, 3, {}, ideal(), bytes).backward_input == 0);
}

TEST_CASE("ranks that share a group's samples take their part of the time, the largest one") {
  const tower_outline of = encoder();
  const auto block = [&](degrees split) {
    return part_seconds(of, tower_part::block, 8, split, ideal(), bytes);
  };
  CHECK(block({.tensor = 4}) == doctest::Approx(block({}) / 4));
  CHECK(block({.context = 2, .tensor = 2}) == doctest::Approx(block({}) / 4));
  CHECK(block({.tensor = 3}) > 1.04 * block({}) / 3);  // three of eight heads
  CHECK(part_seconds(of, tower_part::behind, 8, {.tensor = 4}, ideal(), bytes) ==
        doctest::Approx(part_seconds(of, tower_part::behind, 2, {}, ideal(), bytes)));
  // Replicas and stages are others' affair.
  CHECK(block({.stages = 4, .data = 2}) == block({}));
}

TEST_CASE("short sides are slow: few rows, and weights that are cut") {
  const tower_outline of = encoder();
  device_facts on = ideal();
  on.products = {0.5, 512, 0};
  const auto block = [&](double samples, degrees split = {}) {
    return part_seconds(of, tower_part::block, samples, split, on, bytes);
  };
  CHECK(block(8) < 1.5 * block(4));
  CHECK(block(8) > block(4));
  CHECK(block(800) == doctest::Approx(800 * counted(of, tower_part::block) / 2e12).epsilon(0.02));
  on.products = {1, 0, 64};
  // All whole weights are 256 wide, at four fifths. Cut by four, a third of them is not: 192 columns, and 64
  // inner numbers at a half.
  CHECK(block(8, {.tensor = 4}) > 1.06 * block(8) / 4);
  CHECK(block(8, {.tensor = 4}) < 1.2 * block(8) / 4);
}

TEST_CASE("what only moves takes its bytes' time, and so do products that do little with theirs") {
  tower_outline of = encoder();
  device_facts on = ideal();
  on.bytes_per_second = 1e11;
  const double free = part_seconds(of, tower_part::block, 4, {}, ideal(), bytes),
               norms = 4 * 2 * 2 * 64 * 256 * 2 / 1e11;
  on.half_flops = 1e10;  // no product waits for memory
  CHECK(part_seconds(of, tower_part::block, 4, {}, on, bytes) == doctest::Approx(400 * free + norms));
  // A projection of one row reads all of its weights.
  on.half_flops = 1e15;
  CHECK(part_seconds(of, tower_part::behind, 1, {}, on, bytes) > 2 * 256 * 128 / 1e11);
}

TEST_CASE("steps take at least what the host needs to ask for them") {
  device_facts on = ideal();
  on.launch_seconds = 1;
  // Four products, attention and two norms.
  const part_times block = times_of_part(encoder(), tower_part::block, 4, {}, on, bytes);
  CHECK((block.forward == 7 && block.backward_input == 7 && block.backward_weight == 7));
  on.launch_seconds = 1e-30;
  CHECK(part_seconds(encoder(), tower_part::block, 4, {}, on, bytes) ==
        part_seconds(encoder(), tower_part::block, 4, {}, ideal(), bytes));
}

TEST_CASE("a causal mask saves nearly half of attention, and nothing that is counted") {
  tower_outline of = encoder();
  of.tokens = 1024;
  const double full = part_seconds(of, tower_part::block, 1, {}, ideal(), bytes);
  of.causal = true;
  const double attention = 4.0 * 1024 * 1024 * 256 / 4e12;
  CHECK(full - part_seconds(of, tower_part::block, 1, {}, ideal(), bytes) ==
        doctest::Approx(attention * 511.5 / 1024));
  CHECK(work_of(of).block.forward_flops > full * 4e12);
}

TEST_CASE("stages make up the whole, and what is frozen has no backward") {
  tower_outline of = encoder();
  for (const tower_end end : {tower_end::row, tower_end::block_of_row}) {
    of.end = end;
    const part_times whole = times_of_layers(of, 0, 4, 2, {}, ideal(), bytes);
    double forward = 0, backward = 0;
    for (isize first = 0; first < 4; ++first) {
      const part_times own = times_of_layers(of, first, first + 1, 2, {}, ideal(), bytes);
      forward += own.forward;
      backward += own.backward();
    }
    CHECK(forward == doctest::Approx(whole.forward));
    CHECK(backward == doctest::Approx(whole.backward()));
    CHECK(backward > 1.8 * forward);
  }
  of.frozen = true;
  const part_times frozen = times_of_layers(of, 0, 4, 2, {}, ideal(), bytes);
  CHECK((frozen.forward > 0 && frozen.backward() == 0));
  of.cached = true;
  CHECK(times_of_layers(of, 0, 4, 2, {}, ideal(), bytes).forward == 0);
}
