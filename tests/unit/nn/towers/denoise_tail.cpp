// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/denoise_tail.hpp>

#include "drawn_batch.hpp"

using namespace motet;

namespace {

constexpr noised_config of{.image = 4, .patch = 2, .channels = 2, .width = 8, .classes = 2};
using tail = denoise_tail<of>;

}  // namespace

static_assert(tail::in == 8 && tail::out == 1 && tail::numbers == 8);
static_assert(velocity_tail<of>::out == 8 && velocity_tail<of>::parameter_size == tail::parameter_size);

TEST_CASE("what says nothing loses all of the way to noise, times the share of a picture") {
  const laws::drawn_batch batch(3, of);
  const noised_rows rows = tail::rows_of(batch.input, {3, of.rows(), nullptr});
  CHECK(rows.rows() == 15);
  const std::vector<double> w(as_size(tail::parameter_size), 0.0), x(15 * 8, 0.5);
  std::vector<double> lost(3, -1.0);
  buffer<std::byte> room;
  trial::run(room, [&](cpu::context& ctx) {
    tail::infer(ctx, weights<fp64>{w.data()}, rows, view<const double, 8>(x.data(), 15),
                view<double, 1>(lost.data(), 3));
  });
  for (motet::isize s = 0; s < 3; ++s) {
    double want = 0;
    for (motet::isize y = 0; y < 4; ++y)
      for (motet::isize column = 0; column < 4; ++column)
        for (motet::isize c = 0; c < 2; ++c) {
          // Number (channel, y, x) of its patch, of patches from left to right, then down.
          const motet::isize patch = y / 2 * 2 + column / 2, number = c * 4 + y % 2 * 2 + column % 2;
          const auto at = static_cast<std::uint64_t>((7 + s) * 32 + patch * 8 + number);
          const auto noise = static_cast<double>(static_cast<float>(batch.input.draws.noise().normal(at)));
          const double way =
              noise - static_cast<double>(batch.input.pixels[((s * 2 + c) * 4 + y) * 4 + column]);
          want += way * way / 32 / 3;
        }
    CHECK(lost[as_size(s)] == doctest::Approx(want).epsilon(1e-6));
  }
}
