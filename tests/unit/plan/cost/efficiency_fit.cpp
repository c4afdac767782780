// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/efficiency_fit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

tower_outline picture() {
  tower_outline out;
  out.name = "picture";
  out.layers = 12;
  out.width = 384;
  out.heads = 6;
  out.tokens = 65;
  out.patch = 192;
  out.embedding = 256;
  return out;
}
tower_outline caption() {
  tower_outline out;
  out.name = "caption";
  out.layers = 6;
  out.width = 256;
  out.heads = 4;
  out.tokens = 32;
  out.vocabulary = 1024;
  out.embedding = 256;
  out.causal = true;
  return out;
}

// A profile such as a machine with these facts would give; each time off by up to `noise`.
machine_profile as_measured(const device_facts& on, double activation, double noise = 0) {
  machine_profile out;
  out.activation_bytes = activation;
  training_bytes bytes;
  bytes.activation = activation;
  std::uint64_t number = 0;
  const auto off = [&](part_times times) {
    for (const auto time : {&part_times::forward, &part_times::backward_input, &part_times::backward_weight})
      times.*time *= 1 + noise * (2 * detail::chance(7, number++) - 1);
    return times;
  };
  for (const tower_outline& of : {picture(), caption()}) {
    module_profile one{of, {}};
    for (const std::int32_t degree : {1, 2}) {
      for (const double samples : {1.0, 4.0, 16.0}) {
        const auto part = [&](tower_part which) {
          return off(times_of_part(of, which, samples, {.tensor = degree}, on, bytes));
        };
        add_point(one, {degree, samples, part(tower_part::before), part(tower_part::block),
                        part(tower_part::behind)});
      }
    }
    out.modules.push(one);
  }
  return out;
}
device_facts made_of(double best, double rows, double columns, double bytes_per_second) {
  device_facts out;
  out.half_flops = 100e12;
  out.single_flops = 1e11;
  out.memory_bytes = 1e9;
  out.bytes_per_second = bytes_per_second;
  out.products = {best, rows, columns};
  return out;
}

}  // namespace

TEST_CASE("the curve of a machine is found again from its times") {
  for (const device_facts& wanted : {made_of(0.8, 20, 30, 8e9), made_of(0.45, 300, 100, 3e9),
                                     made_of(0.95, 0, 0, 2e10), made_of(0.6, 0, 200, 5e9)}) {
    device_facts blank = wanted;
    blank.products = {};
    blank.bytes_per_second = 0;
    const efficiency_fit found = fit_efficiency(as_measured(wanted, 4), blank);
    CHECK(found.error < 1e-4);
    CHECK(found.device.products.best == doctest::Approx(wanted.products.best).epsilon(0.01));
    CHECK(found.device.products.half_rows ==
          doctest::Approx(wanted.products.half_rows).epsilon(0.01).scale(10));
    CHECK(found.device.products.half_columns ==
          doctest::Approx(wanted.products.half_columns).epsilon(0.01).scale(10));
    CHECK(found.device.bytes_per_second == doctest::Approx(wanted.bytes_per_second).epsilon(0.01));
    CHECK(found.device.memory_bytes == wanted.memory_bytes);
    CHECK(found.device.single_flops == wanted.single_flops);
  }
}

TEST_CASE("numbers of two bytes are fitted to the rate of such products") {
  device_facts wanted = made_of(0.5, 100, 60, 9e11), blank = wanted;
  blank.products = {};
  const efficiency_fit found = fit_efficiency(as_measured(wanted, 2), blank);
  CHECK(found.device.products.best == doctest::Approx(0.5).epsilon(0.02));
  CHECK(found.error < 1e-3);
}

TEST_CASE("times that are off move it no further than they are") {
  const device_facts wanted = made_of(0.7, 60, 40, 6e9);
  const efficiency_fit found = fit_efficiency(as_measured(wanted, 4, 0.1), wanted);
  CHECK(found.error < 0.1);
  CHECK(found.error > 0.01);
  // Its forecast is nearer to the truth than what it was shown.
  training_bytes bytes;
  bytes.activation = 4;
  for (const double samples : {2.0, 8.0, 32.0}) {
    const part_times truth = times_of_part(picture(), tower_part::block, samples, {}, wanted, bytes),
                     told = times_of_part(picture(), tower_part::block, samples, {}, found.device, bytes);
    CHECK(told.forward == doctest::Approx(truth.forward).epsilon(0.08));
  }
}

TEST_CASE("the memory's rate stays near what is known of it") {
  const machine_profile noisy = as_measured(made_of(0.7, 0, 0, 1e15), 4, 0.3);  // where it tells nothing
  device_facts like = made_of(0, 0, 0, 1e10);
  CHECK(fit_efficiency(noisy, like).device.bytes_per_second <= 8.0001e10);
  CHECK(fit_efficiency(as_measured(made_of(0.7, 20, 20, 1e7), 4), like).device.bytes_per_second >=
        0.9999e10 / 8);
  const device_facts wanted = made_of(0.7, 20, 20, 3e10);
  CHECK(fit_efficiency(as_measured(wanted, 4), like).device.bytes_per_second ==
        doctest::Approx(3e10).epsilon(0.01));
}

TEST_CASE("a share is at most the whole, and one point is enough to be near it") {
  machine_profile one = as_measured(made_of(0.9, 0, 0, 1e10), 4);
  one.modules.resize(1);
  one.modules[0].points.resize(1);
  device_facts slow = made_of(0, 0, 0, 0);
  slow.single_flops = 5e10;  // less than was seen
  const efficiency_fit found = fit_efficiency(one, slow);
  CHECK(found.device.products.best <= 1);
  CHECK(found.device.products.best > 0.9);
  CHECK(fit_efficiency(one, made_of(0, 0, 0, 0)).error < 0.01);
}
