// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/any_group.hpp>
#include <motet/runtime/feeds/feed_sender.hpp>

namespace motet {

// A rank's receiving end of a feed. It gets its share of the columns from the senders, and the rest from
// its tensor group, so that each number crosses the feed once.
template <class T, transport Transport, class Context>
class feed_receiver {
 public:
  // `tensor`: the ranks that receive the same rows; none for one alone. `beside` is this rank's own sender on
  // the same way.
  feed_receiver(const feed_seat& seat, Transport& by, std::int32_t first_tag, any_group tensor,
                feed_sender<T, Transport, Context>& beside)
      : slots_(seat),
        by_(by),
        first_tag_(first_tag),
        tensor_(tensor),
        beside_(beside),
        states_(seat.parcels().size()) {
    if (seat.seated() && (tensor.size() != seat.tensor() || tensor.member() != seat.tensor_member()))
      fail(feed_misfit,
           sentence({"tensor member ", seat.tensor_member(), " of ", seat.tensor(),
                     " was given a group in which it is member ", tensor.member(), " of ", tensor.size()}));
    // Both seats have their messages in the order of numbers.
    const auto& leaving = beside.seat().parcels();
    std::size_t o = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (seat.parcels()[i].peer != by.rank()) continue;
      while (leaving[o].number != seat.parcels()[i].number) ++o;
      states_[i].twin = static_cast<index>(o);
    }
  }

  void prepare(Context& ctx, const sequences& largest, index slots) {
    slots_.prepare(ctx, largest, slots, tensor_.alone() ? 0 : slots_.seat().width());
    share_bytes_.resize(as_size(tensor_.size()));
  }
  void begin_step(const sequences& all) { slots_.begin_step(all); }

  // Asks for microbatch m of the own replica. False: not all is there, or an earlier one has its slot yet;
  // call again, with the same `to`. Then gather().
  bool receive(index m, matrix<T> to) {  // (rows of the part, width)
    auto& here = slots_.of(m);
    if (here.holds != m) {
      if (here.holds >= 0) return false;
      slots_.open(here, m, to.rows, to.width);
      expect(here, to);
    }
    bool all = true;
    const interval own = slots_.seat().parcels_of(m);
    for (index p = own.begin; p < own.end; ++p) {
      state& now = states_[as_size(p)];
      if (!now.arrived) now.arrived = now.twin >= 0 ? take_own(here, p, to) : take(here, p, to);
      all = all && now.arrived;
    }
    return all;
  }
  // Ends a microbatch that was received: its other columns come from the tensor group. All members call this
  // at the same point of their programs, as it is a meeting and waits for them.
  void gather(index m, matrix<T> to) {  // (rows of the part, width)
    auto& here = slots_.of(m);
    if (here.holds != m)
      fail(feed_misfit, sentence({"microbatch ", m, " is gathered, but was not received"}));
    here.holds = -1;
    if (tensor_.alone()) return;
    const feed_seat& seat = slots_.seat();
    for (index t = 0; t < tensor_.size(); ++t)
      share_bytes_[as_size(t)] = to.rows * seat.columns(t).size() * static_cast<index>(sizeof(T));
    tensor_.all_gather(reinterpret_cast<const std::byte*>(share_of(here, to).data), here.memory.data(),
                       share_bytes_);
    for (index t = 0; t < tensor_.size(); ++t) {
      const interval columns = seat.columns(t);
      slots_.move(gathered(here, to.rows, columns), to.columns(columns.begin, columns.size()));
    }
  }

 private:
  using slot = typename feed_slots<T, Context>::slot;
  struct state {
    T* to = nullptr;  // where the transport puts it
    index bytes = 0;
    bool packed = false;  // there, and not in its place
    bool arrived = false;
    index twin = -1;  // of a message to itself: its place among those of the sender
  };
  const feed_seat::parcel& parcel(index p) const { return slots_.seat().parcels()[as_size(p)]; }
  interval columns() const { return slots_.seat().columns(slots_.seat().tensor_member()); }

  // What each member has of all rows lies one behind the other.
  static matrix<T> gathered(const slot& here, index rows, interval columns) {
    return {reinterpret_cast<T*>(here.memory.data()) + rows * columns.begin, rows, columns.size(),
            columns.size()};
  }
  matrix<T> share_of(const slot& here, matrix<T> to) const {
    return tensor_.alone() ? to : gathered(here, to.rows, columns());
  }
  // Each message arrives in its place, where that is one piece of memory.
  void expect(slot& here, matrix<T> to) {
    const matrix<T> share = share_of(here, to);
    std::byte* free = here.memory.data() + (tensor_.alone() ? 0 : slots_.bytes_of(to.rows * to.width));
    const interval own = slots_.seat().parcels_of(here.holds);
    for (index p = own.begin; p < own.end; ++p) {
      const index width = parcel(p).what.columns.size();
      const auto at = slots_.find_rows(here, parcel(p));
      state& now = states_[as_size(p)];
      now.arrived = false;
      now.bytes = at.rows * width * static_cast<index>(sizeof(T));
      now.packed = !at.in_one || width != share.stride;
      now.to = now.packed ? reinterpret_cast<T*>(free) : share.row(at.first);
      if (now.packed) free += slots_.bytes_of(at.rows * width);
    }
  }
  bool take(const slot& here, index p, matrix<T> to) {
    const feed_seat::parcel& it = parcel(p);
    const state& now = states_[as_size(p)];
    if (!by_.receive(first_tag_ + it.number, it.peer, reinterpret_cast<std::byte*>(now.to), now.bytes))
      return false;
    if (now.packed) slots_.unpack(here, it, now.to, share_of(here, to), columns().begin);
    return true;
  }
  bool take_own(const slot& here, index p, matrix<T> to) {
    const index twin = states_[as_size(p)].twin;
    if (!beside_.waits(twin)) return false;
    slots_.unpack(here, parcel(p), beside_.packed(twin), share_of(here, to), columns().begin);
    beside_.taken(twin);
    return true;
  }

  feed_slots<T, Context> slots_;
  Transport& by_;
  std::int32_t first_tag_;
  any_group tensor_;
  feed_sender<T, Transport, Context>& beside_;
  std::vector<state> states_;
  std::vector<index> share_bytes_;
};

}  // namespace motet
