// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zb_auto.hpp>
#include <motet/schedule/write/zb_v.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr pipeline_shape small{.stages = 4, .microbatches = 8}, growth{.stages = 16, .microbatches = 128},
    large{.stages = 64, .microbatches = 512};
constexpr pipeline_shape eight{.stages = 2, .microbatches = 16, .chunks = 8};

// The compiler plays these.
static_assert(proven_by_compiler<gpipe, small> && proven_by_compiler<one_f_one_b, small> &&
              proven_by_compiler<interleaved, small>);
static_assert(proven_by_compiler<zb_h1, small> && proven_by_compiler<zb_h2, small> &&
              proven_by_compiler<interleaved, eight>);
static_assert(proven_by_compiler<one_f_one_b, growth>);
// Too much for a compiler: only its numbers are checked here, the order when the program starts.
static_assert(proven<one_f_one_b, large> && !proven_by_compiler<one_f_one_b, large>);
static_assert(proven<interleaved, large> && !proven_by_compiler<interleaved, large>);

// The densest scores that are just small enough, and one that is just too large.
constexpr pipeline_shape long_and_thin{.stages = 1536, .microbatches = 2},
    wide{.stages = 2, .microbatches = 1536}, more{.stages = 2, .microbatches = 1537};
static_assert(proven_by_compiler<zb_h2, long_and_thin> && proven_by_compiler<zb_h2, wide> &&
              !proven_by_compiler<zb_h2, more>);
constexpr tower_shape dense{.stages = 1, .microbatches = 384, .group = 1, .stash = 0};
constexpr batch_sync::shape dense_towers{{dense, dense, dense, dense, dense, dense, dense, dense}, 8};
static_assert(proven_by_compiler<batch_sync, dense_towers>);

}  // namespace

TEST_CASE("what a compiler leaves out is proven by the same function") {
  CHECK(prove(one_f_one_b::write(large)).ok());
  CHECK(prove(interleaved::write(large)).ok());
}

TEST_CASE("numbers that break a rule have their verdict, with nothing played") {
  constexpr pipeline_shape none{.stages = 0, .microbatches = 8};
  constexpr auto found = detail::proof_of<one_f_one_b, none>;
  CHECK((found.found.why == reason::no_stages && !found.played));
}

TEST_CASE("a program proves what the compiler does, and leaves to it what is too much for that") {
  const auto same = [](const detail::proof& here, const detail::proof& there) {
    return here.played == there.played && here.found.why == there.found.why &&
           here.found.got == there.found.got;
  };
  constexpr pipeline_shape few{.stages = 2, .microbatches = 4},
      scarce{.stages = 4, .microbatches = 8, .memory = 2};
  CHECK(same(detail::prove_schedule<zb_v, few>(), {{}, true}));
  CHECK(same(detail::prove_schedule<zb_auto, few>(), {{}, true}));
  CHECK(same(detail::prove_schedule<zb_v, scarce>(), detail::proof_of<zb_v, scarce>));
  CHECK(same(detail::prove_schedule<zb_v, more>(), {{}, false}));
  CHECK(same(detail::prove_schedule<one_f_one_b, large>(), {{}, false}));
  CHECK(same(detail::prove_schedule<zb_h2, more>(), {{}, false}));
  // A search counts as what it does, so that no compiler is kept by it: more than the score has cells.
  for (const pipeline_shape& each : {few, scarce, large}) {
    CHECK(zb_v::work(each) > each.cells());
    CHECK(zb_auto::work(each) > each.cells());
  }
  CHECK(zb_v::work(scarce) > zb_v::work({.stages = 4, .microbatches = 8}));
  CHECK(zb_v::work(large) > constexpr_cells);
  constexpr pipeline_shape none{.stages = 0, .microbatches = 8};
  CHECK(same(detail::prove_schedule<one_f_one_b, none>(), detail::proof_of<one_f_one_b, none>));
}
