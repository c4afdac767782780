// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/gpu/gpu_group.hpp>
#include <motet/backend/transport/nccl/nccl.hpp>

namespace motet::nccl {

// Groups of ranks, each with a communicator of its own.
class group_set {
 public:
  group_set(world& all, std::span<const std::vector<std::int32_t>> groups, group_options options = {})
      : world_(all),
        in_flight_(options.in_flight),
        members_(groups.begin(), groups.end()),
        made_(all.session_.split(members_)) {
    for (std::size_t g = 0; g < made_.size(); ++g)
      if (made_[g]) world_.open_groups_.push_back({&made_[g], &members_[g]});
  }
  group_set(const group_set&) = delete;
  group_set& operator=(const group_set&) = delete;
  ~group_set() {
    std::erase_if(world_.open_groups_, [&](const auto& each) {
      return each.by >= made_.data() && each.by < made_.data() + made_.size();
    });
  }

 private:
  friend class group;
  world& world_;
  std::int32_t in_flight_;
  std::vector<std::vector<std::int32_t>> members_;
  std::vector<communicator> made_;
};

// One member's end; all that it is given lies on the GPU. Sums are as NCCL takes them: the same bits on all
// members, in an order of NCCL's own.
class group : public transports::gpu_group {
 public:
  using seen = transports::gpu_group;

  group(group_set& set, std::int32_t number, endpoint& own)
      : world_(set.world_), by_(set.made_[as_size(number)]), own_(own), nothing_(1) {
    calls_.before.resize(as_size(set.in_flight_));
    calls_.done.resize(as_size(set.in_flight_));
    const auto& members = set.members_[as_size(number)];
    size_ = static_cast<std::int32_t>(members.size());
    for (std::size_t m = 0; m < members.size(); ++m)
      if (members[m] == own.rank()) member_ = static_cast<std::int32_t>(m);
    if (member_ < 0)
      fail(group_disagrees, sentence({"rank ", own.rank(), " is no member of group ", number}));
    tell_world(&calls_);
  }
  ~group() override { tell_world(nullptr); }

  std::int32_t size() const override { return size_; }
  std::int32_t member() const override { return member_; }
  endpoint& end() override { return own_; }
  std::shared_ptr<void> keep(const void* data, isize bytes) override {
    return world_.memory_.keep(by_, data, bytes);
  }

  ticket start(const transports::call& it) override {
    by_.after(world_.on().stream(), calls_.before[next_ % calls_.before.size()]);
    by_.grouped(world_.session_.patience(), [&](ncclComm_t handle) { begin(it, handle); });
    event_of(next_).mark(by_.stream());
    return next_++;
  }
  bool test(ticket which) override { return event_of(which).is_past(); }
  // Work that this rank's stream gets from now on comes after the call; the host does not wait.
  void wait(ticket which) override { event_of(which).hold(world_.on().stream()); }

 private:
  void tell_world(const group_moments* calls) const {
    for (auto& each : world_.open_groups_)
      if (each.by == &by_) each.calls = calls;
  }
  // Several calls share an event: that of the last one, which ends after the others.
  cuda::event& event_of(ticket which) { return calls_.done[which % calls_.done.size()]; }
  static ncclDataType_t type_of(const transports::call& it) {
    if (it.sum == transports::sum_parts<float>) return ncclFloat32;
    if (it.sum == transports::sum_parts<double>) return ncclFloat64;
    if (it.sum == transports::sum_parts<bf16>) return ncclBfloat16;
    return ncclUint8;
  }
  static bool even(std::span<const isize> parts) {
    return std::all_of(parts.begin(), parts.end(), [&](isize each) { return each == parts.front(); });
  }
  void begin(const transports::call& it, ncclComm_t handle) {
    const ncclDataType_t type = type_of(it);
    const cudaStream_t stream = by_.stream();
    const auto me = as_size(member_);
    switch (it.what) {
      case transports::call_kind::barrier:
        return check(ncclAllReduce(nothing_.data(), nothing_.data(), 1, ncclUint8, ncclMax, handle, stream),
                     "ncclAllReduce");
      case transports::call_kind::all_reduce:
        if (it.count == 0) return;
        return check(ncclAllReduce(it.from, it.to, as_size(it.count), type, ncclSum, handle, stream),
                     "ncclAllReduce");
      case transports::call_kind::reduce_scatter:
        if (it.places.empty() && even(it.from_parts)) {
          const auto each = as_size(it.from_parts[0]);
          if (each > 0)
            check(ncclReduceScatter(it.from, it.to, each, type, ncclSum, handle, stream),
                  "ncclReduceScatter");
          return;
        }
        return each_part(it.from_parts, it.places, it.element, [&](int m, isize offset, std::size_t count) {
          check(ncclReduce(it.from + offset, it.to, count, type, ncclSum, m, handle, stream), "ncclReduce");
        });
      case transports::call_kind::all_gather:
        if (it.places.empty() && even(it.to_parts)) {
          const auto each = as_size(it.to_parts[0]);
          if (each > 0)
            check(ncclAllGather(it.from, it.to, each, ncclUint8, handle, stream), "ncclAllGather");
          return;
        }
        return each_part(it.to_parts, it.places, 1, [&](int m, isize offset, std::size_t count) {
          check(ncclBroadcast(it.from, it.to + offset, count, ncclUint8, m, handle, stream), "ncclBroadcast");
        });
      case transports::call_kind::all_to_all:
        each_part(it.from_parts, {}, 1, [&](int m, isize offset, std::size_t count) {
          if (as_size(m) != me)
            check(ncclSend(it.from + offset, count, ncclUint8, m, handle, stream), "ncclSend");
        });
        each_part(it.to_parts, {}, 1, [&](int m, isize offset, std::size_t count) {
          if (as_size(m) != me)
            check(ncclRecv(it.to + offset, count, ncclUint8, m, handle, stream), "ncclRecv");
        });
        return copy_own(it);
      case transports::call_kind::broadcast:
        if (it.count == 0) return;
        return check(ncclBroadcast(it.from, it.to, as_size(it.count), ncclUint8, it.root, handle, stream),
                     "ncclBroadcast");
    }
  }
  // part(member, offset in bytes, elements), of those that are not empty.
  template <class Part>
  static void each_part(std::span<const isize> counts, std::span<const isize> places, isize element,
                        Part&& part) {
    isize offset = 0;
    for (std::size_t m = 0; m < counts.size(); offset += counts[m++] * element)
      if (counts[m] > 0)
        part(static_cast<int>(m), places.empty() ? offset : places[m] * element, as_size(counts[m]));
  }
  void copy_own(const transports::call& it) const {
    isize from = 0, to = 0;
    const auto me = as_size(member_);
    for (std::size_t m = 0; m < me; ++m) {
      from += it.from_parts[m];
      to += it.to_parts[m];
    }
    if (it.from_parts[me] > 0)
      cuda::check(cudaMemcpyAsync(it.to + to, it.from + from, as_size(it.from_parts[me]),
                                  cudaMemcpyDeviceToDevice, by_.stream()),
                  "cudaMemcpyAsync");
  }

  world& world_;
  communicator& by_;
  endpoint& own_;
  std::int32_t size_ = 0, member_ = -1;
  group_moments calls_;
  ticket next_ = 0;
  cuda::buffer<std::uint8_t> nothing_;
};

static_assert(collective_group<group>, "motet: a group of NCCL ranks offers all collectives");

}  // namespace motet::nccl
