// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_laws.hpp"
#include "schedule_text.hpp"

using namespace motet;

namespace {
constexpr pipeline_shape small{.stages = 4, .microbatches = 8}, few{.stages = 8, .microbatches = 2};
static_assert(proven<one_f_one_b, small> && proven<one_f_one_b, few>);
}  // namespace

TEST_CASE("each device warms up with its distance to the last") {
  const score made = one_f_one_b::write({4, 5});
  CHECK(laws::order_of(made, 0) == "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  CHECK(laws::order_of(made, 1) == "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4");
  CHECK(laws::order_of(made, 3) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  // With fewer microbatches than that, all forwards come first.
  CHECK(laws::order_of(one_f_one_b::write({4, 2}), 0) == "F0 F1 B0 B1");
}

TEST_CASE("laws") {
  laws::dice draw(31);
  for (int k = 0; k < 20; ++k) {
    const pipeline_shape p{draw.between(1, 5), draw.between(1, 7)};
    laws::check_schedule<one_f_one_b>(p, static_cast<std::uint64_t>(k),
                                      [&](int place) { return least(p.microbatches, p.stages - place); });
  }
}

TEST_CASE("the bubble is (P-1)(F+B+W), and device d keeps P-d") {
  laws::dice draw(32);
  for (int k = 0; k < 60; ++k) {
    const pipeline_shape p{draw.between(1, 8), draw.between(1, 16)};
    const double f = draw.between(1, 8) / 4.0, b = draw.between(1, 8) / 4.0, w = draw.between(0, 8) / 4.0;
    const laws::rehearsed run = laws::rehearse(one_f_one_b::write(p), {f, b, w});
    for (int r = 0; r < p.stages; ++r) {
      CHECK(run.bubble(r) == (p.stages - 1) * (f + b + w));
      CHECK(run.found.peak_live[r] == least(p.microbatches, p.stages - r));
    }
    CHECK(run.found.bubble_rate == doctest::Approx((p.stages - 1.0) / (p.microbatches + p.stages - 1)));
  }
}

TEST_CASE(
    "stages of unequal times: sum(f+b) + (m-1)(max f + max b) is not exceeded, and met when the last stage "
    "is the slowest") {
  laws::dice draw(33);
  int close = 0;
  const int count = 2000;
  for (int k = 0; k < count; ++k) {
    const pipeline_shape p{draw.between(1, 6), draw.between(1, 10)};
    const program of = compile(one_f_one_b::write(p));
    cost_table costs = even_costs(of, {});
    double through = 0, most_f = 0, most_b = 0;
    for (stage_cost& each : costs.stages) {
      each = {draw.between(1, 20) / 4.0, draw.between(1, 40) / 4.0, 0};
      through += each.forward + each.backward_input;
      most_f = each.forward > most_f ? each.forward : most_f;
      most_b = each.backward_input > most_b ? each.backward_input : most_b;
    }
    if (k % 4 == 0) {
      stage_cost& last = costs.stages.back();
      through += most_f - last.forward + most_b - last.backward_input;
      last = {most_f, most_b, 0};
    }
    const double time = laws::makespan_of(of, costs),
                 bound = through + (p.microbatches - 1) * (most_f + most_b);
    CHECK(time <= bound);
    if (k % 4 == 0) CHECK(time == bound);
    CHECK(bound <= 1.4 * time);
    close += bound <= 1.05 * time ? 1 : 0;
    // No order is faster: a stage's own work, behind one microbatch on its way there and back.
    double before = 0;
    for (const stage_cost& each : costs.stages) {
      CHECK(time >= before + p.microbatches * (each.forward + each.backward_input) - 1e-9);
      before += each.forward + each.backward_input;
    }
  }
  CHECK(close > count / 2);
}
