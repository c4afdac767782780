// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/cast.hpp>

#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

namespace {

constexpr pipeline_shape shape{.stages = 3, .microbatches = 6};
score fed(std::int32_t to_microbatch) {
  score out;
  for (int v = 0; v < 2; ++v) out.add({.module = v, .microbatches = 2}, [](int) { return 0; });
  out.feed({0, 0, 1, to_microbatch});
  return out;
}

}  // namespace

TEST_CASE("orders of the same computations have one cast") {
  static_assert(!find_other_cast(one_f_one_b::write(shape), gpipe::write(shape)).is_there());
  static_assert(!find_other_cast(gpipe::write(shape), zb_h1::write(shape)).is_there());
  CHECK(!(one_f_one_b::write(shape) == gpipe::write(shape)));
}

TEST_CASE("what differs is named, with both numbers") {
  const score first = one_f_one_b::write(shape);
  const auto expect = [&](const score& other, const char* what, motet::isize got, motet::isize wanted) {
    const cast_difference found = find_other_cast(first, other);
    CHECK(std::string(found.what) == what);
    CHECK(found.got == got);
    CHECK(found.wanted == wanted);
  };
  expect(one_f_one_b::write({.stages = 2, .microbatches = 6}), "ranks", 2, 3);
  expect(one_f_one_b::write({.stages = 3, .microbatches = 4}), "microbatches", 4, 6);
  expect(interleaved::write({.stages = 3, .microbatches = 6, .chunks = 2}), "stages", 6, 3);
  score lane = first;
  lane.compute_in(0, 1);
  expect(lane, "lane", 1, 0);
  score kept = first;
  kept.offload_beyond(0, 2);
  expect(kept, "microbatches that stay", 2, 0);
  CHECK(std::string(find_other_cast(fed(0), fed(1)).what) == "feeds");
  CHECK(!find_other_cast(fed(1), fed(1)).is_there());
}
