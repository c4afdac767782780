// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/gpipe.hpp>

#include "schedule_laws.hpp"
#include "schedule_text.hpp"

using namespace motet;

namespace {
constexpr pipeline_shape small{.stages = 4, .microbatches = 8};
static_assert(proven<gpipe, small>);
}  // namespace

TEST_CASE("all forwards, then all backwards") {
  const score made = gpipe::write({2, 3});
  for (int d = 0; d < 2; ++d) CHECK(laws::order_of(made, d) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("laws") {
  laws::dice draw(21);
  for (int k = 0; k < 20; ++k) {
    const pipeline_shape p{draw.between(1, 5), draw.between(1, 7)};
    laws::check_schedule<gpipe>(p, static_cast<std::uint64_t>(k), [&](int) { return p.microbatches; });
  }
}

TEST_CASE("the bubble is (P-1)(F+B+W), and every microbatch is kept") {
  laws::dice draw(22);
  for (int k = 0; k < 60; ++k) {
    const pipeline_shape p{draw.between(1, 8), draw.between(1, 16)};
    const double f = draw.between(1, 8) / 4.0, b = draw.between(1, 8) / 4.0, w = draw.between(0, 8) / 4.0;
    const laws::rehearsed run = laws::rehearse(gpipe::write(p), {f, b, w});
    for (int r = 0; r < p.stages; ++r) {
      CHECK(run.bubble(r) == (p.stages - 1) * (f + b + w));
      CHECK(run.found.peak_live[r] == p.microbatches);
    }
    CHECK(run.found.bubble_rate == doctest::Approx((p.stages - 1.0) / (p.microbatches + p.stages - 1)));
  }
}

TEST_CASE("numbers that make no pipeline") {
  CHECK(gpipe::check({0, 1}).why == reason::no_stages);
  CHECK(gpipe::check({1, 1, 2}).why == reason::chunks_are_fixed);
}
