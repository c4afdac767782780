// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/kernel_loading.hpp>
#include <motet/backend/cuda/device/sm_share.hpp>
#include <motet/backend/transport/gpu/gpu_end.hpp>
#include <motet/backend/transport/local/local.hpp>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace motet::shared_gpu {

// These two are in shared_gpu_group.hpp.
class group;
class group_set;

// Ranks of one process that share one GPU, each with streams of its own. They meet as ranks of the local
// world do, but who finds that something is there only begins to copy it: streams wait for each other's
// points, and the host runs ahead.
class world : public local::world {
 public:
  using group = shared_gpu::group;
  using group_set = shared_gpu::group_set;

  world(std::int32_t ranks, std::int32_t messages, std::span<const std::vector<std::int32_t>> meetings)
      : local::world(ranks, messages, meetings), sent_(as_size(messages)), taken_(as_size(messages)) {
    for (const auto& members : meetings) shown_.emplace_back(members.size());
    if (ranks > 1) load_kernels_first();
  }
  ~world() {
    if (clock_ != nullptr) cudaStreamDestroy(clock_);
  }

  // Each rank computes on so many multiprocessors of its own; 0: all ranks on all of them. Before anybody
  // computes.
  void share(int processors) { wanted_.assign(processors > 0 ? as_size(ranks()) : 0, processors); }
  // The same with a number for each rank; one alone is for all.
  void share(std::vector<int> processors) {
    if (processors.size() == 1) return share(processors.front());
    if (!processors.empty() && processors.size() != as_size(ranks()))
      fail(gpu_share_refused,
           sentence({processors.size(), " shares were given, there are ", ranks(), " ranks"}));
    wanted_ = std::move(processors);
  }
  // The lanes of a rank compute on these shares of its multiprocessors, in proportion, once it computes or
  // moves them. MT-B15 where they are too small for that.
  void share_lanes(std::int32_t rank, std::vector<double> shares, bool computes) {
    if (computes) cuda::sizes_of_lanes(shares, wanted_.empty() ? 0 : wanted_[as_size(rank)]);
    lane_shares_.resize(as_size(ranks()));
    lane_shares_[as_size(rank)] = std::move(shares);
  }
  // Records need to know where the seconds of a step begin. It is called on the host while no rank runs.
  void mark_zero() {
    if (clock_ == nullptr) check_clock();
    zero_.mark(clock_);
    zero_.finish();
  }

 private:
  friend class endpoint;
  void check_clock() {
    cuda::require_gpus();
    cuda::check(cudaStreamCreateWithFlags(&clock_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  // Some of the shares that were made at once.
  struct part {
    std::shared_ptr<cuda::sm_shares> of;  // none: all multiprocessors
    int first = 0;
    std::vector<int> of_lane = {};  // none: one for all
    int at(std::int32_t lane) const { return first + (of_lane.empty() ? 0 : of_lane[as_size(lane)]); }
  };
  // Those of a rank. Where ranks have shares, these are made together; where lanes alone have them, each rank
  // divides the whole GPU among its own.
  part shares_of(std::int32_t rank) {
    const std::lock_guard lock(mutex_);
    const auto divided = [&](std::size_t r) {
      const bool lanes = r < lane_shares_.size() && !lane_shares_[r].empty();
      if (lanes) return cuda::sizes_of_lanes(lane_shares_[r], wanted_.empty() ? 0 : wanted_[r]);
      return cuda::lane_sizes{wanted_.empty() ? std::vector<int>{} : std::vector<int>{wanted_[r]}, {}};
    };
    cuda::lane_sizes own = divided(as_size(rank));
    if (own.sizes.empty()) return {};
    if (wanted_.empty()) return {shares_.of(own.sizes), 0, std::move(own.of_lane)};
    std::vector<int> all;
    int first = 0;
    for (std::size_t r = 0; r < wanted_.size(); ++r) {
      if (r == as_size(rank)) first = static_cast<int>(all.size());
      const std::vector<int> sizes = divided(r).sizes;
      all.insert(all.end(), sizes.begin(), sizes.end());
    }
    return {shares_.of(all), first, std::move(own.of_lane)};
  }

  std::vector<cuda::event> sent_, taken_;         // of each message
  std::vector<std::vector<cuda::event>> shown_;   // of each meeting and member
  std::vector<int> wanted_;                       // multiprocessors of each rank; none: all ranks on all
  std::vector<std::vector<double>> lane_shares_;  // of each rank, where its lanes have shares
  std::mutex mutex_;
  cuda::share_ladder shares_;
  cudaStream_t clock_ = nullptr;
  cuda::event zero_ = cuda::event::timed();
};

// One rank's end; a transport for memory of the GPU. A gather alone is of the host's memory.
class endpoint : public local::endpoint, public transports::gpu_end {
 public:
  using seen = transports::gpu_end;
  static constexpr bool takes_turns = false;  // one thread begins all that a rank does

  endpoint(world& all, std::int32_t rank) : local::endpoint(all, rank), world_(all) {}
  ~endpoint() override {
    for (const cudaStream_t each : {copies_, beside_})
      if (each != nullptr) cudaStreamSynchronize(each);
    lanes_.clear();
    for (const cudaStream_t each : computes_) cudaStreamDestroy(each);
    for (const cudaStream_t each : {copies_, beside_})
      if (each != nullptr) cudaStreamDestroy(each);
  }

  std::int32_t rank() const override { return local::endpoint::rank(); }
  std::int32_t ranks() const override { return local::endpoint::ranks(); }
  // It is made when first asked for.
  cuda::engine& on() override { return lanes_.on(); }
  cuda::lane_engines& lanes() override { return lanes_; }
  void share_lanes(std::vector<double> shares) override {
    world_.share_lanes(rank(), std::move(shares), lanes_.count() > 0);
  }
  void move_lanes() override {
    if (lanes_.count() == 0) return;
    cuda::check(cudaSetDevice(on().gpu()), "cudaSetDevice");
    world::part next = world_.shares_of(rank());
    if (!next.of) return;
    const std::vector<cudaStream_t> before = std::exchange(computes_, {});
    lanes_.move([&](std::int32_t lane) {
      computes_.push_back(next.of->make_stream(next.at(lane)));
      return std::pair(computes_.back(), next.of->processors(next.at(lane)));
    });
    for (const cudaStream_t each : before) cudaStreamDestroy(each);
    shares_ = std::move(next);
  }
  const cuda::event& zero() const override { return world_.zero_; }
  void begin_step() {
    local::endpoint::begin_step();
    marks_.begin_step();
    lanes_.meet();
  }
  // A rank that is alone and asked for no times may begin the next step while this one still runs.
  void end_step() {
    lanes_.meet();
    if (ranks() == 1 && !marks_.any()) return;
    on().finish();
    for (const cudaStream_t each : {copies_, beside_})
      if (each != nullptr) cuda::check(cudaStreamSynchronize(each), "cudaStreamSynchronize");
  }
  // Work such as sums of gradients goes on here, beside what is computed. The stream is made when first asked
  // for.
  cudaStream_t beside() {
    on();
    if (beside_ == nullptr) beside_ = make_stream();
    return beside_;
  }

  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, isize bytes) override {
    world_.sent_[as_size(tag)].mark(on().stream());
    local::endpoint::send(tag, peer, from, bytes);
  }
  // Work that begins from now on may write where the rows were.
  bool sent(std::int32_t tag) override {
    if (!local::endpoint::sent(tag)) return false;
    world_.taken_[as_size(tag)].hold(on().stream());
    begin_again();
    return true;
  }
  // Work that begins from now on sees the rows.
  bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) override {
    if (!is_there(tag)) return false;
    world_.sent_[as_size(tag)].hold(on().stream());
    begin_again();
    copy(rows_of(tag), to, bytes, on().stream());
    world_.taken_[as_size(tag)].mark(on().stream());
    take(tag, peer);
    return true;
  }
  bool receive_ahead(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) override {
    if (!is_there(tag)) return false;
    landing& own = landings_[to];
    on();
    world_.sent_[as_size(tag)].hold(copies_);
    own.free.hold(copies_);
    cuda::timed_stretch* const when = marks_.elsewhere();
    if (when != nullptr) when->begin.mark(copies_);
    copy(rows_of(tag), to, bytes, copies_);
    if (when != nullptr) when->end.mark(copies_);
    cuda::event& taken = world_.taken_[as_size(tag)];
    taken.mark(copies_);
    own.here = &taken;
    take(tag, peer);
    return true;
  }
  void await(const void* at) override {
    const auto found = landings_.find(at);
    if (found == landings_.end() || found->second.here == nullptr) return;
    std::exchange(found->second.here, nullptr)->hold(on().stream());
    begin_again();
  }
  void freed(const void* at) override { landings_[at].free.mark(on().stream()); }
  void follow_freed(const void* at) override { landings_[at].free.hold(on().stream()); }

  bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes,
              std::byte* all) override {
    return local::endpoint::gather(meeting, member, own, bytes, all);
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) override {
    if (!show(meeting, member, own, out)) return false;
    for (std::size_t m = 0; m < members_of(meeting); ++m) bring(meeting, m, member, all + in[m].offset);
    begin_again();
    return true;
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes) override {
    const bool all = show(meeting, member, own, out);
    if (from == member || bytes == 0) return true;
    if (!all) return false;
    bring(meeting, as_size(from), member, to);
    return true;
  }

 private:
  struct landing {
    cuda::event free;             // nothing here reads it any more
    cuda::event* here = nullptr;  // what came is there
  };

  cudaStream_t make_stream() const {
    if (shares_.of) return shares_.of->make_stream(shares_.at(0));
    cudaStream_t made = nullptr;
    cuda::check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
    return made;
  }
  std::unique_ptr<cuda::engine> make_lane(std::int32_t lane) {
    if (lane == 0) {
      shares_ = world_.shares_of(rank());
      copies_ = make_stream();
      if (ranks() > 1) cuda::warn_of_late_kernels();
    }
    if (!shares_.of) return std::make_unique<cuda::engine>(nullptr, lanes_.priority(lane));
    computes_.push_back(shares_.of->make_stream(shares_.at(lane)));
    auto made = std::make_unique<cuda::engine>(computes_.back());
    made->set_processors(shares_.of->processors(shares_.at(lane)));
    return made;
  }
  static void copy(const std::byte* from, std::byte* to, isize bytes, cudaStream_t stream) {
    if (bytes > 0)
      cuda::check(cudaMemcpyAsync(to, from, as_size(bytes), cudaMemcpyDeviceToDevice, stream),
                  "cudaMemcpyAsync");
  }
  bool show(std::int32_t meeting, std::int32_t member, const std::byte* own,
            std::span<const byte_range> out) {
    if (!has_shown(meeting, member)) world_.shown_[as_size(meeting)][as_size(member)].mark(on().stream());
    return meet(meeting, member, own, out.data());
  }
  void bring(std::int32_t meeting, std::size_t from, std::int32_t member, std::byte* to) {
    const std::span<const std::byte> what = shown(meeting, from, member);
    if (what.empty()) return;
    world_.shown_[as_size(meeting)][from].hold(on().stream());
    copy(what.data(), to, static_cast<isize>(what.size()), on().stream());
  }
  void begin_again() { marks_.begin_again(on().stream()); }

  world& world_;
  world::part shares_;
  cuda::lane_engines lanes_{[this](std::int32_t lane) { return make_lane(lane); }};
  std::vector<cudaStream_t> computes_;  // of each lane, only of a share
  cudaStream_t copies_ = nullptr, beside_ = nullptr;
  std::unordered_map<const void*, landing> landings_;  // where rows come
};

static_assert(transport<endpoint>, "motet: an end of a shared GPU is a transport");

}  // namespace motet::shared_gpu
