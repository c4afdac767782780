// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/stage_seats.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace motet;

namespace {

program compiled(const score& order) { return compile(order, {messages::in_channels, false}); }
stage_seats seats(const program& of, std::int32_t stage) {
  buffer_counts counts;
  REQUIRE(count_buffers(of, counts).ok());
  return seats_of_stage(of, 0, stage, counts);
}

}  // namespace

TEST_CASE("a microbatch sits where the one before it in turn has left") {
  const program of = compiled(one_f_one_b::write({3, 5}));
  CHECK(seats(of, 0).slots == std::vector<std::int32_t>{0, 1, 2, 0, 1});
  CHECK(seats(of, 2).slots == std::vector<std::int32_t>{0, 0, 0, 0, 0});
  const stage_seats middle = seats(of, 1);
  CHECK(middle.slots == std::vector<std::int32_t>{0, 1, 0, 1, 0});
  // Rows come one microbatch early, so there is one buffer more than microbatches that are kept.
  REQUIRE(middle.in[0].size() == 5);
  for (std::size_t m = 0; m < 5; ++m) {
    CHECK(middle.in[0][m].buffer == static_cast<int>(m % 3));
    CHECK(middle.in[0][m].gives == (m < 3 ? 0 : static_cast<motet::isize>(m) - 2));
  }
  // Nothing comes to the first stage from before.
  CHECK(seats(of, 0).in[0][0].buffer == -1);
}

TEST_CASE("nobody sits where somebody else still is") {
  for (const score& order : {gpipe::write({3, 4}), one_f_one_b::write({4, 7}), zb_h2::write({3, 6}),
                             interleaved::write({2, 4, 2})}) {
    const program of = compiled(order);
    for (std::int32_t s = 0; s < of.voices[0].stages; ++s) {
      const stage_seats found = seats(of, s);
      std::map<std::int32_t, std::int32_t> there;
      const std::int32_t rank = of.places[s];
      each_live_change(of, of.starts[rank], of.starts[rank + 1], [&](const instruction& it, int change) {
        if (it.stage != s) return;
        const std::int32_t own = found.slots[static_cast<std::size_t>(it.microbatch)];
        CHECK(own >= 0);
        CHECK(own < of.slots[s]);
        if (change > 0) CHECK(there.emplace(own, it.microbatch).second);
        else CHECK(there.erase(own) == 1);
      });
      CHECK(there.empty());
    }
  }
}
