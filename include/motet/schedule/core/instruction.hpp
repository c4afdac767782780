// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// An op is what one instruction of a program does. `s` is its stage, `m` its microbatch.
enum class op : std::uint8_t {
  forward,          // of m through s, keeping what backward needs
  forward_only,     // keeps nothing; a re_forward comes later
  re_forward,       // of a microbatch that ran forward_only, now keeping what backward needs
  backward,         // both parts
  backward_input,   // the gradient that goes to the stage before
  backward_weight,  // the gradient of this stage's parameters
  // all modules of a join meet: loss and feature gradients of one group of microbatches (m is the group)
  join,
  send_forward,        // rows that leave s towards s + 1
  receive_forward,     // rows that come to s from s - 1
  send_replay,         // the same for a re_forward
  receive_replay,      //
  send_backward,       // gradients that leave s towards s - 1
  receive_backward,    // gradients that come to s from s + 1
  reduce_gradient,     // sums the gradients of s over the replicas and shards of its module
  gather_parameters,   // brings the parameters of s together where they are sharded
  release_parameters,  // and lets them go
  optimizer_step,      // of the parameters of s
  load,                // brings the samples of m to the first stage
  offload,             // moves what backward needs of m out of device memory
  fetch                // and back
};
inline constexpr int op_count = static_cast<int>(op::fetch) + 1;

constexpr bool is_forward(op what) { return what <= op::re_forward; }
constexpr bool is_backward(op what) { return what >= op::backward && what <= op::backward_weight; }
constexpr bool is_compute(op what) { return what <= op::join; }
constexpr bool is_send(op what) {
  return what == op::send_forward || what == op::send_replay || what == op::send_backward;
}
constexpr bool is_receive(op what) {
  return what == op::receive_forward || what == op::receive_replay || what == op::receive_backward;
}
constexpr bool is_transfer(op what) { return what >= op::send_forward && what <= op::receive_backward; }
// Adds to the gradient of its stage, after which nothing of its microbatch is kept.
constexpr bool ends(op what) { return what == op::backward || what == op::backward_weight; }
// The kind of message that an instruction is, or that it takes and makes: 0 first forwards, 1 replays, 2
// backward; -1: none.
constexpr int message_kind(op what) {
  switch (what) {
    case op::forward:
    case op::forward_only:
    case op::send_forward:
    case op::receive_forward: return 0;
    case op::re_forward:
    case op::send_replay:
    case op::receive_replay: return 1;
    case op::backward:
    case op::backward_input:
    case op::send_backward:
    case op::receive_backward: return 2;
    default: return -1;
  }
}
// Makes what backward needs.
constexpr bool keeps(op what) { return what == op::forward || what == op::re_forward; }

constexpr const char* name_of(op what) {
  constexpr const char* names[] = {"forward",
                                   "forward_only",
                                   "re_forward",
                                   "backward",
                                   "backward_input",
                                   "backward_weight",
                                   "join",
                                   "send_forward",
                                   "receive_forward",
                                   "send_replay",
                                   "receive_replay",
                                   "send_backward",
                                   "receive_backward",
                                   "reduce_gradient",
                                   "gather_parameters",
                                   "release_parameters",
                                   "optimizer_step",
                                   "load",
                                   "offload",
                                   "fetch"};
  return names[static_cast<int>(what)];
}

// An ordered queue of a rank. Instructions of one lane run in their order; lanes run beside each other, and
// an instruction also waits for what it needs from other lanes. Lanes from first_channel to last_channel
// carry messages. A rank computes in its first lane; where it computes in several, the others stand behind
// the channels.
namespace lane {
inline constexpr std::uint8_t compute = 0, aside = 1, reduce = 2, copy = 3, first_channel = 4,
                              last_channel = 251;
inline constexpr int most_computing = 5;  // lanes of a rank
constexpr bool computes(int lane) { return lane == compute || lane > last_channel; }
// Lanes that compute are counted from 0, and have these numbers.
constexpr std::uint8_t of_computing(int which) {
  return static_cast<std::uint8_t>(which == 0 ? compute : last_channel + which);
}
constexpr int which_computing(int lane) { return lane == compute ? 0 : lane - last_channel; }
}  // namespace lane

struct instruction {
  op what = op::forward;
  std::uint8_t lane = lane::compute;
  bool paired = false;          // runs overlapped with the next instruction of its lane, as one
  std::uint8_t part = 0;        // of the microbatch's rows, where a message brings a part of them
  std::int32_t voice = 0;       // which copy of which module; for a join, which join
  std::int32_t stage = 0;       // -1 for a join
  std::int32_t microbatch = 0;  // -1 where there is none
  std::int32_t peer = -1;       // rank at the other end of a transfer

  friend constexpr bool operator==(const instruction&, const instruction&) = default;
};
static_assert(sizeof(instruction) == 20,
              "motet: a sheet of thousands of ranks has millions of instructions, of 20 bytes each");

}  // namespace motet
