// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_laws.hpp"
#include "schedule_text.hpp"

using namespace motet;

namespace {
constexpr pipeline_shape small{.stages = 4, .microbatches = 8},
    four{.stages = 4, .microbatches = 8, .chunks = 4};
static_assert(proven<interleaved, small> && proven<interleaved, four>);
}  // namespace

TEST_CASE("a round of microbatches through one chunk, then through the next") {
  const score made = interleaved::write({2, 4});
  CHECK(laws::order_of(made, 0) == "F0 F1 F0.2 F1.2 F2 B0.2 F3 B1.2 F2.2 B0 F3.2 B1 B2.2 B3.2 B2 B3");
  CHECK(laws::order_of(made, 1) == "F0 F1 F0.3 B0.3 F1.3 B1.3 F2 B0 F3 B1 F2.3 B2.3 F3.3 B3.3 B2 B3");
  // One chunk is 1F1B.
  for (int d = 0; d < 4; ++d)
    CHECK(laws::order_of(interleaved::write({4, 8, 1}), d) == laws::order_of(one_f_one_b::write({4, 8}), d));
}

TEST_CASE("laws") {
  laws::dice draw(41);
  for (int k = 0; k < 20; ++k) {
    const int stages = draw.between(1, 4);
    const pipeline_shape p{stages, stages * draw.between(1, 3), draw.between(1, 3)};
    laws::check_schedule<interleaved>(p, static_cast<std::uint64_t>(k), [&](int) { return p.microbatches; });
  }
}

TEST_CASE("the bubble shrinks by the number of chunks, and device 0 keeps PV+P-1 of them") {
  laws::dice draw(42);
  for (int k = 0; k < 60; ++k) {
    const int stages = draw.between(2, 6), chunks = draw.between(2, 4);
    const pipeline_shape p{stages, stages * draw.between(2, 4), chunks};
    // Fourths of whole numbers of chunks, so that sums are exact.
    const double f = chunks * draw.between(1, 8) / 4.0, b = chunks * draw.between(1, 8) / 4.0,
                 w = chunks * draw.between(0, 8) / 4.0;
    const laws::rehearsed run = laws::rehearse(interleaved::write(p), {f, b, w});
    for (int r = 0; r < stages; ++r) CHECK(run.bubble(r) == (stages - 1) * (f + b + w) / chunks);
    CHECK(run.found.peak_live[0] == doctest::Approx((stages * chunks + stages - 1.0) / chunks));
    CHECK(run.found.bubble_rate == doctest::Approx((stages - 1.0) / (chunks * p.microbatches + stages - 1)));
  }
}

TEST_CASE("numbers that make no rounds") {
  const verdict found = interleaved::check({4, 6});
  CHECK((found.why == reason::microbatches_do_not_divide && found.where == 1 && found.got == 6 &&
         found.wanted == 4));
  CHECK(interleaved::check({4, 6, 1}).ok());
  CHECK(interleaved::check({4, 0}).why == reason::no_stages);
  CHECK(interleaved::check({1 << 10, 1 << 10, 1 << 12}).why == reason::too_large);
}
