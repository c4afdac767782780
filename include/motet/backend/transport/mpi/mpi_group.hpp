// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/call.hpp>
#include <motet/backend/transport/mpi/mpi.hpp>

namespace motet::mpi {

// Some groups of a program; all ranks make it at once and alike. A rank keeps the members of its own groups
// alone, and when it looks at one group of the world it works for all, so members may wait in any order.
class group_set {
 public:
  group_set(world& all, std::span<const std::vector<std::int32_t>> groups, group_options options = {})
      : world_(all),
        options_(options),
        members_(groups.size()),
        first_tag_(static_cast<int>(all.group_tags_)) {
    const isize tags = all.group_tags_ + 2 * static_cast<isize>(groups.size()) * options.in_flight;
    all.check_tags(tags);
    all.group_tags_ = tags;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (std::find(groups[g].begin(), groups[g].end(), all.rank()) != groups[g].end())
        members_[g] = groups[g];
  }

 private:
  friend class group;
  world& world_;
  group_options options_;
  std::vector<std::vector<std::int32_t>> members_;
  int first_tag_;
};

// One member's end. Every call is one or two rounds in which each member talks to each directly: as few bytes
// as can be, few moments at which someone must look, and sums in the order of members, so that the bits are
// those of every other transport.
class group : public transports::group_calls<group> {
 public:
  group(group_set& set, std::int32_t number, endpoint& own)
      : world_(set.world_),
        own_(own),
        siblings_(set.world_.open_groups_),
        members_(set.members_[as_size(number)]),
        calls_(as_size(set.options_.in_flight)) {
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (members_[m] == own.rank()) member_ = static_cast<std::int32_t>(m);
    if (member_ < 0)
      fail(group_disagrees, sentence({"rank ", own.rank(), " is no member of group ", number}));
    first_tag_ = set.first_tag_ + 2 * number * set.options_.in_flight;
    parts_.resize(members_.size());
    world_.under_way_.reserve(2 * size() * set.options_.in_flight);
    for (call_state& each : calls_) each.others.reserve(as_size(set.options_.sum_bytes));
    siblings_.push_back(this);
  }
  group(const group&) = delete;
  group& operator=(const group&) = delete;
  ~group() {
    if (std::uncaught_exceptions() > exceptions_) world_.stop();
    world_.leave([&] {
      if (open_ < next_) test(open_);
      return open_ == next_;
    });
    std::erase(siblings_, this);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(members_.size()); }
  std::int32_t member() const { return member_; }
  endpoint& end() { return own_; }

  ticket start(const transports::call& it) {
    const auto turn = own_.turn();
    const ticket now = next_, in_flight = calls_.size();
    if (now - open_ >= in_flight) wait(open_);  // whose tags are needed
    ++next_;
    call_state& state = calls_[now % in_flight];
    state.it = it;
    state.tag = first_tag_ + 2 * static_cast<int>(now % in_flight);
    state.round = 0;
    first_round(state);
    work();
    return now;
  }
  bool test(ticket which) {
    const auto turn = own_.turn();
    if (which < open_) return true;
    world_.progress();
    for (group* const each : siblings_) each->work();
    return which < open_ || advance(calls_[which % calls_.size()]);
  }
  void withdraw() noexcept {
    world_.stop();
    world_.let_go();
  }

 private:
  using call = transports::call;
  using call_kind = transports::call_kind;
  struct call_state {
    call it;
    int tag = 0, round = rounds;
    std::int32_t pending = 0;
    // of a sum: the part that this member adds up, as each of the others has it
    std::vector<std::byte> others;
  };

  void work() {
    for (ticket t = open_; t < next_; ++t)
      if (advance(calls_[t % calls_.size()]) && t == open_) ++open_;
  }
  // The result is true when the call is done. A round begins when all messages of the one before have come
  // and gone.
  bool advance(call_state& state) {
    while (state.round < rounds) {
      if (state.pending > 0 || world_.is_stopped()) return false;
      if (++state.round == 1) second_round(state);
    }
    return true;
  }
  void first_round(call_state& state) {
    const call& it = state.it;
    const interval own = part(it, member_);
    switch (it.what) {
      case call_kind::barrier:
        each_other([&](std::int32_t m) { receive(state, m, nullptr, {0, 0}, true); });
        each_other([&](std::int32_t m) { send(state, m, nullptr, {0, 0}, true); });
        break;
      case call_kind::all_reduce:
      case call_kind::reduce_scatter: {
        const isize size = own.size();
        state.others.resize(as_size(size) * (members_.size() - 1));
        isize room = 0;
        each_other([&](std::int32_t m) { receive(state, m, state.others.data(), {room, (room += size)}); });
        each_other([&](std::int32_t m) { send(state, m, it.from, part(it, m)); });
        break;
      }
      case call_kind::all_gather:
        each_other([&](std::int32_t m) { receive(state, m, it.to, part(it, m)); });
        each_other([&](std::int32_t m) { send(state, m, it.from, {0, own.size()}); });
        break;
      case call_kind::all_to_all: {
        const auto from = [&](std::int32_t m) { return part_of(it.from_parts, m, 1); };
        each_other([&](std::int32_t m) { receive(state, m, it.to, part_of(it.to_parts, m, 1)); });
        each_other([&](std::int32_t m) { send(state, m, it.from, from(m)); });
        copy(it.to + part_of(it.to_parts, member_, 1).begin, it.from + from(member_).begin,
             from(member_).size());
        break;
      }
      case call_kind::broadcast:
        // Much data goes out in pieces, which the others then exchange: the root sends everything once.
        if (member_ != it.root) receive(state, it.root, it.to, in_pieces(it) ? own : interval{0, it.count});
        if (member_ == it.root)
          each_other([&](std::int32_t m) {
            send(state, m, it.to, in_pieces(it) ? part(it, m) : interval{0, it.count});
          });
        break;
    }
  }
  void second_round(call_state& state) {
    const call& it = state.it;
    const interval own = part(it, member_);
    ++state.tag;
    // Not before the others have it: what they read stays in the cache.
    if (it.what == call_kind::all_gather) copy(it.to + own.begin, it.from, own.size());
    if (it.sum != nullptr && own.size() > 0) {
      parts_[as_size(member_)] = it.from + own.begin;
      const std::byte* theirs = state.others.data();
      each_other([&](std::int32_t m) { parts_[as_size(m)] = std::exchange(theirs, theirs + own.size()); });
      std::byte* const to = it.what == call_kind::all_reduce ? it.to + own.begin : it.to;
      it.sum(parts_.data(), size(), &to, 1, {0, own.size() / it.element});
    }
    const bool pieces = it.what == call_kind::broadcast && in_pieces(it) && member_ != it.root;
    if (it.what != call_kind::all_reduce && !pieces) return;
    const auto wants = [&](std::int32_t m) { return !pieces || m != it.root; };
    each_other([&](std::int32_t m) {
      if (wants(m)) receive(state, m, it.to, part(it, m));
    });
    each_other([&](std::int32_t m) {
      if (wants(m)) send(state, m, it.to, own);
    });
  }

  // Calls each(m) for the others, beginning with the next, so that not all talk to the same one.
  template <class Each>
  void each_other(Each&& each) const {
    for (std::int32_t step = 1; step < size(); ++step) each((member_ + step) % size());
  }
  // Empty parts are not sent; both sides know. The root of a broadcast, which waits for nobody else, waits
  // until its data is asked for.
  void send(call_state& state, std::int32_t to, const std::byte* from, interval bytes,
            bool though_empty = false) {
    if (bytes.size() == 0 && !though_empty) return;
    const std::int32_t peer = members_[as_size(to)];
    if (state.it.what == call_kind::broadcast)
      world_.under_way_.send(world_.groups_, peer, state.tag, from + bytes.begin, bytes.size(),
                             state.pending);
    else
      world_.under_way_.send_in_haste(world_.groups_, peer, state.tag, from + bytes.begin, bytes.size(),
                                      state.pending);
  }
  void receive(call_state& state, std::int32_t from, std::byte* to, interval bytes,
               bool though_empty = false) {
    if (bytes.size() > 0 || though_empty)
      world_.under_way_.receive(world_.groups_, members_[as_size(from)], state.tag, to + bytes.begin,
                                bytes.size(), state.pending);
  }
  static void copy(std::byte* to, const std::byte* from, isize bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, as_size(bytes));
  }
  static interval part_of(std::span<const isize> parts, std::int32_t which, isize element) {
    isize begin = 0;
    for (std::int32_t p = 0; p < which; ++p) begin += parts[as_size(p)];
    return {begin * element, (begin + parts[as_size(which)]) * element};
  }
  bool in_pieces(const call& it) const { return size() > 2 && it.count > 32768; }
  // The bytes that member m adds up, has, or passes on.
  interval part(const call& it, std::int32_t m) const {
    if (it.what == call_kind::reduce_scatter || it.what == call_kind::all_gather) {
      if (it.places.empty()) return part_of(it.from_parts, m, it.element);
      const isize begin = it.places[as_size(m)];
      return {begin * it.element, (begin + it.from_parts[as_size(m)]) * it.element};
    }
    interval own{0, 0};
    if (it.what == call_kind::all_reduce) own = transports::slice_of(it.count, it.element, size(), m);
    if (it.what == call_kind::broadcast && m != it.root)
      own = transports::slice_of(it.count, 1, size() - 1, (m - it.root - 1 + size()) % size());
    return {own.begin * it.element, own.end * it.element};
  }

  static constexpr int rounds = 2;
  world& world_;
  endpoint& own_;
  std::vector<group*>& siblings_;
  std::vector<std::int32_t> members_;
  std::int32_t member_ = -1;
  int first_tag_ = 0;
  ticket open_ = 0, next_ = 0;  // calls under way
  std::vector<call_state> calls_;
  std::vector<const std::byte*> parts_;
  int exceptions_ = std::uncaught_exceptions();
};

static_assert(collective_group<group>, "motet: processes of a group offer every collective");

}  // namespace motet::mpi
