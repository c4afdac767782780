// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/message_shares.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

through_module replica(std::int32_t module, std::int32_t number, std::int32_t replicas, std::int32_t rank) {
  through_module made;
  made.module = module;
  made.replica = number;
  made.replicas = replicas;
  made.microbatches = 2;
  made.ranks.push(rank);
  return made;
}

}  // namespace

TEST_CASE("three replicas feed two: the one in the middle sends half to each, and gets all of its own back") {
  through_shape of;
  for (std::int32_t r = 0; r < 3; ++r) of.modules.push(replica(0, r, 3, r));
  for (std::int32_t r = 0; r < 2; ++r) {
    of.modules.push(replica(1, r, 2, 3 + r));
    of.modules[3 + r].meets = true;
    for (std::int32_t source = 0; source < 3; ++source) of.modules[3 + r].from.push(source);
  }
  const program made = compile(write_through(of));
  const message_shares shares(made);
  double sent[5] = {}, received[5] = {};
  for (const instruction& it : made.instructions) {
    if (it.what == op::send_forward) sent[it.voice] += shares.share(it);
    if (it.what == op::receive_forward) received[it.voice] += shares.share(it);
    if (it.what == op::send_forward && it.voice == 1) CHECK(shares.share(it) == doctest::Approx(0.5));
    if (it.what == op::send_backward)
      CHECK(shares.share(it) == doctest::Approx(it.peer == 1 ? 1.0 / 3 : 2.0 / 3));
  }
  for (int r = 0; r < 3; ++r) CHECK(sent[r] == doctest::Approx(2));
  for (int r = 3; r < 5; ++r) CHECK(received[r] == doctest::Approx(2));
}

TEST_CASE("within a module, and where both are cut alike, a message brings all") {
  through_shape of;
  of.modules.push(replica(0, 0, 1, 0));
  of.modules.push(replica(1, 0, 1, 1));
  of.modules[1].ranks.push(2);
  of.modules[1].from.push(0);
  of.modules[1].meets = true;
  const program made = compile(write_through(of));
  const message_shares shares(made);
  for (const instruction& it : made.instructions)
    if (is_transfer(it.what)) CHECK(shares.share(it) == 1);
}
