// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/fingerprint.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace motet;

static_assert(fingerprint(compile(one_f_one_b::write({2, 4}))) ==
              fingerprint(compile(one_f_one_b::write({2, 4}))));
static_assert(fingerprint(compile(one_f_one_b::write({2, 4}))) !=
              fingerprint(compile(one_f_one_b::write({2, 5}))));

TEST_CASE("programs that differ have other fingerprints") {
  std::vector<program> all;
  for (int ranks = 1; ranks < 5; ++ranks)
    for (int microbatches = ranks; microbatches < 6; ++microbatches) {
      all.push_back(compile(one_f_one_b::write({ranks, microbatches})));
      all.push_back(compile(zb_h1::write({ranks, microbatches})));
      all.push_back(compile(zb_h2::write({ranks, microbatches})));
      if (ranks > 1 && microbatches % ranks == 0)
        all.push_back(compile(interleaved::write({ranks, microbatches})));
      all.push_back(compile(
          batch_sync::write({{{ranks, microbatches, microbatches}, {1, microbatches, microbatches}}, 2})));
    }
  int different = 0;
  for (const program& a : all)
    for (const program& b : all) {
      CHECK((a == b) == (fingerprint(a) == fingerprint(b)));
      different += a == b ? 0 : 1;
    }
  CHECK(different > 1000);
}

TEST_CASE("every field counts, and the table that differs is told") {
  const program whole = compile(batch_sync::write({{{2, 4, 2}, {3, 4, 2}}, 2}));
  const program_fingerprint as = fingerprint(whole);
  const auto changed = [&](auto change) {
    program other = whole;
    change(other);
    const program_fingerprint now = fingerprint(other);
    CHECK(now != as);
    return std::vector<bool>{now.voices != as.voices, now.places != as.places, now.slots != as.slots,
                             now.instructions != as.instructions};
  };
  using only = std::vector<bool>;
  const only voices{true, false, false, false}, places{false, true, false, false},
      slots{false, false, true, false}, order{false, false, false, true};
  CHECK(changed([](program& p) { p.voices[1].name = "another"; }) == voices);
  CHECK(changed([](program& p) { ++p.joins; }) == voices);
  for (std::int32_t voice::*const field :
       {&voice::module, &voice::replica, &voice::shard, &voice::shards, &voice::stages,
        &voice::offload_beyond, &voice::chunks, &voice::microbatches, &voice::join, &voice::group,
        &voice::lane, &voice::first_place, &voice::first_cell})
    CHECK(changed([&](program& p) { ++(p.voices[0].*field); }) == voices);
  CHECK(changed([](program& p) { p.voices[0].learns = false; }) == voices);
  CHECK(changed([](program& p) { std::swap(p.places[0], p.places[3]); }) == places);
  CHECK(changed([](program& p) { p.slots[4] += 1; }) == slots);
  CHECK(changed([](program& p) { p.slots.push(0); }) == slots);
  for (std::int32_t instruction::*const field :
       {&instruction::voice, &instruction::stage, &instruction::microbatch, &instruction::peer})
    CHECK(changed([&](program& p) { p.instructions[7].*field += 1; }) == order);
  CHECK(changed([](program& p) { p.instructions[7].what = op::fetch; }) == order);
  CHECK(changed([](program& p) { p.instructions[7].lane = 9; }) == order);
  CHECK(changed([](program& p) { p.instructions[7].paired = true; }) == order);
  CHECK(changed([](program& p) { ++p.starts[2]; }) == order);
  REQUIRE(!(whole.instructions[0] == whole.instructions[1]));
  CHECK(changed([](program& p) { std::swap(p.instructions[0], p.instructions[1]); }) == order);
}
