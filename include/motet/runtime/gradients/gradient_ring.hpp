// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/noted_wait.hpp>
#include <motet/runtime/gradients/gradient_reduction.hpp>

namespace motet {

// Sums the gradients of a stage as gradient_reduction does, but layer by layer in every microbatch, so that
// no rank keeps gradients of elements that it does not update (known as ZeRO, level 2): backward works in the
// memory of a few layers, and the owner of an element adds its sums up.
//
// The memory of a layer may be in a sum still when backward wants it, so a backward waits for that of all
// other members: in a program they have to be one meeting. Members' backwards come in the same order. Nothing
// is allocated in a step.
template <class Master, class Group, class Context>
  requires all_reduces<Group, Master> && reduce_scatters<Group, Master> && all_gathers<Group>
class gradient_ring {
 public:
  // The layout has shards and was made with these layers, which backward completes from the last one on.
  // slots: layers whose gradients exist at a time.
  gradient_ring(reduction_layout layout, std::span<const interval> layers, const std::vector<Group*>& groups,
                std::int32_t slots = 2, std::int32_t in_flight = 4)
      : layout_(std::move(layout)), lanes_(layout_.lanes.size()), slots_(as_size(slots)) {
    if (!layout_.shards) fail(reduction_misused, "gradients that are not kept need a layout with shards");
    for (const interval each : layers) {
      layers_.push_back({each, {}, {}});
      largest_ = std::max(largest_, each.size());
    }
    check_groups(layout_, groups);
    std::vector<interval> in_place;
    isize packing = 0;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const group_seat seat = layout_.lanes[l].seat;
      lanes_[l].turns = calls_in_turn<Group>(groups[l], in_flight);
      for (const gradient_bucket& bucket : layout_.lanes[l].buckets) {
        if (bucket.packed()) {
          lanes_[l].packed.push_back({&bucket, packing});
          packing += bucket.size;
        } else {
          in_place.push_back(bucket.whole());
          add_sum(l, seat, bucket.whole());
        }
      }
    }
    // The rest is in no sum of a layer: this rank alone holds it, or it is packed and summed with the last
    // microbatch.
    std::sort(in_place.begin(), in_place.end(), [](interval a, interval b) { return a.begin < b.begin; });
    const std::vector<interval> rest = without(layout_.size, in_place);
    for (layer_sums& layer : layers_)
      for (const interval part : rest)
        if (const interval both = intersection(layer.at, part); both.size() > 0)
          layer.kept.push_back({both, sum_at(both.begin)});
    std::size_t most = 0;
    for (const layer_sums& layer : layers_) {
      most = std::max(most, layer.calls.size());
      for (const sum& each : layer.calls) lanes_[each.lane].in_place.push_back(&each);
    }
    for (slot& each : slots_) each.tickets.reserve(most);
  }
  gradient_ring(const gradient_ring&) = delete;
  gradient_ring& operator=(const gradient_ring&) = delete;

  const reduction_layout& layout() const { return layout_; }
  // All gradients that exist here take so many bytes.
  isize gradient_bytes() const {
    return (static_cast<isize>(slots_.size()) * largest_ + layout_.share.moments + layout_.packing) *
           static_cast<isize>(sizeof(Master));
  }
  // Gradients of the elements that this rank updates, in the order of their moments.
  Master* sums() const { return sums_.data(); }

  // base: the address that stands for the first gradient of the stage; it is not read. Weights are null where
  // each rank keeps those alone that it updates.
  void prepare(Context& ctx, const Master* base, Master* weights) {
    ctx_ = &ctx;
    base_ = base;
    weights_ = weights;
    sums_ = buffer_type(layout_.share.moments);
    packing_ = buffer_type(layout_.packing);
    for (slot& each : slots_) each.memory = buffer_type(largest_);
  }
  void begin_step() {
    for (const slot& each : slots_)
      if (each.layer != nullptr)
        fail(reduction_misused, "a step began while gradients of a layer were summed");
    zero(*ctx_, sums_.data(), sums_.size());
    for (lane& own : lanes_) own.turns.restart();
    gathers_ = false;
  }
  // The context of every backward of the step takes this sink.
  gradient_sink sink() {
    return {[](void* self, const void* data, isize count) {
              static_cast<gradient_ring*>(self)->ready(data, count);
            },
            this,
            [](void* self, const void* data, isize count) -> void* {
              return static_cast<gradient_ring*>(self)->where(data, count);
            }};
  }
  // All microbatches are through. The result is false when not all is summed: call again.
  bool finish() {
    if (gathers_) return true;
    bool done = true;
    // The oldest comes first, whichever is here first: microbatches of a layer are added up in one order.
    for (std::size_t k = 0; k < slots_.size(); ++k)
      done = done && settle(slots_[(turn_ + k) % slots_.size()], [this](std::size_t l, ticket which) {
               return lanes_[l].turns.group().test(which);
             });
    for (lane& own : lanes_) done = done && sum_packed(own);
    return done;
  }
  // This follows the update. The result is false when not all weights are here: call again.
  bool gather_weights() {
    if (weights_ == nullptr) return true;
    if (!std::exchange(gathers_, true))
      for (lane& own : lanes_) own.turns.restart();
    bool done = true;
    for (lane& own : lanes_) done = gather(own) && done;
    return done;
  }

 private:
  using buffer_type = buffer_for<Context, Master>;
  struct sum {
    std::size_t lane;
    interval at, own;  // own: the part of this member
    isize to;          // where own is in sums_
    std::vector<isize> counts, bytes;
  };
  struct kept_part {
    interval at;
    isize to;
  };
  struct layer_sums {
    interval at;
    std::vector<sum> calls;
    std::vector<kept_part> kept;
  };
  struct packed_sum {
    const gradient_bucket* bucket;
    isize packing;
  };
  struct lane {
    std::vector<packed_sum> packed;
    std::vector<const sum*> in_place;
    calls_in_turn<Group> turns;  // of packed sums, then of weights
  };
  struct slot {
    buffer_type memory;
    const layer_sums* layer = nullptr;
    std::vector<ticket> tickets;  // of the layer's calls
    std::size_t settled = 0;      // of them
  };

  // The sum of an element that this rank updates is here.
  isize sum_at(isize element) const {
    for (const owned_elements& each : layout_.share.owned)
      if (element >= each.at.begin && element < each.at.end) return each.moments + element - each.at.begin;
    return 0;
  }
  void add_sum(std::size_t l, group_seat seat, interval at) {
    for (layer_sums& layer : layers_) {
      if (at.begin < layer.at.begin || at.end > layer.at.end) continue;
      const interval part = part_of_bucket(at.size(), seat.members, seat.member);
      sum one{l, at, {at.begin + part.begin, at.begin + part.end}, 0, {}, {}};
      if (one.own.size() > 0) one.to = sum_at(one.own.begin);
      for (std::int32_t m = 0; m < seat.members; ++m) {
        one.counts.push_back(part_of_bucket(at.size(), seat.members, m).size());
        one.bytes.push_back(one.counts.back() * static_cast<isize>(sizeof(Master)));
      }
      layer.calls.push_back(std::move(one));
      return;
    }
    fail(reduction_misused,
         sentence({"elements ", at.begin, " to ", at.end, " of a bucket lie in no layer"}));
  }

  Master* where(const void* data, isize count) {
    const isize begin = static_cast<const Master*>(data) - base_;
    slot& own = slots_[turn_ % slots_.size()];
    if (open_ != nullptr && open_->at.begin == begin) return own.memory.data();
    settle(own, [this](std::size_t l, ticket which) {
      const noted_wait noted(wait_for::sum);
      lanes_[l].turns.group().wait(which);
      return true;
    });
    const auto found = std::find_if(layers_.begin(), layers_.end(),
                                    [&](const layer_sums& each) { return each.at.begin == begin; });
    if (open_ != nullptr || found == layers_.end() || found->at.size() != count)
      fail(reduction_misused,
           sentence({"elements ", begin, " to ", begin + count, " are no layer, or another is not ready"}));
    open_ = &*found;
    zero(*ctx_, own.memory.data(), count);
    return own.memory.data();
  }
  void ready(const void* data, isize count) {
    const isize begin = static_cast<const Master*>(data) - base_;
    if (open_ == nullptr || open_->at.begin != begin || open_->at.size() != count)
      fail(reduction_misused,
           sentence({"elements ", begin, " to ", begin + count, " were ready before, or have no memory"}));
    slot& own = slots_[turn_++ % slots_.size()];
    own.layer = std::exchange(open_, nullptr);
    for (const kept_part& each : own.layer->kept) add(own, each.at, each.to);
    for (const sum& each : own.layer->calls) {
      Master* const all = own.memory.data() + each.at.begin - begin;
      own.tickets.push_back(lanes_[each.lane].turns.group().reduce_scatter_sum(
          static_cast<const Master*>(all), all + each.own.begin - each.at.begin, each.counts));
    }
  }
  void add(const slot& from, interval at, isize to) {
    const Master* const own = from.memory.data() + at.begin - from.layer->at.begin;
    accumulate(*ctx_, own, sums_.data() + to, at.size());
  }
  // Adds up what is summed; true when nothing of the slot is under way. done(lane, ticket) looks, or waits.
  template <class Done>
  bool settle(slot& of, Done&& done) {
    if (of.layer == nullptr) return true;
    for (; of.settled < of.tickets.size(); ++of.settled) {
      const sum& one = of.layer->calls[of.settled];
      if (!done(one.lane, of.tickets[of.settled])) return false;
      see_calls(lanes_[one.lane].turns.group());
      add(of, one.own, one.to);
    }
    of.layer = nullptr;
    of.tickets.clear();
    of.settled = 0;
    return true;
  }
  bool sum_packed(lane& own) {
    const auto each_part = [&](isize turn, auto&& move) {
      const packed_sum& of = own.packed[as_size(turn)];
      Master* at = packing_.data() + of.packing;
      for (const interval part : of.bucket->parts) {
        move(at, sums_.data() + sum_at(part.begin), part.size());
        at += part.size();
      }
    };
    return own.turns.move(
        static_cast<isize>(own.packed.size()), [](isize) { return true; },
        [&](isize turn) {
          each_part(turn,
                    [&](Master* packed, const Master* sums, isize size) { copy(*ctx_, sums, packed, size); });
          const packed_sum& of = own.packed[as_size(turn)];
          return own.turns.group().all_reduce_sum(packing_.data() + of.packing, of.bucket->size);
        },
        [&](isize turn) {
          see_calls(own.turns.group());
          each_part(turn,
                    [&](const Master* packed, Master* sums, isize size) { copy(*ctx_, packed, sums, size); });
        });
  }
  bool gather(lane& own) {
    return own.turns.move(
        static_cast<isize>(own.in_place.size()), [](isize) { return true; },
        [&](isize turn) {
          const sum& of = *own.in_place[as_size(turn)];
          auto* const all = reinterpret_cast<std::byte*>(weights_ + of.at.begin);
          return own.turns.group().all_gather(
              all + (of.own.begin - of.at.begin) * static_cast<isize>(sizeof(Master)), all, of.bytes);
        },
        [&](isize) { see_calls(own.turns.group()); });
  }

  reduction_layout layout_;
  std::vector<lane> lanes_;
  std::vector<layer_sums> layers_;
  std::vector<slot> slots_;
  std::size_t turn_ = 0;
  const layer_sums* open_ = nullptr;  // whose gradients backward adds to now
  isize largest_ = 0;                 // elements of a layer
  Context* ctx_ = nullptr;
  const Master* base_ = nullptr;
  Master* weights_ = nullptr;
  buffer_type sums_, packing_;
  bool gathers_ = false;
};

}  // namespace motet
