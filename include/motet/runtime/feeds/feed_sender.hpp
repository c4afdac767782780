// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/concepts.hpp>
#include <motet/runtime/feeds/feed_slots.hpp>

namespace motet {

// A rank's sending end of a feed. Every tensor rank of a sender has whole rows and sends its share of the
// columns. A message without rows is a message, so all ranks make the same calls whatever the data.
template <class T, transport Transport, class Context>
class feed_sender {
 public:
  // Message i of the list has the tag first_tag + i.
  feed_sender(const feed_seat& seat, Transport& by, std::int32_t first_tag)
      : slots_(seat), by_(by), first_tag_(first_tag), states_(seat.parcels().size()) {}

  void prepare(Context& ctx, const sequences& largest, index slots) {
    slots_.prepare(ctx, largest, slots, 0);
  }
  void begin_step(const sequences& all) {
    slots_.begin_step(all);
    for (state& each : states_) each.waits = false;
  }

  // Begins to send microbatch m of the own replica, the rows of its context part, which stay as they are
  // until sent(m). False: an earlier one has its slot yet, call again.
  bool send(index m, matrix<const T> rows) {  // (rows of the part, width)
    auto& here = slots_.of(m);
    if (here.holds >= 0 && !sent(here.holds)) return false;
    slots_.open(here, m, rows.rows, rows.width);
    std::byte* free = here.memory.data();
    const interval own = seat().parcels_of(m);
    for (index p = own.begin; p < own.end; ++p) {
      const feed_seat::parcel& it = parcel(p);
      state& now = states_[as_size(p)];
      const auto at = slots_.find_rows(here, it);
      const index columns = it.what.columns.size(), bytes = at.rows * columns * static_cast<index>(sizeof(T));
      if (at.in_one && columns == rows.stride) {
        now.from = rows.row(at.first);
      } else {
        T* const to = reinterpret_cast<T*>(free);
        slots_.pack(here, it, rows, to);
        now.from = to;
        free += slots_.bytes_of(at.rows * columns);
      }
      now.waits = it.peer == by_.rank();
      (now.waits ? bytes_kept_ : bytes_sent_) += bytes;
      if (!now.waits)
        by_.send(first_tag_ + it.number, it.peer, reinterpret_cast<const std::byte*>(now.from), bytes);
    }
    return true;
  }
  // Whether all of it was taken, so that its rows may be used again.
  bool sent(index m) {
    if (slots_.of(m).holds != m) return true;
    const interval own = seat().parcels_of(m);
    for (index p = own.begin; p < own.end; ++p) {
      const feed_seat::parcel& it = parcel(p);
      if (it.peer == by_.rank() ? states_[as_size(p)].waits : !by_.sent(first_tag_ + it.number)) return false;
    }
    return true;
  }

  // For a receiver on the same rank: whether message p of this seat waits for it, and its rows, packed.
  bool waits(index p) const { return states_[as_size(p)].waits; }
  const T* packed(index p) const { return states_[as_size(p)].from; }
  void taken(index p) {
    states_[as_size(p)].waits = false;
    // Who waits for the slot can go on now, though nothing came: a message of no bytes to itself keeps the
    // rank awake.
    by_.send(first_tag_ + parcel(p).number, by_.rank(), nullptr, 0);
    by_.receive(first_tag_ + parcel(p).number, by_.rank(), nullptr, 0);
  }

  const feed_seat& seat() const { return slots_.seat(); }
  // Since it was made: to other ranks, and from this rank to itself.
  index bytes_sent() const { return bytes_sent_; }
  index bytes_kept() const { return bytes_kept_; }

 private:
  struct state {
    const T* from = nullptr;
    bool waits = false;  // for this rank to take it
  };
  const feed_seat::parcel& parcel(index p) const { return seat().parcels()[as_size(p)]; }

  feed_slots<T, Context> slots_;
  Transport& by_;
  std::int32_t first_tag_;
  index bytes_sent_ = 0, bytes_kept_ = 0;
  std::vector<state> states_;
};

}  // namespace motet
