// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/noted_wait.hpp>
#include <motet/nn/core/weight_lender.hpp>
#include <motet/runtime/gradients/gradient_reduction.hpp>

namespace motet {

// Weights of a stage that ranks keep in shares (known as ZeRO, level 3): each has those that it updates, and
// the weights of a layer come together while it computes, in memory that the next layer's take over. All
// members ask for the same layers in the same order, so in a program the computations of a stage are meetings
// of its replicas. Nothing is allocated in a step.
template <class Master, class Group, class Context>
  requires all_gathers<Group>
class lent_weights {
 public:
  // The layout has shards and was made with layers, none of which lies in several of `parts`: these are asked
  // for, each by itself. Groups are those of the layout's lanes, null where this rank is alone.
  lent_weights(const reduction_layout& layout, std::span<const interval> parts,
               const std::vector<Group*>& groups)
      : owned_(layout.share.owned) {
    if (!layout.shards) fail(reduction_misused, "weights that are lent need a layout with shards");
    for (const interval each : parts) {
      parts_.push_back({each, {}});
      largest_ = std::max(largest_, each.size());
    }
    check_groups(layout, groups);
    for (std::size_t l = 0; l < groups.size(); ++l) {
      const group_seat seat = layout.lanes[l].seat;
      for (const gradient_bucket& bucket : layout.lanes[l].buckets)
        if (!bucket.packed()) add_call(*groups[l], seat, bucket.whole());
    }
    std::size_t most = 0;
    for (const part& each : parts_) most = std::max(most, each.calls.size());
    tickets_.reserve(most);
  }
  lent_weights(const lent_weights&) = delete;
  lent_weights& operator=(const lent_weights&) = delete;

  // Elements of the memory in which weights come together.
  isize elements() const { return largest_; }

  // shares: the weights that this rank updates, in the order of their moments. No memory lies at the
  // addresses from `base` on, which stand for the weights of the stage.
  void prepare(Context& ctx, const Master* base, const Master* shares) {
    ctx_ = &ctx;
    base_ = base;
    shares_ = shares;
    memory_ = buffer_for<Context, Master>(largest_);
    open_ = nullptr;
  }
  // Shares may have changed.
  void begin_step() { open_ = nullptr; }
  weight_lender lender() {
    const Master* const last = parts_.empty() ? base_ : base_ + parts_.back().at.end;
    return {[](void* self, const void* data, isize count) -> const void* {
              return static_cast<lent_weights*>(self)->where(data, count);
            },
            this, base_, last};
  }

 private:
  struct call {
    Group* group;
    interval at, own;  // own: the part of this member
    std::vector<isize> bytes;
  };
  struct part {
    interval at;
    std::vector<call> calls;
  };

  void add_call(Group& group, group_seat seat, interval at) {
    for (part& each : parts_) {
      if (at.begin < each.at.begin || at.end > each.at.end) continue;
      const interval own = part_of_bucket(at.size(), seat.members, seat.member);
      call& made = each.calls.emplace_back(call{&group, at, {at.begin + own.begin, at.begin + own.end}, {}});
      for (std::int32_t m = 0; m < seat.members; ++m)
        made.bytes.push_back(part_of_bucket(at.size(), seat.members, m).size() *
                             static_cast<isize>(sizeof(Master)));
      return;
    }
    fail(reduction_misused, sentence({"elements ", at.begin, " to ", at.end, " of a bucket lie in no part"}));
  }
  const Master* where(const void* data, isize count) {
    const isize begin = static_cast<const Master*>(data) - base_;
    if (open_ != nullptr && open_->at.begin == begin && open_->at.size() == count) return memory_.data();
    open_ = nullptr;
    for (const part& each : parts_)
      if (each.at.begin == begin && each.at.size() == count) open_ = &each;
    if (open_ == nullptr)
      fail(reduction_misused, sentence({"elements ", begin, " to ", begin + count, " are no part"}));
    gather(*open_);
    return memory_.data();
  }
  void gather(const part& all) {
    for (const owned_elements& each : owned_)
      if (const interval both = intersection(each.at, all.at); both.size() > 0)
        copy(*ctx_, shares_ + each.moments + both.begin - each.at.begin,
             memory_.data() + both.begin - all.at.begin, both.size());
    for (const call& each : all.calls) {
      Master *const to = memory_.data() + each.at.begin - all.at.begin, *const own = memory_.data() +
                                                                                     each.own.begin -
                                                                                     all.at.begin;
      tickets_.push_back(each.group->all_gather(reinterpret_cast<const std::byte*>(own),
                                                reinterpret_cast<std::byte*>(to), each.bytes));
    }
    const noted_wait noted(wait_for::weights);
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      all.calls[i].group->wait(tickets_[i]);
      see_calls(*all.calls[i].group);
    }
    tickets_.clear();
  }

  std::vector<owned_elements> owned_;
  std::vector<part> parts_;
  std::vector<ticket> tickets_;
  isize largest_ = 0;
  Context* ctx_ = nullptr;
  const Master *base_ = nullptr, *shares_ = nullptr;
  buffer_for<Context, Master> memory_;
  const part* open_ = nullptr;  // whose weights are together
};

}  // namespace motet
