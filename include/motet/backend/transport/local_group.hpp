// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/call.hpp>
#include <motet/backend/transport/local.hpp>

#include <exception>

namespace motet::local {

class group;

// The groups of one process: for each some boards, one for each call under way, where members post what they have. Counts only go up, so nothing is
// cleared between calls. A rank that looks at one group of a set works for all of them, so members may wait in any order.
class group_set {
 public:
  group_set(world& all, std::span<const std::vector<std::int32_t>> groups, group_options options = {})
      : world_(all), in_flight_(options.in_flight), groups_of_(static_cast<std::size_t>(all.ranks())) {
    for (const auto& members : groups) {
      rows_.push_back({members, std::make_unique<board[]>(static_cast<std::size_t>(in_flight_))});
      for (std::int32_t b = 0; b < in_flight_; ++b) rows_.back().boards[static_cast<std::size_t>(b)].posts.resize(members.size());
    }
  }

 private:
  friend class group;
  struct alignas(64) board {
    std::atomic<std::uint64_t> arrived{0};
    alignas(64) std::atomic<std::uint64_t> finished{0};
    std::vector<transports::call> posts;
  };
  struct row {
    std::vector<std::int32_t> members;
    std::unique_ptr<board[]> boards;
  };
  world& world_;
  std::int32_t in_flight_;
  std::vector<row> rows_;
  std::vector<std::vector<group*>> groups_of_;  // of each rank, for that rank alone
};

// One member's end. Data goes straight from the memory of one thread to that of another; of a sum each member takes a slice.
class group : public transports::group_calls<group> {
 public:
  group(group_set& set, std::int32_t number, endpoint& own)
      : world_(set.world_),
        row_(set.rows_[static_cast<std::size_t>(number)]),
        own_(own),
        siblings_(set.groups_of_[static_cast<std::size_t>(own.rank())]),
        worked_(static_cast<std::size_t>(set.in_flight_)) {
    for (std::size_t m = 0; m < row_.members.size(); ++m)
      if (row_.members[m] == own.rank()) member_ = static_cast<std::int32_t>(m);
    if (member_ < 0) fail(group_disagrees, "rank " + std::to_string(own.rank()) + " is no member of group " + std::to_string(number));
    parts_.resize(row_.members.size());
    outs_.resize(row_.members.size());
    siblings_.push_back(this);
  }
  group(const group&) = delete;
  group& operator=(const group&) = delete;
  ~group() {
    try {
      while (std::uncaught_exceptions() == exceptions_ && open_ < next_) wait(open_);
    } catch (...) {
    }
    withdraw();
    std::erase(siblings_, this);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(row_.members.size()); }
  std::int32_t member() const { return member_; }
  endpoint& end() { return own_; }

  ticket start(const transports::call& it) {
    const ticket now = next_, in_flight = worked_.size();
    if (now - open_ >= in_flight) wait(open_);  // whose board is needed
    ++next_;
    auto& board = row_.boards[now % in_flight];
    board.posts[static_cast<std::size_t>(member_)] = it;
    if (board.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == row_.members.size() * (now / in_flight + 1)) ring();
    test(now);
    return now;
  }
  bool test(ticket which) {
    if (which < open_) return true;
    try {
      for (group* const each : siblings_) each->work();
    } catch (...) {
      withdraw();
      throw;
    }
    return which < open_ || is_finished(which);
  }
  // Before this rank's memory goes away, after a failure. Where not all have come, nobody will begin; where they have, they are let finish.
  void withdraw() noexcept {
    for (group* const each : siblings_) each->leave();
  }

 private:
  using call = transports::call;
  static constexpr std::uint64_t withdrawn = std::uint64_t{1} << 63;

  group_set::board& board_of(ticket t) { return row_.boards[t % worked_.size()]; }
  // What the counts of a board reach with this call.
  std::uint64_t goal(ticket t) const { return row_.members.size() * (t / worked_.size() + 1); }
  bool is_finished(ticket t) { return board_of(t).finished.load(std::memory_order_acquire) >= goal(t); }
  void ring() {
    for (const std::int32_t each : row_.members) world_.ring(each);
  }
  // This member's part of every call to which all have come.
  void work() {
    for (ticket t = open_; t < next_; ++t) {
      auto& board = board_of(t);
      if (worked_[t % worked_.size()] <= t) {
        const std::uint64_t arrived = board.arrived.load(std::memory_order_acquire);
        if ((arrived & withdrawn) != 0) throw world::stopped{};
        if (arrived < goal(t)) continue;
        perform(board.posts);
        worked_[t % worked_.size()] = t + 1;
        if (board.finished.fetch_add(1, std::memory_order_acq_rel) + 1 == goal(t)) ring();
      }
    }
    while (open_ < next_ && is_finished(open_)) ++open_;
  }
  void leave() noexcept {
    for (; open_ < next_; ++open_) {
      auto& board = board_of(open_);
      std::uint64_t arrived = board.arrived.load(std::memory_order_acquire);
      while ((arrived & withdrawn) == 0 && arrived < goal(open_))
        if (board.arrived.compare_exchange_weak(arrived, arrived | withdrawn, std::memory_order_acq_rel)) arrived |= withdrawn;
      if ((arrived & withdrawn) != 0) continue;
      if (worked_[open_ % worked_.size()] <= open_) {
        worked_[open_ % worked_.size()] = open_ + 1;
        board.finished.fetch_add(1, std::memory_order_acq_rel);
        world_.stop();  // who sleeps over this board has to look
      }
      while (!is_finished(open_)) std::this_thread::yield();
    }
  }
  static index sum_of(std::span<const index> parts, index first) {
    index sum = 0;
    for (index p = 0; p < first; ++p) sum += parts[static_cast<std::size_t>(p)];
    return sum;
  }
  static void copy(std::byte* to, const std::byte* from, index bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  // This member's part of the work, when all have come.
  void perform(const std::vector<call>& posts) {
    using transports::call_kind;
    const index members = size(), me = member_;
    const call& own = posts[static_cast<std::size_t>(me)];
    for (index m = 0; m < members; ++m) agree(own, posts[static_cast<std::size_t>(m)], m);
    switch (own.what) {
      case call_kind::barrier: break;
      case call_kind::all_reduce:
        for (std::size_t m = 0; m < posts.size(); ++m) {
          parts_[m] = posts[m].from;
          outs_[m] = posts[m].to;
        }
        own.sum(parts_.data(), members, outs_.data(), members, transports::slice_of(own.count, own.element, members, me));
        break;
      case call_kind::reduce_scatter: {
        const index before = sum_of(own.from_parts, me) * own.element;
        for (std::size_t m = 0; m < posts.size(); ++m) parts_[m] = posts[m].from + before;
        own.sum(parts_.data(), members, &own.to, 1, {0, own.to_parts[static_cast<std::size_t>(me)]});
        break;
      }
      case call_kind::all_gather:
        for (index m = 0, at = 0; m < members; at += own.to_parts[static_cast<std::size_t>(m)], ++m)
          copy(own.to + at, posts[static_cast<std::size_t>(m)].from, own.to_parts[static_cast<std::size_t>(m)]);
        break;
      case call_kind::all_to_all:
        for (index m = 0, at = 0; m < members; at += own.to_parts[static_cast<std::size_t>(m)], ++m) {
          const call& theirs = posts[static_cast<std::size_t>(m)];
          copy(own.to + at, theirs.from + sum_of(theirs.from_parts, me), own.to_parts[static_cast<std::size_t>(m)]);
        }
        break;
      case call_kind::broadcast: copy(own.to, posts[static_cast<std::size_t>(own.root)].from, own.count); break;
    }
  }
  // A mistake must not become a wrong number or a read beyond the end.
  void agree(const call& own, const call& theirs, index m) const {
    const auto me = static_cast<std::size_t>(member_), them = static_cast<std::size_t>(m);
    bool same = own.what == theirs.what && own.element == theirs.element && own.sum == theirs.sum && own.root == theirs.root;
    if (same && own.what == transports::call_kind::all_to_all) same = theirs.from_parts[me] == own.to_parts[them];
    else if (same) same = own.count == theirs.count && own.to_parts.size() == theirs.to_parts.size();
    for (std::size_t p = 0; same && own.what != transports::call_kind::all_to_all && p < own.to_parts.size(); ++p)
      same = own.to_parts[p] == theirs.to_parts[p];
    if (!same)
      fail(group_disagrees,
           "member " + std::to_string(member_) + " calls " + describe(own) + ", member " + std::to_string(m) + " calls " + describe(theirs));
  }

  world& world_;
  group_set::row& row_;
  endpoint& own_;
  std::int32_t member_ = -1;
  std::vector<group*>& siblings_;
  ticket open_ = 0, next_ = 0;  // calls under way
  std::vector<ticket> worked_;  // of each board: one more than the last call in which this member did its part
  std::vector<const std::byte*> parts_;
  std::vector<std::byte*> outs_;
  int exceptions_ = std::uncaught_exceptions();
};

static_assert(collective_group<group>, "motet: threads of a group offer every collective");

}  // namespace motet::local
