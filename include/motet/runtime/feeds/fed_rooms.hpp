// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/schedule/core/program.hpp>

#include <vector>

namespace motet {

// Where the rows that a voice gives to another lie between the two: microbatches whose rows are needed at one
// time have rooms of their own. The list of the rank that holds both ends decides, so a room is known for each
// microbatch before anything runs.
struct fed_rooms {
  std::vector<std::int32_t> rows, gradients;  // the room of each microbatch; -1: it needs none
  std::int32_t row_rooms = 0, gradient_rooms = 0;
};

// The other voice of a feed, and the microbatch there for each here: an edge joins each with one.
struct fed_partner {
  std::int32_t voice = -1;
  std::vector<std::int32_t> microbatches;
};
inline fed_partner partner_of(const program& of, std::int32_t voice, bool as_source) {
  fed_partner found;
  for (const fed_cell& each : of.feeds) {
    if ((as_source ? each.from : each.to) != voice) continue;
    const std::int32_t other = as_source ? each.to : each.from,
                       here = as_source ? each.from_microbatch : each.to_microbatch,
                       there = as_source ? each.to_microbatch : each.from_microbatch;
    if (found.voice < 0) {
      found.voice = other;
      found.microbatches.assign(as_size(of.voices[voice].microbatches), -1);
    }
    if (found.voice != other || found.microbatches[as_size(here)] >= 0)
      fail(program_does_not_fit,
           sentence({"microbatch ", here, " of voice ", voice, " feeds, or is fed by, two"}));
    found.microbatches[as_size(here)] = there;
  }
  for (std::size_t m = 0; m < found.microbatches.size(); ++m)
    if (found.microbatches[m] < 0)
      fail(program_does_not_fit,
           sentence({"microbatch ", m, " of voice ", voice, " has nobody at the other end of its edge"}));
  return found;
}

namespace detail {

// Numbers that are taken and given back; the lowest free one first.
class room_numbers {
 public:
  std::int32_t take() {
    for (std::size_t i = 0; i < taken_.size(); ++i)
      if (taken_[i] == 0) return taken_[i] = 1, static_cast<std::int32_t>(i);
    taken_.push_back(1);
    return count() - 1;
  }
  void give(std::int32_t number) { taken_[as_size(number)] = 0; }
  std::int32_t count() const { return static_cast<std::int32_t>(taken_.size()); }

 private:
  std::vector<std::uint8_t> taken_;
};

}  // namespace detail

// Of a voice that feeds another.
inline fed_rooms rooms_of(const program& of, std::int32_t source) {
  const fed_partner to = partner_of(of, source, true);
  const voice &gives = of.voices[source], &takes = of.voices[to.voice];
  const auto count = as_size(gives.microbatches);
  fed_rooms found{std::vector<std::int32_t>(count, -1), std::vector<std::int32_t>(count, -1)};
  std::vector<std::int32_t> back(as_size(takes.microbatches), -1);
  for (std::size_t m = 0; m < count; ++m) back[as_size(to.microbatches[m])] = static_cast<std::int32_t>(m);
  detail::room_numbers rows, gradients;
  for (const instruction& it : of.role(of.place(gives, gives.stages - 1))) {
    if (!is_compute(it.what) || it.what == op::join) continue;
    const bool last_part = ends(it.what);
    if (it.voice == source && it.stage + 1 == gives.stages) {
      const auto m = as_size(it.microbatch);
      if (is_forward(it.what) && found.rows[m] < 0) found.rows[m] = rows.take();
      // What its weight part reads is there until then.
      if (last_part && found.gradients[m] >= 0) gradients.give(found.gradients[m]);
    }
    if (it.voice == to.voice && it.stage == 0) {
      const auto m = as_size(back[as_size(it.microbatch)]);
      const bool takes_gradient = it.what == op::backward || it.what == op::backward_input;
      if (takes_gradient && gives.learns) found.gradients[m] = gradients.take();
      if (takes.learns ? last_part : is_forward(it.what) && it.what != op::forward_only)
        rows.give(found.rows[m]);
    }
  }
  found.row_rooms = rows.count();
  found.gradient_rooms = gradients.count();
  return found;
}

}  // namespace motet
