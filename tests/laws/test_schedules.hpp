// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/live.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/schedule/core/shape.hpp>

#include "schedule_laws.hpp"

namespace motet::laws {

// 1F1B that warms up with one more, so that every backward can overlap with a forward.
struct overlapped {
  static constexpr const char* name = "overlapped";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& p) { return check_counts(p); }
  static constexpr score write(const shape& p) {
    score out;
    const int tower = add_voice(out, p);
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      const int warm_up = least(p.microbatches, p.stages - d);
      for (int m = 0; m < warm_up; ++m) out.play(op::forward, tower, d, m);
      for (int m = 0; m < p.microbatches; ++m) {
        if (warm_up + m < p.microbatches)
          out.play_pair(op::forward, d, warm_up + m, op::backward, d, m, tower);
        else out.play(op::backward, tower, d, m);
      }
    }
    return out;
  }
};

// A score's program, made without compile(): each message in a lane of its own, right where its rows are made
// and used. A score that makes no sense becomes a program that makes none; compile() does not promise that.
// Sizes must be small, or lanes run out.
inline program naive_program(const score& from) {
  program made;
  made.voices = from.voices();
  made.places = from.places();
  made.slots.resize(from.places().size(), 0);
  made.joins = from.joins();
  std::set<std::array<int, 3>> replays;
  for (const std::int64_t code : from.codes())
    if (const cue it(code); it.what == op::re_forward) replays.insert({it.voice, it.stage, it.microbatch});
  for (int r = 0; r < from.ranks(); ++r) {
    std::uint8_t next = lane::first_channel;
    const auto messages_of = [&](const cue& it, bool receives) {
      if (it.what == op::join || it.voice >= made.voices.size() || it.stage >= made.voices[it.voice].stages)
        return;
      const voice& of = made.voices[it.voice];
      const auto put = [&](int other, op what) {
        if (other < 0 || other >= of.stages || made.place(of, other) == r) return;
        made.instructions.push(
            {what, next++, false, 0, it.voice, it.stage, it.microbatch, made.place(of, other)});
      };
      const bool replayed = replays.count({it.voice, it.stage + 1, it.microbatch}) != 0;
      switch (it.what) {
        case op::forward:
        case op::forward_only:
          receives ? put(it.stage - 1, op::receive_forward) : put(it.stage + 1, op::send_forward);
          break;
        case op::re_forward:
          if (receives) put(it.stage - 1, op::receive_replay);
          else if (replayed) put(it.stage + 1, op::send_replay);
          break;
        case op::backward:
        case op::backward_input:
          receives ? put(it.stage + 1, op::receive_backward) : put(it.stage - 1, op::send_backward);
          break;
        default: break;
      }
    };
    for (int i = from.begin_of(r), end = i; i < from.end_of(r); i = end) {
      // Cues that overlap stand together.
      for (end = i + 1; end < from.end_of(r) && from[end - 1].paired;) ++end;
      for (int k = i; k < end; ++k) messages_of(from[k], true);
      for (int k = i; k < end; ++k) {
        const cue it = from[k];
        made.instructions.push({it.what, it.aside ? lane::aside : lane::compute, it.paired, 0, it.voice,
                                it.what == op::join ? -1 : it.stage, it.microbatch, -1});
      }
      for (int k = i; k < end; ++k) messages_of(from[k], false);
    }
    made.starts.push(static_cast<std::int32_t>(made.instructions.size()));
  }
  return made;
}

// A program with everything that compile() leaves to others: loads, what is kept moved out and back,
// parameters gathered and released.
inline program decorated(const program& from, dice& draw) {
  program made = from;
  made.instructions.clear();
  made.starts.clear();
  made.starts.push(0);
  for (int r = 0; r < from.ranks(); ++r) {
    std::set<std::array<int, 3>> moved;
    std::set<std::array<int, 2>> released;
    const auto put = [&](op what, std::uint8_t in, const instruction& near, int microbatch) {
      made.instructions.push({what, in, false, 0, near.voice, near.stage, microbatch, -1});
    };
    const program::role_view role = from.role(r);
    for (isize i = 0, end = 0; i < role.size(); i = end) {
      for (end = i + 1; end < role.size() && role[end - 1].paired;) ++end;  // what overlaps stays together
      for (isize k = i; k < end && role[k].what <= op::backward_weight; ++k) {
        const instruction& it = role[k];
        if ((it.what == op::forward || it.what == op::forward_only) && it.stage == 0)
          put(op::load, lane::copy, it, it.microbatch);
        if (is_backward(it.what) && moved.erase({it.voice, it.stage, it.microbatch}) != 0)
          put(op::fetch, lane::copy, it, it.microbatch);
        if (draw.below(3) == 0 && released.insert({it.voice, it.stage}).second)
          put(op::release_parameters, lane::reduce, it, -1);
        if (released.erase({it.voice, it.stage}) != 0) put(op::gather_parameters, lane::reduce, it, -1);
      }
      for (isize k = i; k < end; ++k) made.instructions.push(role[k]);
      for (isize k = i; k < end; ++k) {
        if (!keeps(role[k].what) || draw.below(2) == 0) continue;
        put(op::offload, lane::copy, role[k], role[k].microbatch);
        moved.insert({role[k].voice, role[k].stage, role[k].microbatch});
      }
    }
    made.starts.push(static_cast<std::int32_t>(made.instructions.size()));
  }
  made.slots = live_of_stages(made);
  return made;
}

}  // namespace motet::laws
