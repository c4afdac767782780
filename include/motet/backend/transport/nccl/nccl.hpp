// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/sm_share.hpp>
#include <motet/backend/transport/gpu/gpu_end.hpp>
#include <motet/backend/transport/nccl/nccl_meetings.hpp>
#include <motet/backend/transport/nccl/nccl_memory.hpp>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace motet::nccl {

// These two are in nccl_group.hpp.
class group;
class group_set;

// A wait throws this when the ranks were told to stop.
struct stopped {
  std::string why;
};

// The last calls of a group: before and behind each.
struct group_moments {
  std::vector<cuda::event> before, done;
  bool lacking() const {
    for (std::size_t i = 0; i < done.size(); ++i)
      if (before[i].is_past() && !done[i].is_past()) return true;
    return false;
  }
};

// The ranks of a program, each with a GPU of its own, which all make it at once and alike; nccl::session
// lives on the thread that makes it. What ranks begin is ordered on their streams, so a host runs ahead of
// its GPU; it waits at the end of a step. A rank that fails aborts its communicators.
class world {
 public:
  using stopped = nccl::stopped;
  using group = nccl::group;
  using group_set = nccl::group_set;
  using meeting = meeting_group;  // for words of the host

  // messages[t] are the ends of message t, meetings[m] the ranks that take part in meeting m.
  world(std::int32_t ranks, std::span<const message_ends> messages,
        std::span<const std::vector<std::int32_t>> meetings)
      : session_(session::here()),
        ends_(messages.begin(), messages.end()),
        channels_(session_, messages),
        meetings_(session_, meetings) {
    if (ranks != session_.everyone().ranks())
      fail(meeting_refused,
           sentence({"the program has ", ranks, " ranks, ", session_.everyone().ranks(), " met"}));
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    if (std::uncaught_exceptions() > exceptions_) stop("of an error that it tells itself");
    lanes_.clear();
    for (const cudaStream_t each : computes_) cudaStreamDestroy(each);
  }

  static std::int32_t size_of() { return session::here().everyone().ranks(); }
  static const forum& everyone() { return session::here().everyone(); }
  std::int32_t rank() const { return session_.everyone().rank(); }
  std::int32_t ranks() const { return session_.everyone().ranks(); }
  // The engine of the lane which was entered.
  cuda::engine& on() { return lanes_.on(); }
  cuda::lane_engines& lanes() { return lanes_; }
  // Lanes compute on these shares of the GPU's multiprocessors. Before anything is computed.
  void share_lanes(std::vector<double> shares) {
    if (lanes_.count() > 0) cuda::sizes_of_lanes(shares);
    wanted_ = std::move(shares);
  }
  void move_lanes() {
    if (lanes_.count() == 0 || wanted_.empty()) return;
    cuda::check(cudaSetDevice(on().gpu()), "cudaSetDevice");
    divide();
    const std::vector<cudaStream_t> before = std::exchange(computes_, {});
    lanes_.move([&](std::int32_t lane) {
      const int share = sizes_.of_lane[as_size(lane)];
      computes_.push_back(shares_->make_stream(share));
      return std::pair(computes_.back(), shares_->processors(share));
    });
    for (const cudaStream_t each : before) cudaStreamDestroy(each);
  }
  // The seconds of a step begin here, for records; nothing is begun before.
  void mark_zero() {
    zero_.mark(on().stream());
    on().finish();
  }

  // NCCL was told of this memory, which messages and sums use.
  kept_memory& memory() { return memory_; }

  // While the rank waits, watch(seconds) is called now and then, with how long nothing has moved; watch(0)
  // when something did. It may stop().
  void watch_waits(std::function<void(double)> watch) { watch_ = std::move(watch); }
  std::vector<std::int32_t> lacking() const {
    std::vector<std::int32_t> found;
    channels_.lacking(found, ends_);
    meetings_.lacking(found);
    for (const open_group& each : open_groups_)
      if (each.calls != nullptr && each.calls->lacking())
        found.insert(found.end(), each.members->begin(), each.members->end());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::erase(found, rank());
    return found;
  }
  bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }
  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }
  // The waits of this rank end now, those of the others when they find it gone.
  void stop(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_.load(std::memory_order_relaxed)) return;
      why_ = sentence({"rank ", rank(), " stopped because ", reason});
      stopped_.store(true, std::memory_order_release);
    }
    channels_.abort();
    meetings_.abort();
    for (const open_group& each : open_groups_) each.by->abort();
  }

 private:
  friend class endpoint;
  friend class nccl::group_set;
  friend class nccl::group;
  using clock = std::chrono::steady_clock;

  // While something is waited for, this looks for errors of other ranks, and who watches.
  void look() {
    if (is_stopped()) throw stopped{why()};
    const auto now = clock::now();
    if (now - looked_ < std::chrono::milliseconds(10)) return;
    looked_ = now;
    try {
      channels_.look();
      meetings_.look();
      for (const open_group& each : open_groups_) each.by->look();
    } catch (const error& problem) {
      stop(problem.what());
      throw;
    }
    // While this rank's own work goes on, nobody is waited for.
    if (lacking().empty()) return goes_on();
    if (waits_since_ == clock::time_point{}) waits_since_ = now;
    if (watch_) watch_(std::chrono::duration<double>(now - waits_since_).count());
    if (is_stopped()) throw stopped{why()};
  }
  std::unique_ptr<cuda::engine> make_lane(std::int32_t lane) {
    if (lane == 0 && !wanted_.empty()) divide();
    const int share = shares_ ? sizes_.of_lane[as_size(lane)] : 0;
    if (shares_) computes_.push_back(shares_->make_stream(share));
    auto made = std::make_unique<cuda::engine>(shares_ ? computes_.back() : nullptr, lanes_.priority(lane));
    if (shares_) made->set_processors(shares_->processors(share));
    made->watch_waits([this] { look(); });
    return made;
  }
  void divide() {
    sizes_ = cuda::sizes_of_lanes(wanted_);
    shares_ = ladder_.of(sizes_.sizes);
  }
  void goes_on() {
    if (std::exchange(waits_since_, {}) != clock::time_point{} && watch_) watch_(0);
  }

  int exceptions_ = std::uncaught_exceptions();
  session& session_;
  std::vector<message_ends> ends_;
  std::vector<double> wanted_;  // share of each lane; none: all on all
  cuda::lane_sizes sizes_;
  cuda::share_ladder ladder_;  // before what lies on them
  std::shared_ptr<cuda::sm_shares> shares_;
  std::vector<cudaStream_t> computes_;  // of each lane, only of a share
  cuda::lane_engines lanes_{[this](std::int32_t lane) { return make_lane(lane); }};
  cuda::event zero_ = cuda::event::timed();
  channels channels_;
  meetings meetings_;
  kept_memory memory_;
  struct open_group {
    communicator* by;
    const std::vector<std::int32_t>* members;
    const group_moments* calls = nullptr;
  };
  std::vector<open_group> open_groups_;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::string why_;
  std::function<void(double)> watch_;
  clock::time_point looked_, waits_since_;
};

// This process's end; a transport. What it is given lies on the GPU, but for gather.
class endpoint : public transports::gpu_end {
 public:
  using seen = transports::gpu_end;

  endpoint(world& all, std::int32_t rank) : world_(all) {
    if (rank != all.rank())
      fail(meeting_refused, sentence({"this process is rank ", all.rank(), ", not ", rank}));
  }
  std::int32_t rank() const override { return world_.rank(); }
  std::int32_t ranks() const override { return world_.ranks(); }
  cuda::engine& on() override { return world_.on(); }
  cuda::lane_engines& lanes() override { return world_.lanes(); }
  void share_lanes(std::vector<double> shares) override { world_.share_lanes(std::move(shares)); }
  void move_lanes() override { world_.move_lanes(); }
  const cuda::event& zero() const override { return world_.zero_; }
  void begin_step() {
    marks_.begin_step();
    world_.channels_.begin_step();
    world_.meetings_.begin_step();
    lanes().meet();
  }
  // Waits until all that this step began is done.
  void end_step() { finish_step(); }
  void finish_step() {
    lanes().meet();
    while (!world_.meetings_.move(first()) || !world_.channels_.over() || !world_.meetings_.over()) nap();
    world_.goes_on();
    world_.on().finish();
    world_.goes_on();
  }

  std::vector<std::shared_ptr<void>> keep(bool leaving, const void* data, isize bytes) override {
    std::vector<std::shared_ptr<void>> kept;
    world_.channels_.each_way(
        leaving, [&](const communicator& by) { kept.push_back(world_.memory_.keep(by, data, bytes)); });
    return kept;
  }

  void send(std::int32_t tag, std::int32_t, const std::byte* from, isize bytes) override {
    if (world_.channels_.ask(tag, const_cast<std::byte*>(from), bytes, compute(), marks_)) ++moved_;
  }
  // The result says whether the message is under way; what comes on this rank's stream waits until it is
  // over.
  bool sent(std::int32_t tag) override {
    if (!world_.channels_.begun(tag)) return false;
    hold(tag);
    return true;
  }
  bool receive(std::int32_t tag, std::int32_t, std::byte* to, isize bytes) override {
    if (!world_.channels_.ask(tag, to, bytes, compute(), marks_)) return false;
    hold(tag);
    return ++moved_ > 0;
  }
  bool receive_ahead(std::int32_t tag, std::int32_t, std::byte* to, isize bytes) override {
    landing& own = landings_[to];
    if (!world_.channels_.ask(tag, to, bytes, compute(), marks_, &own.free)) return false;
    own.message = tag;
    return ++moved_ > 0;
  }
  void await(const void* at) override {
    const auto found = landings_.find(at);
    if (found != landings_.end() && found->second.message >= 0)
      hold(std::exchange(found->second.message, -1));
  }
  void freed(const void* at) override { landings_[at].free.mark(compute()); }
  void follow_freed(const void* at) override { landings_[at].free.hold(compute()); }

  bool brings_all() const override { return true; }
  bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes,
              std::byte* all) override {
    return world_.meetings_.gather(meeting, member, own, bytes, all);
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) override {
    const bool there = world_.meetings_.exchange(meeting, member, own, out, all, in, first());
    marks_.begin_again(first());
    return there;
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes) override {
    return world_.meetings_.fetch(meeting, member, own, out, from, to, bytes, first());
  }

  std::uint32_t observe() {
    world_.meetings_.move(first());
    return moved_;
  }
  // Things become true by the GPU, which rings no bell: so this looks again soon.
  void pause(std::uint32_t) {
    nap();
    ++moved_;
  }

 private:
  struct landing {
    cuda::event free;  // nothing here reads it any more
    std::int32_t message = -1;
  };
  cudaStream_t compute() const { return world_.on().stream(); }
  // Ranks meet in the first lane.
  cudaStream_t first() const { return world_.lanes().of(0).stream(); }
  // All that is computed from now on comes after the message.
  void hold(std::int32_t tag) {
    world_.channels_.hold(tag, compute());
    marks_.begin_again(compute());
  }
  void nap() {
    world_.look();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  world& world_;
  std::unordered_map<const void*, landing> landings_;  // where rows come
  std::uint32_t moved_ = 0;
};

static_assert(transport<endpoint>, "motet: an end of an NCCL program is a transport");

}  // namespace motet::nccl
