// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/time_marks.hpp>
#include <motet/backend/groups/concepts.hpp>
#include <motet/backend/transport/nccl/nccl_session.hpp>

#include <map>

namespace motet::nccl {

// The messages of a program over communicators of two ranks, one for each pair and direction. NCCL matches by
// order, a program by tags: so both ends of a pair begin its messages in the order of their tags, and one
// that is asked for early waits for those before it. No stream waits for two ranks, so no message keeps
// another pair's back.
class channels {
 public:
  channels(const session& all, std::span<const message_ends> messages)
      : me_(all.everyone().rank()), all_(all), items_(messages.size()) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> numbers;
    std::vector<std::vector<std::int32_t>> pairs;
    for (std::size_t tag = 0; tag < messages.size(); ++tag) {
      const message_ends& of = messages[tag];
      const auto [at, is_new] = numbers.try_emplace({of.from, of.to}, pairs.size());
      if (is_new) pairs.push_back({of.from, of.to});
      items_[tag].of = at->second;
    }
    std::vector<communicator> made = all.split(pairs, 2);
    for (std::size_t p = 0; p < pairs.size(); ++p)
      channels_.push_back({std::move(made[p]), pairs[p][0] == me_, {}, 0});
    for (std::size_t tag = 0; tag < messages.size(); ++tag) {
      if (messages[tag].from == me_ || messages[tag].to == me_)
        channels_[items_[tag].of].order.push_back(static_cast<std::int32_t>(tag));
    }
  }

  void begin_step() {
    for (channel& each : channels_) each.next = 0;
    for (item& each : items_) each.asked = each.begun = each.seen = false;
  }
  // visit(communicator) for each on which messages leave, or come.
  template <class Visit>
  void each_way(bool leaving, Visit&& visit) const {
    for (const channel& each : channels_)
      if (each.by && each.sends == leaving) visit(each.by);
  }
  // Asks for a message; it is begun after what `compute` has begun until then, or after `free` where that is
  // given. Says whether it is begun. Whoever keeps times gets those of the message.
  bool ask(std::int32_t tag, std::byte* data, isize bytes, cudaStream_t compute, cuda::time_marks& marks,
           const cuda::event* free = nullptr) {
    item& own = items_[as_size(tag)];
    if (!own.asked) {
      own.asked = true;
      own.data = data;
      own.bytes = bytes;
      own.free = free;
      own.compute = compute;
      own.when = marks.elsewhere();
      begin(channels_[own.of]);
    }
    return own.begun;
  }
  // Once a message is begun: what `compute` begins from now on comes after it.
  void hold(std::int32_t tag, cudaStream_t compute) {
    item& own = items_[as_size(tag)];
    if (!std::exchange(own.seen, true)) own.done.hold(compute);
  }
  bool begun(std::int32_t tag) const { return items_[as_size(tag)].begun; }
  // All that was begun is over.
  bool over() const {
    for (const item& each : items_)
      if (each.begun && !each.done.is_past()) return false;
    return true;
  }
  // The ranks that keep back what is begun here, while all before it is done: so it is they that this one
  // waits for.
  void lacking(std::vector<std::int32_t>& into, std::span<const message_ends> messages) const {
    for (std::size_t tag = 0; tag < items_.size(); ++tag)
      if (const item& it = items_[tag]; it.begun && it.before.is_past() && !it.done.is_past())
        into.push_back(messages[tag].from == me_ ? messages[tag].to : messages[tag].from);
  }
  void look() const {
    for (const channel& each : channels_)
      if (each.by) each.by.look();
  }
  void abort() noexcept {
    for (channel& each : channels_) each.by.abort();
  }

 private:
  struct item {
    std::size_t of = 0;
    std::byte* data = nullptr;
    isize bytes = 0;
    bool asked = false, begun = false, seen = false;
    const cuda::event* free = nullptr;
    cudaStream_t compute = nullptr;       // of the lane that asked
    cuda::timed_stretch* when = nullptr;  // null: nobody wants to know
    cuda::event before, done;
  };
  struct channel {
    communicator by;
    bool sends = false;
    std::vector<std::int32_t> order;
    std::size_t next = 0;
  };
  void begin(channel& on) {
    for (; on.next < on.order.size(); ++on.next) {
      item& own = items_[as_size(on.order[on.next])];
      if (!own.asked) return;
      if (own.free != nullptr) own.free->hold(on.by.stream());
      else on.by.after(own.compute, own.before);
      const auto size = as_size(own.bytes);
      if (own.when != nullptr) own.when->begin.mark(on.by.stream());
      if (size > 0) {
        // In a pair, the sender is rank 0.
        if (on.sends) check(ncclSend(own.data, size, ncclUint8, 1, on.by.get(), on.by.stream()), "ncclSend");
        else check(ncclRecv(own.data, size, ncclUint8, 0, on.by.get(), on.by.stream()), "ncclRecv");
        on.by.settle("ncclSend", all_.patience());
      }
      if (own.when != nullptr) own.when->end.mark(on.by.stream());
      own.done.mark(on.by.stream());
      own.begun = true;
    }
  }

  std::int32_t me_;
  const session& all_;
  std::vector<item> items_;
  std::vector<channel> channels_;
};

}  // namespace motet::nccl
