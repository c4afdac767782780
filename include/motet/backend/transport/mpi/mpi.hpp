// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/concepts.hpp>
#include <motet/backend/groups/turns.hpp>
#include <motet/backend/transport/mpi/mpi_requests.hpp>

#include <cstring>
#include <functional>
#include <mutex>
#include <span>

namespace motet::mpi {

// These two are in mpi_group.hpp.
class group;
class group_set;

// The ranks of a program, one in each process, which all make it at once and alike. A rank that fails tells
// the others, and they stop at their next wait.
class world {
 public:
  using stopped = mpi::stopped;
  using group = mpi::group;
  using group_set = mpi::group_set;

  // meetings[m] are the ranks that take part in meeting m.
  world(std::int32_t ranks, std::int32_t messages, std::span<const std::vector<std::int32_t>> meetings,
        MPI_Comm among = MPI_COMM_WORLD)
      : messages_(messages), members_(meetings.size()) {
    ranks_ = size_of(among);
    MPI_Comm_rank(among, &rank_);
    if (ranks_ != ranks)
      fail(mpi_ranks_differ, sentence({"the program has ", ranks, " ranks, MPI started ", ranks_}));
    for (MPI_Comm* each : {&rows_, &groups_, &control_}) {
      check(MPI_Comm_dup(among, each), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(*each, MPI_ERRORS_RETURN);
    }
    check_tags(2 * (isize{messages} + static_cast<isize>(meetings.size())));
    isize most = 2 * isize{messages} + 1;
    for (std::size_t m = 0; m < meetings.size(); ++m) {
      if (std::find(meetings[m].begin(), meetings[m].end(), rank_) == meetings[m].end()) continue;
      members_[m] = meetings[m];
      most += 2 * static_cast<isize>(meetings[m].size());
    }
    under_way_.reserve(most);
    under_way_.expect(control_, reinterpret_cast<std::byte*>(text_), sizeof(text_) - 1, untold_);
    // With more ranks than processors, one that spins keeps another from what it waits for.
    MPI_Comm node = MPI_COMM_NULL;
    int neighbours = ranks_;
    if (MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS) {
      MPI_Comm_size(node, &neighbours);
      MPI_Comm_free(&node);
    }
    spins_ = neighbours <= ::sysconf(_SC_NPROCESSORS_ONLN) ? 200000 : 0;
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    if (std::uncaught_exceptions() > exceptions_) stop();
    let_go();
    if (is_stopped()) return;  // nobody may come to free what is common
    for (MPI_Comm* each : {&rows_, &groups_, &control_}) MPI_Comm_free(each);
  }

  // There are so many processes, which can be asked before there is a world.
  static std::int32_t size_of(MPI_Comm among = MPI_COMM_WORLD) {
    int begun = 0, ended = 0, size = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun == 0 || ended != 0) fail(mpi_not_ready, "MPI is not running");
    MPI_Comm_size(among, &size);
    return size;
  }
  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }
  // While the rank waits for others, watch(seconds) is called now and then on its own thread, with how long
  // nothing has come; watch(0) when something did. It may stop().
  void watch_waits(std::function<void(double seconds)> watch) { watch_ = std::move(watch); }
  // This rank waits for these; it asks on its own thread.
  std::vector<std::int32_t> lacking() const { return under_way_.lacking(); }
  bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }
  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }
  // Ends the waits of all ranks. Asked for by another thread than the one that uses MPI, it takes effect when
  // that one next waits.
  void stop(const std::string& reason = "of an error that it tells itself") {
    note(sentence({"rank ", rank_, " stopped because ", reason}));
    if (user_.load() == std::this_thread::get_id()) tell();
  }

 private:
  friend class endpoint;
  friend class mpi::group_set;
  friend class mpi::group;

  // Tells who watches how long a wait lasts, a hundred times a second at most.
  class wait_clock {
   public:
    explicit wait_clock(const std::function<void(double)>& watch) : watch_(watch) {}
    wait_clock(const wait_clock&) = delete;
    wait_clock& operator=(const wait_clock&) = delete;
    ~wait_clock() {
      if (told_ != clock::time_point{}) watch_(0);
    }
    // The rank waits if all its threads do.
    void look(bool all_wait) {
      if (!watch_) return;
      if (!all_wait) {
        begin_ = {};
        if (told_ != clock::time_point{}) watch_(0);
        told_ = {};
        return;
      }
      const auto now = clock::now();
      if (begin_ == clock::time_point{}) begin_ = now;
      if (now - begin_ < interval || now - told_ < interval) return;
      told_ = now;
      watch_(std::chrono::duration<double>(now - begin_).count());
    }

   private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds interval{10};
    const std::function<void(double)>& watch_;
    clock::time_point begin_, told_;
  };

  void check_tags(isize wanted) const {
    void* most = nullptr;
    int known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &known);
    if (known != 0 && wanted > *static_cast<int*>(most))
      fail(mpi_not_ready, sentence({wanted, " tags are needed, MPI has ", *static_cast<int*>(most)}));
  }
  void progress() {
    try {
      under_way_.progress();
    } catch (const error& problem) {
      stop(problem.what());
      let_go();
      throw;
    }
    if (untold_ == 0 && !is_stopped()) {
      told_others_ = true;  // by who told this one
      note(text_);
    }
    if (is_stopped() && !told_others_) tell();
  }
  void note(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return;
    why_ = why;
    session::has_failed() = true;
    stopped_.store(true, std::memory_order_release);
  }
  // Within a bound: who does not listen any more is left to the end of the session.
  void tell() noexcept {
    if (std::exchange(told_others_, true)) return;
    const std::string words = why().substr(0, sizeof(text_) - 1);
    std::vector<MPI_Request> letters(as_size(ranks_), MPI_REQUEST_NULL);
    for (int r = 0; r < ranks_; ++r)
      if (r != rank_)
        MPI_Isend(words.c_str(), static_cast<int>(words.size()), MPI_BYTE, r, 0, control_,
                  &letters[as_size(r)]);
    const auto begin = std::chrono::steady_clock::now();
    backoff wait(0);
    for (int done = 0; done == 0 && std::chrono::steady_clock::now() - begin < let_go_bound; wait())
      MPI_Testall(ranks_, letters.data(), &done, MPI_STATUSES_IGNORE);
    for (MPI_Request& each : letters)
      if (each != MPI_REQUEST_NULL) MPI_Request_free(&each);
  }
  // Gives up all that is under way. Before what was sent goes away, the ranks meet, within a bound: then
  // nobody receives any more, and MPI reads the memory of nobody.
  void let_go() noexcept {
    under_way_.drop_receives();
    if (is_stopped() && !std::exchange(met_others_, true)) {
      MPI_Request meeting = MPI_REQUEST_NULL;
      MPI_Ibarrier(control_, &meeting);
      const auto begin = std::chrono::steady_clock::now();
      backoff wait(0);
      for (int done = 0; done == 0 && std::chrono::steady_clock::now() - begin < let_go_bound; wait())
        MPI_Test(&meeting, &done, MPI_STATUS_IGNORE);
    }
    under_way_.drop_sends();
  }
  // Looks until good(), or until the ranks were told to stop; then MPI lets go of all memory before anything
  // goes away.
  template <class Good>
  void wait_until(Good&& good) {
    wait_clock watched(watch_);
    ++waiting_;
    const struct wait_end {
      int& waiting;
      ~wait_end() { --waiting; }
    } counted{waiting_};
    for (backoff wait(turns_.threads() > 1 ? 0 : spins_); !is_stopped() && !good(); turns_.apart(wait)) {
      progress();
      if (!is_stopped() && good()) return;
      if (wait.is_long()) watched.look(waiting_ == turns_.threads());
    }
    if (!is_stopped()) return;
    if (!told_others_) tell();
    let_go();
    throw stopped{why()};
  }
  // Before what requests count down goes away. Who is not ready in time will never be.
  template <class Good>
  void leave(Good&& good) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    try {
      wait_until(
          [&] { return good() || std::chrono::steady_clock::now() - begin > std::chrono::seconds(10); });
      if (good()) return;
      stop("others did not take all that it sent");
    } catch (...) {
    }
    let_go();
  }

  int exceptions_ = std::uncaught_exceptions();
  std::int32_t messages_;
  int rank_ = 0, ranks_ = 1, spins_ = 0;
  std::vector<std::vector<std::int32_t>> members_;  // of the meetings that this rank comes to
  MPI_Comm rows_ = MPI_COMM_NULL, groups_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL;
  requests under_way_;
  char text_[2048] = "";
  std::int32_t untold_ = 0;
  bool told_others_ = false, met_others_ = false;
  std::atomic<std::thread::id> user_{std::this_thread::get_id()};
  std::atomic<bool> stopped_{false};
  turns turns_;      // of this rank's threads
  int waiting_ = 0;  // of them
  mutable std::mutex mutex_;
  std::string why_;
  std::function<void(double)> watch_;
  // mpi_group.hpp uses these two.
  std::vector<mpi::group*> open_groups_;
  isize group_tags_ = 0;  // that sets of groups have taken
};

// This process's end; a transport. Messages are matched by their tag and by whether the step is even, and
// never overtake each other, so a rank may be a step ahead of another. A receive or gather that was asked for
// keeps its memory until it is done or the step ends.
class endpoint {
 public:
  endpoint(world& all, std::int32_t rank)
      : world_(all), sends_(as_size(all.messages_)), receives_(sends_.size()), visits_(all.members_.size()) {
    for (const auto& members : all.members_) fetches_.emplace_back(members.size());
    if (rank != all.rank_)
      fail(mpi_ranks_differ, sentence({"this process is rank ", all.rank_, ", not ", rank}));
  }
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;
  ~endpoint() {
    if (std::uncaught_exceptions() > exceptions_) world_.stop();
    world_.leave([&] { return open_sends_ == 0; });
    world_.under_way_.drop_receives(&open_receives_);
  }

  std::int32_t rank() const { return world_.rank_; }
  std::int32_t ranks() const { return world_.ranks_; }

  // Several threads of the rank may use this end, by turns, so MPI sees one at a time. wake() is heard by
  // those of them that wait; stop() ends the waits of all ranks.
  static constexpr bool takes_turns = true;
  void share(int threads) { world_.turns_.share(threads); }
  auto turn() { return turns::turn(world_.turns_); }
  template <class Body>
  void apart(Body&& body) {
    world_.turns_.apart(body);
  }
  void wake() { world_.under_way_.note(); }
  // This thread uses MPI from here on, and the one that did before does not.
  void take_over() { world_.user_.store(std::this_thread::get_id()); }
  void stop(const char* why) { world_.stop(why); }

  void begin_step() {
    finish_step();
    ++step_;
  }
  // Waits until the others took all that was sent, and forgets what was asked for in vain: then memory may be
  // given back.
  void finish_step() {
    world_.user_.store(std::this_thread::get_id());
    world_.wait_until([&] { return open_sends_ == 0; });
    if (open_receives_ > 0) world_.under_way_.drop_receives(&open_receives_);
  }

  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, isize bytes) {
    begin(sends_, tag);
    world_.under_way_.send(world_.rows_, peer, number(tag), from, bytes, sends_[at(tag)].pending,
                           &open_sends_);
  }
  bool sent(std::int32_t tag) { return is_done(sends_, tag); }
  bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) {
    if (begin(receives_, tag))
      world_.under_way_.receive(world_.rows_, peer, number(tag), to, bytes, receives_[at(tag)].pending,
                                &open_receives_);
    return is_done(receives_, tag);
  }
  bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes, std::byte* all) {
    return meet(
        meeting, member, own,
        [bytes](std::int32_t) {
          return byte_range{0, bytes};
        },
        all,
        [bytes](std::int32_t m) {
          return byte_range{m * bytes, bytes};
        });
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) {
    return meet(
        meeting, member, own, [out](std::int32_t m) { return out[at(m)]; }, all,
        [in](std::int32_t m) { return in[at(m)]; });
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes) {
    // Nobody asks for nothing.
    if (begin(visits_, meeting))
      show(
          meeting, member, own, [out](std::int32_t m) { return out[at(m)]; }, false);
    if (from == member || bytes == 0) return true;
    std::vector<item>& each = fetches_[at(meeting)];
    if (begin(each, from))
      world_.under_way_.receive(world_.rows_, world_.members_[at(meeting)][at(from)],
                                number(world_.messages_ + meeting), to, bytes, each[at(from)].pending,
                                &open_receives_);
    return is_done(each, from);
  }

  std::uint32_t observe() {
    world_.progress();
    return world_.under_way_.done();
  }
  void pause(std::uint32_t seen) {
    world_.wait_until([&] { return world_.under_way_.done() != seen; });
  }

 private:
  friend class mpi::group;
  // A message or visit in the step it was last begun in.
  struct item {
    std::uint32_t step = 0;
    std::int32_t pending = 0;
  };
  static std::size_t at(std::int32_t number) { return as_size(number); }
  int number(std::int32_t tag) const { return 2 * tag + static_cast<int>(step_ & 1); }
  template <class Out, class In>
  bool meet(std::int32_t meeting, std::int32_t member, const std::byte* own, Out out, std::byte* all, In in) {
    if (begin(visits_, meeting)) {
      const auto& members = world_.members_[at(meeting)];
      const auto size = static_cast<std::int32_t>(members.size());
      for (std::int32_t step = 1; step < size; ++step) {
        const std::int32_t m = (member + step) % size;
        const byte_range to = in(m);
        world_.under_way_.receive(world_.rows_, members[at(m)], number(world_.messages_ + meeting),
                                  all + to.offset, to.bytes, visits_[at(meeting)].pending, &open_receives_);
      }
      show(meeting, member, own, out, true);
      const byte_range mine = out(member);
      if (mine.bytes > 0) std::memcpy(all + in(member).offset, own + mine.offset, as_size(mine.bytes));
    }
    return is_done(visits_, meeting);
  }
  template <class Out>
  void show(std::int32_t meeting, std::int32_t member, const std::byte* own, Out out, bool also_nothing) {
    const auto& members = world_.members_[at(meeting)];
    const auto size = static_cast<std::int32_t>(members.size());
    for (std::int32_t step = 1; step < size; ++step) {
      const std::int32_t m = (member + step) % size;
      const byte_range from = out(m);
      if (from.bytes > 0 || also_nothing)
        world_.under_way_.send(world_.rows_, members[at(m)], number(world_.messages_ + meeting),
                               own + from.offset, from.bytes, open_sends_);
    }
  }
  bool begin(std::vector<item>& all, std::int32_t which) {
    return std::exchange(all[at(which)].step, step_) != step_;
  }
  bool is_done(std::vector<item>& all, std::int32_t which) {
    if (all[at(which)].step == step_ && all[at(which)].pending > 0) world_.progress();
    return all[at(which)].step == step_ && all[at(which)].pending == 0 && !world_.is_stopped();
  }

  world& world_;
  std::uint32_t step_ = 0;
  std::vector<item> sends_, receives_, visits_;
  std::vector<std::vector<item>> fetches_;           // of each meeting, from each member
  std::int32_t open_sends_ = 0, open_receives_ = 0;  // of this step
  int exceptions_ = std::uncaught_exceptions();
};

static_assert(transport<endpoint>, "motet: an end of an MPI program is a transport");

}  // namespace motet::mpi
