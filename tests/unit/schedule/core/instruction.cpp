// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/instruction.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace motet;

namespace {
// Each operation is written out here.
struct row {
  op what;
  const char* name;
  bool forward, backward, compute, keeps, ends, sends, receives;
};
constexpr row rows[] = {
    {op::forward, "forward", true, false, true, true, false, false, false},
    {op::forward_only, "forward_only", true, false, true, false, false, false, false},
    {op::re_forward, "re_forward", true, false, true, true, false, false, false},
    {op::backward, "backward", false, true, true, false, true, false, false},
    {op::backward_input, "backward_input", false, true, true, false, false, false, false},
    {op::backward_weight, "backward_weight", false, true, true, false, true, false, false},
    {op::join, "join", false, false, true, false, false, false, false},
    {op::send_forward, "send_forward", false, false, false, false, false, true, false},
    {op::receive_forward, "receive_forward", false, false, false, false, false, false, true},
    {op::send_replay, "send_replay", false, false, false, false, false, true, false},
    {op::receive_replay, "receive_replay", false, false, false, false, false, false, true},
    {op::send_backward, "send_backward", false, false, false, false, false, true, false},
    {op::receive_backward, "receive_backward", false, false, false, false, false, false, true},
    {op::reduce_gradient, "reduce_gradient", false, false, false, false, false, false, false},
    {op::gather_parameters, "gather_parameters", false, false, false, false, false, false, false},
    {op::release_parameters, "release_parameters", false, false, false, false, false, false, false},
    {op::optimizer_step, "optimizer_step", false, false, false, false, false, false, false},
    {op::load, "load", false, false, false, false, false, false, false},
    {op::offload, "offload", false, false, false, false, false, false, false},
    {op::fetch, "fetch", false, false, false, false, false, false, false},
};
static_assert(sizeof rows / sizeof rows[0] == op_count);
}  // namespace

TEST_CASE("every operation has its name and its kinds") {
  for (int i = 0; i < op_count; ++i) {
    const row& each = rows[i];
    CAPTURE(each.name);
    CHECK(static_cast<int>(each.what) == i);
    CHECK(std::string(name_of(each.what)) == each.name);
    CHECK(is_forward(each.what) == each.forward);
    CHECK(is_backward(each.what) == each.backward);
    CHECK(is_compute(each.what) == each.compute);
    CHECK(keeps(each.what) == each.keeps);
    CHECK(ends(each.what) == each.ends);
    CHECK(is_send(each.what) == each.sends);
    CHECK(is_receive(each.what) == each.receives);
    CHECK(is_transfer(each.what) == (each.sends || each.receives));
  }
}

TEST_CASE("lanes are apart, and messages have the rest") {
  CHECK(std::set<int>{lane::compute, lane::aside, lane::reduce, lane::copy, lane::first_channel}.size() == 5);
  for (const int each : {lane::compute, lane::aside, lane::reduce, lane::copy})
    CHECK(each < lane::first_channel);
}

TEST_CASE("instructions are equal when all fields are") {
  const instruction one{op::send_forward, 4, true, 6, 1, 2, 3, 5};
  for (int field = 0; field < 8; ++field) {
    instruction other = one;
    CHECK(other == one);
    if (field == 0) other.what = op::forward;
    if (field == 1) other.lane = 5;
    if (field == 2) other.paired = false;
    if (field == 3) other.voice = 0;
    if (field == 4) other.stage = 0;
    if (field == 5) other.microbatch = 0;
    if (field == 6) other.peer = 0;
    if (field == 7) other.part = 0;
    CHECK_FALSE(other == one);
  }
}
