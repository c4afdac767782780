// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/call.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace motet::transports {

// The groups of one process: for each some boards, one for each call under way, where members post what they
// have. Counts only go up, so nothing is cleared between calls. A rank that looks at one group of a set works
// for all of them, so members may wait in any order.
template <class Group, class World, class Post>
class posted_groups {
 public:
  posted_groups(World& all, std::span<const std::vector<std::int32_t>> groups, group_options options = {})
      : world_(all), in_flight_(options.in_flight), groups_of_(as_size(all.ranks())) {
    for (const auto& members : groups) {
      rows_.push_back({members, std::make_unique<board[]>(as_size(in_flight_))});
      for (std::int32_t b = 0; b < in_flight_; ++b)
        rows_.back().boards[as_size(b)].posts.resize(members.size());
    }
  }

 private:
  template <class, class, class, class, class>
  friend class posted_group;
  struct alignas(64) board {
    std::atomic<std::uint64_t> arrived{0};
    alignas(64) std::atomic<std::uint64_t> finished{0};
    std::vector<Post> posts;
  };
  struct row {
    std::vector<std::int32_t> members;
    std::unique_ptr<board[]> boards;
  };
  World& world_;
  std::int32_t in_flight_;
  std::vector<row> rows_;
  std::vector<std::vector<Group*>> groups_of_;  // of each rank, for that rank alone
};

// One member's end of a group whose members share memory. Group says what is done with what they posted (a
// Post is a call, and what it adds):
//   posts(own)       before the others see own post
//   perform(posts)   this member's part, when all have come
//   performed(own)   before the others see that it was done
//   completes(posts) when all have done their parts
//   leaves(posts)    the same after a failure: nobody uses own memory any more
// Calls: what makes calls of it, group_calls or what several transports have in common.
template <class Group, class World, class Endpoint, class Post, class Calls = group_calls<Group>>
class posted_group : public Calls {
 public:
  using set_type = posted_groups<Group, World, Post>;

  posted_group(set_type& set, std::int32_t number, Endpoint& own)
      : world_(set.world_),
        row_(set.rows_[as_size(number)]),
        own_(own),
        siblings_(set.groups_of_[as_size(own.rank())]),
        worked_(as_size(set.in_flight_)),
        completed_(worked_.size()) {
    for (std::size_t m = 0; m < row_.members.size(); ++m)
      if (row_.members[m] == own.rank()) member_ = static_cast<std::int32_t>(m);
    if (member_ < 0)
      fail(group_disagrees, sentence({"rank ", own.rank(), " is no member of group ", number}));
    parts_.resize(row_.members.size());
    outs_.resize(row_.members.size());
    siblings_.push_back(static_cast<Group*>(this));
  }
  posted_group(const posted_group&) = delete;
  posted_group& operator=(const posted_group&) = delete;

  // These are virtual where Calls has them so. NOLINTBEGIN(modernize-use-override)
  std::int32_t size() const { return static_cast<std::int32_t>(row_.members.size()); }
  std::int32_t member() const { return member_; }
  Endpoint& end() { return own_; }

  ticket start(const call& it) {
    [[maybe_unused]] const auto turn = turn_of(own_);
    const ticket now = next_, in_flight = worked_.size();
    if (now - open_ >= in_flight) posted_group::wait(open_);  // whose board is needed
    ++next_;
    auto& board = row_.boards[now % in_flight];
    Post& own = board.posts[as_size(member_)];
    static_cast<call&>(own) = it;
    self().posts(own);
    if (board.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        row_.members.size() * (now / in_flight + 1))
      ring();
    test(now);
    return now;
  }
  bool test(ticket which) {
    [[maybe_unused]] const auto turn = turn_of(own_);
    if (which < open_) return true;
    try {
      for (Group* const each : siblings_) each->work();
    } catch (...) {
      withdraw();
      throw;
    }
    return which < open_ || completes(which);
  }
  void wait(ticket which) { wait_for(self(), which); }
  // NOLINTEND(modernize-use-override)
  // Before this rank's memory goes away, after a failure. Where not all have come, nobody will begin; where
  // they have, they are let finish.
  void withdraw() noexcept {
    for (Group* const each : siblings_) each->leave();
  }

 protected:
  // Calls that were begun have numbers below.
  ticket begun() const { return next_; }
  // What this member posted in a call, or in a later one on the same board.
  const Post& own_post(ticket which) const {
    return row_.boards[which % worked_.size()].posts[as_size(member_)];
  }
  // The destructor of Group calls this.
  void end_calls() {
    try {
      while (std::uncaught_exceptions() == exceptions_ && open_ < next_) posted_group::wait(open_);
    } catch (...) {
    }
    withdraw();
    std::erase(siblings_, static_cast<Group*>(this));
  }
  static isize sum_of(std::span<const isize> parts, isize first) {
    isize sum = 0;
    for (isize p = 0; p < first; ++p) sum += parts[as_size(p)];
    return sum;
  }
  // A mistake must not become a wrong number or a read beyond the end.
  void agree(const std::vector<Post>& posts) const {
    const auto me = as_size(member_);
    const call& own = posts[me];
    for (std::size_t m = 0; m < posts.size(); ++m) {
      const call& theirs = posts[m];
      bool same = own.what == theirs.what && own.element == theirs.element && own.sum == theirs.sum &&
                  own.root == theirs.root;
      if (same && own.what == call_kind::all_to_all) same = theirs.from_parts[me] == own.to_parts[m];
      else if (same) same = own.count == theirs.count && own.to_parts.size() == theirs.to_parts.size();
      for (std::size_t p = 0; same && own.what != call_kind::all_to_all && p < own.to_parts.size(); ++p)
        same = own.to_parts[p] == theirs.to_parts[p];
      if (!same)
        fail(group_disagrees, sentence({"member ", member_, " calls ", describe(own), ", member ", m,
                                        " calls ", describe(theirs)}));
    }
  }
  // The copies of a call that moves bytes: copy(to, from, bytes).
  template <class Copy>
  void each_copy(const std::vector<Post>& posts, Copy&& copy) const {
    const isize members = size(), me = member_;
    const call& own = posts[as_size(me)];
    if (own.what == call_kind::broadcast) return copy(own.to, posts[as_size(own.root)].from, own.count);
    for (isize m = 0, at = 0; m < members; at += own.to_parts[as_size(m)], ++m) {
      const call& theirs = posts[as_size(m)];
      const isize before = own.what == call_kind::all_to_all ? sum_of(theirs.from_parts, me) : 0;
      copy(own.to + (own.places.empty() ? at : own.places[as_size(m)]), theirs.from + before,
           own.to_parts[as_size(m)]);
    }
  }
  // The sum of a call: sum(parts, outs, outs' count, interval).
  template <class Sum>
  void the_sum(const std::vector<Post>& posts, Sum&& sum) {
    const call& own = posts[as_size(member_)];
    const bool all = own.what == call_kind::all_reduce;
    const isize before = all ? 0 : sum_of(own.from_parts, member_);
    for (std::size_t m = 0; m < posts.size(); ++m) {
      const auto& places = posts[m].places;
      parts_[m] = posts[m].from + (places.empty() ? before : places[as_size(member_)]) * own.element;
      outs_[m] = posts[m].to;
    }
    if (all)
      sum(parts_.data(), outs_.data(), static_cast<isize>(size()),
          slice_of(own.count, own.element, size(), member_));
    else sum(parts_.data(), &own.to, isize{1}, interval{0, own.to_parts[as_size(member_)]});
  }

 private:
  static constexpr std::uint64_t withdrawn = std::uint64_t{1} << 63;

  Group& self() { return static_cast<Group&>(*this); }
  auto& board_of(ticket t) { return row_.boards[t % worked_.size()]; }
  // The counts of a board reach this with this call.
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
        if ((arrived & withdrawn) != 0) throw typename World::stopped{};
        if (arrived < goal(t)) continue;
        agree(board.posts);
        self().perform(board.posts);
        self().performed(board.posts[as_size(member_)]);
        worked_[t % worked_.size()] = t + 1;
        if (board.finished.fetch_add(1, std::memory_order_acq_rel) + 1 == goal(t)) ring();
      }
    }
    while (open_ < next_ && completes(open_)) ++open_;
  }
  bool completes(ticket t) {
    if (!is_finished(t)) return false;
    if (completed_[t % worked_.size()] <= t) self().completes(board_of(t).posts);
    completed_[t % worked_.size()] = t + 1;
    return true;
  }
  void leave() noexcept {
    for (; open_ < next_; ++open_) {
      auto& board = board_of(open_);
      std::uint64_t arrived = board.arrived.load(std::memory_order_acquire);
      while ((arrived & withdrawn) == 0 && arrived < goal(open_))
        if (board.arrived.compare_exchange_weak(arrived, arrived | withdrawn, std::memory_order_acq_rel))
          arrived |= withdrawn;
      if ((arrived & withdrawn) != 0) continue;
      if (worked_[open_ % worked_.size()] <= open_) {
        worked_[open_ % worked_.size()] = open_ + 1;
        board.finished.fetch_add(1, std::memory_order_acq_rel);
        world_.stop();  // who sleeps over this board has to look
      }
      while (!is_finished(open_)) std::this_thread::yield();
      self().leaves(board.posts);
    }
  }

  World& world_;
  typename set_type::row& row_;
  Endpoint& own_;
  std::int32_t member_ = -1;
  std::vector<Group*>& siblings_;
  ticket open_ = 0, next_ = 0;  // calls under way
  // of each board: one more than the last call in which this member did its part
  std::vector<ticket> worked_;
  std::vector<ticket> completed_;
  std::vector<const std::byte*> parts_;
  std::vector<std::byte*> outs_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace motet::transports
