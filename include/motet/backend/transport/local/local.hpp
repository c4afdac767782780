// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/sleepers.hpp>
#include <motet/backend/groups/concepts.hpp>
#include <motet/backend/groups/turns.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace motet::local {

// These two are in local_group.hpp.
class group;
class group_set;

// The ranks of one process share a mailbox for each message, a board for each meeting, and a bell for each
// rank. The receiver copies straight from the sender's rows. Counts go up by step, so nothing is cleared
// between steps.
class world {
 public:
  using group = local::group;
  using group_set = local::group_set;
  using clock = std::chrono::steady_clock;
  // pause() throws this on every rank when one of them failed or was late.
  struct stopped {};

  // meetings[m] are the ranks that take part in meeting m.
  world(std::int32_t ranks, std::int32_t messages, std::span<const std::vector<std::int32_t>> meetings)
      : ranks_(ranks), bells_(new bell[as_size(ranks)]), boxes_(new mailbox[as_size(messages)]) {
    for (const auto& members : meetings) boards_.push_back(std::make_unique<board>(members));
  }

  void stop() {
    stopped_.store(true, std::memory_order_release);
    for (std::int32_t r = 0; r < ranks_; ++r) ring(r);
  }
  bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }
  std::int32_t ranks() const { return ranks_; }
  // Wakes a rank: something that it may wait for has happened.
  void ring(std::int32_t rank) {
    bell& b = bells_[as_size(rank)];
    b.count.fetch_add(1, std::memory_order_seq_cst);
    b.asleep.wake(b.count);
  }
  // All threads of a rank have slept since this moment or longer, and no bell has rung for them. Those whose
  // bell has rung are awake, though they may not have had a processor since.
  bool sleeps_since(std::int32_t rank, clock::time_point moment) const {
    const bell& b = bells_[as_size(rank)];
    const auto since = b.since.load(std::memory_order_acquire);
    if (since == awake || since > moment.time_since_epoch().count()) return false;
    return b.count.load(std::memory_order_acquire) == b.heard.load(std::memory_order_relaxed);
  }

 private:
  friend class endpoint;
  // With more threads than processors, one that spins keeps another from what it waits for.
  int spins(int threads_of_rank) const {
    return static_cast<unsigned>(ranks_ * threads_of_rank) <= processors_ ? 2000 : 0;
  }
  static constexpr clock::rep awake = 0;
  struct alignas(64) bell {
    std::atomic<std::uint32_t> count{0};
    sleepers asleep;                       // threads of its rank
    std::atomic<std::uint32_t> heard{0};   // the count over which they fell asleep
    int over_heard = 0;                    // how many did, for whoever has the rank's turn
    std::atomic<clock::rep> since{awake};  // when the last of all did

    void fall_asleep(std::uint32_t seen, int threads) {
      if (heard.load(std::memory_order_relaxed) != seen) {
        heard.store(seen, std::memory_order_relaxed);
        over_heard = 0;
      }
      if (++over_heard == threads)
        since.store(clock::now().time_since_epoch().count(), std::memory_order_release);
    }
    void wake_up(std::uint32_t seen) {
      if (heard.load(std::memory_order_relaxed) == seen) --over_heard;
      since.store(awake, std::memory_order_relaxed);
    }
  };
  struct mailbox {
    std::atomic<std::uint32_t> state{0};  // 2 step + 1: there; 2 step + 2: taken
    const std::byte* rows = nullptr;
  };
  struct board {
    explicit board(std::vector<std::int32_t> who)
        : members(std::move(who)), posts(members.size()), ranges(members.size()), posted(members.size()) {}
    std::vector<std::int32_t> members;
    std::vector<const std::byte*> posts;
    std::vector<const byte_range*> ranges;  // of each member's post, what each member gets
    std::vector<std::uint32_t> posted;      // step of each member's post, read by that member alone
    std::atomic<std::uint32_t> arrived{0};
  };

  std::int32_t ranks_;
  unsigned processors_ = std::thread::hardware_concurrency();
  std::unique_ptr<bell[]> bells_;
  std::unique_ptr<mailbox[]> boxes_;
  std::vector<std::unique_ptr<board>> boards_;
  std::atomic<bool> stopped_{false};
};

// One rank's end; a transport.
class endpoint {
 public:
  endpoint(world& all, std::int32_t rank) : world_(all), rank_(rank), spins_(all.spins(1)) {}

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return world_.ranks_; }
  void begin_step() { ++step_; }

  // Several threads of the rank may use this end, by turns. wake() is heard by those of them that sleep;
  // stop() ends the waits of all ranks.
  static constexpr bool takes_turns = true;
  static constexpr bool wakes_from_anywhere = true;  // any thread may call wake()
  void share(int threads) {
    turns_.share(threads);
    spins_ = world_.spins(threads);
  }
  auto turn() { return turns::turn(turns_); }
  template <class Body>
  void apart(Body&& body) {
    turns_.apart(body);
  }
  void wake() { world_.ring(rank_); }
  void stop(const char*) { world_.stop(); }

  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, isize) {
    auto& box = box_of(tag);
    box.rows = from;
    box.state.store(2 * step_ + 1, std::memory_order_release);
    world_.ring(peer);
  }
  bool sent(std::int32_t tag) const {
    return box_of(tag).state.load(std::memory_order_acquire) == 2 * step_ + 2;
  }
  bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) {
    if (!is_there(tag)) return false;
    if (bytes > 0) std::memcpy(to, rows_of(tag), as_size(bytes));
    take(tag, peer);
    return true;
  }
  bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes, std::byte* all) {
    world::board& board = board_of(meeting);
    if (!meet(board, member, own, nullptr)) return false;
    for (std::size_t m = 0; m < board.members.size(); ++m)
      if (bytes > 0) std::memcpy(all + static_cast<isize>(m) * bytes, board.posts[m], as_size(bytes));
    return true;
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) {
    world::board& board = board_of(meeting);
    if (!meet(board, member, own, out.data())) return false;
    for (std::size_t m = 0; m < board.members.size(); ++m) {
      const byte_range& from = board.ranges[m][member];
      if (from.bytes > 0) std::memcpy(all + in[m].offset, board.posts[m] + from.offset, as_size(from.bytes));
    }
    return true;
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes) {
    world::board& board = board_of(meeting);
    const bool all = meet(board, member, own, out.data());
    if (from == member || bytes == 0) return true;
    if (!all) return false;
    const auto m = as_size(from);
    std::memcpy(to, board.posts[m] + board.ranges[m][member].offset, as_size(bytes));
    return true;
  }

  std::uint32_t observe() const {
    return world_.bells_[as_size(rank_)].count.load(std::memory_order_acquire);
  }
  void pause(std::uint32_t seen) {
    // A rank that saw the bell of the stop already will hear no other.
    if (world_.is_stopped()) throw world::stopped{};
    auto& bell = world_.bells_[as_size(rank_)];
    apart([&] {
      for (int spin = 0; spin < spins_; ++spin) {
        if (bell.count.load(std::memory_order_relaxed) != seen) break;
        if (spin % 64 == 63 && !yield_shortly()) break;
      }
    });
    if (bell.count.load(std::memory_order_acquire) == seen) {
      bell.fall_asleep(seen, turns_.threads());
      apart([&] { bell.asleep.sleep_while(bell.count, seen); });
      bell.wake_up(seen);
    }
    if (world_.is_stopped()) throw world::stopped{};
  }

 protected:
  // These serve a message to this rank: they say whether it is there, what was sent, and that it was taken.
  bool is_there(std::int32_t tag) const {
    return box_of(tag).state.load(std::memory_order_acquire) == 2 * step_ + 1;
  }
  const std::byte* rows_of(std::int32_t tag) const { return box_of(tag).rows; }
  void take(std::int32_t tag, std::int32_t peer) {
    box_of(tag).state.store(2 * step_ + 2, std::memory_order_release);
    world_.ring(peer);
  }
  // Of a meeting: whether this member has shown what it brings; does so, and says whether all have; and then
  // what a member shows this one.
  bool has_shown(std::int32_t meeting, std::int32_t member) const {
    return board_of(meeting).posted[as_size(member)] == step_;
  }
  bool meet(std::int32_t meeting, std::int32_t member, const std::byte* own, const byte_range* ranges) {
    return meet(board_of(meeting), member, own, ranges);
  }
  std::size_t members_of(std::int32_t meeting) const { return board_of(meeting).members.size(); }
  std::span<const std::byte> shown(std::int32_t meeting, std::size_t by, std::int32_t to) const {
    const world::board& board = board_of(meeting);
    const byte_range& range = board.ranges[by][to];
    return {board.posts[by] + range.offset, as_size(range.bytes)};
  }

 private:
  world::mailbox& box_of(std::int32_t tag) const { return world_.boxes_[as_size(tag)]; }
  world::board& board_of(std::int32_t meeting) const { return *world_.boards_[as_size(meeting)]; }
  // Shows what this member brings; whether all are there.
  bool meet(world::board& board, std::int32_t member, const std::byte* own, const byte_range* ranges) {
    const auto me = as_size(member);
    const auto size = static_cast<std::uint32_t>(board.members.size());
    if (board.posted[me] != step_) {
      board.posted[me] = step_;
      board.posts[me] = own;
      board.ranges[me] = ranges;
      if (board.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size * step_)
        for (const std::int32_t each : board.members) world_.ring(each);
    }
    return board.arrived.load(std::memory_order_acquire) == size * step_;
  }

  world& world_;
  std::int32_t rank_;
  int spins_;
  std::uint32_t step_ = 0;
  turns turns_;
};

static_assert(transport<endpoint>, "motet: an end of the local world is a transport");

}  // namespace motet::local
