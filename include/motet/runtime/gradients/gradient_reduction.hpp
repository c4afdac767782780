// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/gradient_sink.hpp>
#include <motet/runtime/gradients/calls_in_turn.hpp>
#include <motet/runtime/gradients/gradient_buckets.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/state/held_memory.hpp>
#include <motet/tensor/arena.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace motet {

// A group is the one that was planned for.
template <class Group>
void check_group(group_seat planned, const Group* got) {
  const std::int32_t members = got != nullptr ? got->size() : 1, member = got != nullptr ? got->member() : 0;
  if (members != planned.members || member != planned.member)
    fail(reduction_misused, sentence({"planned for member ", planned.member, " of ", planned.members,
                                      ", got member ", member, " of ", members}));
}

// Each lane of a layout has its own.
template <class Group>
void check_groups(const reduction_layout& planned, const std::vector<Group*>& got) {
  if (got.size() != planned.lanes.size())
    fail(reduction_misused, sentence({"planned for ", planned.lanes.size(), " groups, got ", got.size()}));
  for (std::size_t l = 0; l < got.size(); ++l) check_group(planned.lanes[l].seat, got[l]);
}

// Sums the gradients of a stage over the ranks that hold it, bucket by bucket while backward still runs: a
// bucket's call begins when its gradients and those of all buckets before it are final, so every member makes
// the same calls in the same order. Where members share the optimizer's work, each gets the sum of its part
// only, and afterwards the others get the weights that it updated. Nothing is allocated in a step.
//
// A group serves one stage alone: of two, the one that is ready first on this rank may be the second one
// elsewhere.
template <class Master, class Group, class Context>
  requires all_reduces<Group, Master> && reduce_scatters<Group, Master> && all_gathers<Group>
class gradient_reduction {
 public:
  // The groups of the layout's lanes, null where this rank is alone. in_flight: calls under way on a group,
  // no more than the group allows.
  gradient_reduction(reduction_layout layout, const std::vector<Group*>& groups, std::int32_t in_flight = 4)
      : layout_(std::move(layout)), lanes_(layout_.lanes.size()) {
    check_groups(layout_, groups);
    isize packing = 0;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      const reduction_layout::lane& of = layout_.lanes[l];
      lane& own = lanes_[l];
      own.turns = calls_in_turn<Group>(groups[l], in_flight);
      for (const gradient_bucket& bucket : of.buckets) {
        call& one = own.calls.emplace_back();
        one.bucket = &bucket;
        one.packing = packing;
        if (bucket.packed()) packing += bucket.size;
        one.own = part_of_bucket(bucket.size, of.seat.members, of.seat.member);
      }
    }
  }
  gradient_reduction(const gradient_reduction&) = delete;
  gradient_reduction& operator=(const gradient_reduction&) = delete;

  const reduction_layout& layout() const { return layout_; }
  isize packing_bytes() const { return layout_.packing * static_cast<isize>(sizeof(Master)); }

  // This is called before the stage's flat buffers go away or are taken anew.
  void forget() { kept_.clear(); }
  // The stage's flat buffers, where the operations of ctx work; it stays.
  void prepare(Context& ctx, Master* gradients, Master* weights) {
    ctx_ = &ctx;
    gradients_ = gradients;
    weights_ = weights;
    forget();
    for (std::size_t l = 0; layout_.shards && l < lanes_.size(); ++l)
      for (call& each : lanes_[l].calls) find_parts(each, layout_.lanes[l].seat.members);
    packing_ = buffer_for<Context, Master>(layout_.packing);
    if constexpr (requires(Group& group) { group.keep(packing_.data(), isize{0}); })
      for (lane& own : lanes_) keep_for_sums(own);
  }
  void begin_step() {
    for (lane& own : lanes_) {
      if (const isize left = own.turns.under_way(); left > 0)
        fail(reduction_misused, sentence({"a step began while ", left, " calls were under way"}));
      own.turns.restart();
      for (call& each : own.calls) each.missing = each.bucket->size;
    }
    gathers_ = begun_ = settled_ = false;
  }
  // The first call of this step began then.
  const std::chrono::steady_clock::time_point& began() const { return began_; }
  // The gradients of these elements are final. The call may be left out, as finish() takes the rest.
  void ready(isize begin, isize end) {
    for (lane& own : lanes_)
      for (call& each : own.calls) {
        for (const interval part : each.bucket->parts)
          each.missing -= intersection(part, {begin, end}).size();
        if (each.missing < 0)
          fail(reduction_misused, sentence({"elements ", begin, " to ", end, " were ready before"}));
      }
    progress();
  }
  // The context of a backward takes this sink, and tells it addresses within the stage's gradients.
  gradient_sink sink() {
    return {[](void* self, const void* data, isize count) {
              auto& to = *static_cast<gradient_reduction*>(self);
              const isize begin = static_cast<const Master*>(data) - to.gradients_;
              to.ready(begin, begin + count);
            },
            this};
  }
  // Lets calls move and starts those that may. True: none is left.
  bool progress() {
    bool done = true;
    for (lane& own : lanes_) done = move(own) && done;
    if (done) settle();
    return done;
  }
  // Calls of this step that are done.
  isize ended() const {
    isize all = 0;
    for (const lane& own : lanes_) all += own.turns.ended();
    return all;
  }
  // All gradients are final. The result is false when not all are summed: call again.
  bool finish() {
    for (lane& own : lanes_)
      for (call& each : own.calls) each.missing = 0;
    return progress();
  }
  // This follows the update. The result is false when not all weights are here: call again.
  bool gather_weights() {
    if (!layout_.shards) return true;
    if (!gathers_) {
      for (const lane& own : lanes_)
        if (own.turns.ended() != static_cast<isize>(own.calls.size()))
          fail(reduction_misused, "weights were gathered before gradients were summed");
      for (lane& own : lanes_) own.turns.restart();
      gathers_ = true;
      settled_ = false;
    }
    return progress();
  }

 private:
  struct call {
    const gradient_bucket* bucket = nullptr;
    isize packing = 0;                 // where in packing_
    interval own;                      // this member's part, within the bucket
    std::vector<isize> counts, bytes;  // of each member's part, where each updates its own
    isize missing = 0;                 // elements that are not final yet
  };
  // Not before memory is taken: whoever counts what thousands of ranks need has no room for those of all.
  static void find_parts(call& of, std::int32_t members) {
    of.counts.clear(), of.bytes.clear();
    for (std::int32_t m = 0; m < members; ++m) {
      of.counts.push_back(part_of_bucket(of.bucket->size, members, m).size());
      of.bytes.push_back(of.counts.back() * static_cast<isize>(sizeof(Master)));
    }
  }
  struct lane {
    std::vector<call> calls;
    calls_in_turn<Group> turns;
  };

  // Tells the group of all memory of its calls.
  void keep_for_sums(lane& own) {
    if (own.calls.empty()) return;
    const auto keep = [&](const Master* data, isize count) {
      kept_.push_back(own.turns.group().keep(data, count * static_cast<isize>(sizeof(Master))));
    };
    keep(packing_.data(), packing_.size());
    interval all;
    for (const call& each : own.calls) {
      if (each.bucket->packed()) continue;
      const interval one = each.bucket->whole();
      all = all.size() > 0 ? interval{std::min(all.begin, one.begin), std::max(all.end, one.end)} : one;
    }
    if (all.size() <= 0) return;
    keep(gradients_ + all.begin, all.size());
    if (layout_.shards) keep(weights_ + all.begin, all.size());
  }
  bool move(lane& own) {
    const auto of = [&](isize turn) -> const call& { return own.calls[as_size(turn)]; };
    return own.turns.move(
        static_cast<isize>(own.calls.size()), [&](isize turn) { return of(turn).missing == 0; },
        [&](isize turn) { return start(own.turns.group(), of(turn)); }, [](isize) {});
  }
  ticket start(Group& group, const call& it) {
    if (!begun_) {
      began_ = std::chrono::steady_clock::now();
      if constexpr (requires { group.end().mark_early(&began_); }) group.end().mark_early(&began_);
    }
    begun_ = true;
    if (it.bucket->packed()) {
      if (gathers_) return calls_in_turn<Group>::no_call;
      Master* to = packing_.data() + it.packing;
      for (const interval part : it.bucket->parts) {
        copy(*ctx_, gradients_ + part.begin, to, part.size());
        to += part.size();
      }
      return group.all_reduce_sum(packing_.data() + it.packing, it.bucket->size);
    }
    const isize begin = it.bucket->whole().begin;
    if (gathers_) {
      auto* const all = reinterpret_cast<std::byte*>(weights_ + begin);
      return group.all_gather(all + it.own.begin * static_cast<isize>(sizeof(Master)), all, it.bytes);
    }
    Master* const all = gradients_ + begin;
    if (layout_.shards)
      return group.reduce_scatter_sum(static_cast<const Master*>(all), all + it.own.begin, it.counts);
    return group.all_reduce_sum(all, it.bucket->size);
  }
  // All are done: only now what is computed has to wait for them.
  void settle() {
    if (std::exchange(settled_, true)) return;
    for (lane& own : lanes_) {
      if (own.calls.empty()) continue;
      see_calls(own.turns.group());
      for (const call& each : own.calls)
        if (each.bucket->packed() && !gathers_) unpack(each);
    }
  }
  void unpack(const call& it) {
    const Master* from = packing_.data() + it.packing;
    for (const interval part : it.bucket->parts) {
      copy(*ctx_, from, gradients_ + part.begin, part.size());
      from += part.size();
    }
  }

  reduction_layout layout_;
  std::vector<lane> lanes_;
  Context* ctx_ = nullptr;
  Master *gradients_ = nullptr, *weights_ = nullptr;
  buffer_for<Context, Master> packing_;
  // behind packing_: a transport forgets memory before it goes away
  std::vector<std::shared_ptr<void>> kept_;
  bool gathers_ = false, begun_ = false, settled_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace motet
