// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/collectives.hpp>

#include <vector>

namespace motet {

// Work that is computed sees a group's calls from now on, where these are done beside it.
template <class Group>
void see_calls(Group& group) {
  if constexpr (requires { group.see(); }) group.see();
}

// Calls 0, 1, ... on a group, begun and ended in this order, with a bounded number of them under way. Nobody
// waits.
template <class Group>
class calls_in_turn {
 public:
  static constexpr ticket no_call = ~ticket{0};  // of a turn in which there is nothing to call

  calls_in_turn() = default;
  calls_in_turn(Group* group, std::int32_t in_flight) : group_(group), tickets_(as_size(in_flight)) {}

  Group& group() const { return *group_; }
  void restart() { next_ = open_ = 0; }
  isize under_way() const { return next_ - open_; }
  isize ended() const { return open_; }
  // Begins what may(call) allows by start(call) -> ticket, and calls end(call) for what is done. True: all
  // `calls` are.
  template <class May, class Start, class End>
  bool move(isize calls, May&& may, Start&& start, End&& end) {
    for (bool went = true; went;) {
      went = false;
      for (; open_ < next_ && (ticket_of(open_) == no_call || group_->test(ticket_of(open_))); went = true)
        end(open_++);
      for (; next_ < calls && under_way() < static_cast<isize>(tickets_.size()) && may(next_); went = true) {
        ticket_of(next_) = start(next_);
        ++next_;
      }
    }
    return open_ == calls;
  }

 private:
  ticket& ticket_of(isize call) { return tickets_[as_size(call) % tickets_.size()]; }

  Group* group_ = nullptr;
  std::vector<ticket> tickets_;
  isize next_ = 0, open_ = 0;  // first that was not begun, first that is not done
};

}  // namespace motet
