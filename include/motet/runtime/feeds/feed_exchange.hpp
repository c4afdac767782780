// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/feed_receiver.hpp>

namespace motet {

// One way over a feed: from the seat where this rank sends, if it has one, to the seat where it receives,
// if it has one.
template <class T, transport Transport, class Context>
class feed_way {
 public:
  feed_way(const feed_seat& out, const feed_seat& in, Transport& by, std::int32_t first_tag, any_group tensor)
      : sender_(out, by, first_tag), receiver_(in, by, first_tag, tensor, sender_) {}
  feed_way(const feed_way&) = delete;
  feed_way& operator=(const feed_way&) = delete;

  // Takes the memory: for samples of up to these rows, and for so many microbatches under way at each end.
  void prepare(Context& ctx, const sequences& largest, index slots) {
    sender_.prepare(ctx, largest, slots);
    receiver_.prepare(ctx, largest, slots);
  }
  // A new step with samples of these rows, which stay as they are until the next. What the step before sent
  // has arrived.
  void begin_step(const sequences& all) {
    sender_.begin_step(all);
    receiver_.begin_step(all);
  }
  bool send(index m, matrix<const T> rows) { return sender_.send(m, rows); }
  bool sent(index m) { return sender_.sent(m); }
  bool receive(index m, matrix<T> to) { return receiver_.receive(m, to); }
  void gather(index m, matrix<T> to) { receiver_.gather(m, to); }
  index bytes_sent() const { return sender_.bytes_sent(); }
  index bytes_kept() const { return sender_.bytes_kept(); }

 private:
  feed_sender<T, Transport, Context> sender_;
  feed_receiver<T, Transport, Context> receiver_;
};

// A feed as one rank takes part in it, with both ways over it: rows forward from the source's ranks to the
// target's, their gradients backward over the same messages with their ends exchanged. The gradient of a row
// is whole on each tensor rank of its context part, as the row is, so each of them sends its share of the
// columns back: every number crosses once each way. (Gradients that are partial sums are added up in the
// tensor group first.) An edge that nothing learns behind takes a feed_way alone.
//
// A rank may have a seat at either side, at both or at none; what it has for itself is copied. Nothing is
// allocated after prepare().
template <class T, transport Transport, class Context>
class feed_exchange {
 public:
  // Takes edge.tags() tags from first_tag on. The groups are the tensor groups of this rank on each side, in
  // the order of its members; none for one alone.
  feed_exchange(const feed_edge& edge, Transport& by, std::int32_t first_tag, any_group source_tensor,
                any_group target_tensor)
      : source(edge, true, by.rank()),
        target(edge, false, by.rank()),
        forward(source, target, by, first_tag, target_tensor),
        backward(target, source, by, first_tag + edge.tags() / 2, source_tensor) {}

  void prepare(Context& ctx, const sequences& largest, index slots) {
    forward.prepare(ctx, largest, slots);
    backward.prepare(ctx, largest, slots);
  }
  void begin_step(const sequences& all) {
    forward.begin_step(all);
    backward.begin_step(all);
  }
  index bytes_sent() const { return forward.bytes_sent() + backward.bytes_sent(); }

  const feed_seat source, target;
  feed_way<T, Transport, Context> forward, backward;
};

}  // namespace motet
