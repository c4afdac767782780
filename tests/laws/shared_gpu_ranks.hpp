// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/transfer.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>

#include <algorithm>
#include <map>
#include <memory>

// Ends of a shared GPU for laws that are told in the host's memory: what a call is given is brought to the
// GPU, and what it makes comes back.

namespace motet::laws {

// Bytes of the GPU with those of the host, moved in the order of a stream.
class mirrored_bytes {
 public:
  mirrored_bytes(cuda::engine& on, isize bytes)
      : on_(&on), memory_(std::max<isize>(bytes, 1)), sent_(std::max<isize>(bytes, 1)), bytes_(bytes) {
    poison();
  }
  mirrored_bytes(const mirrored_bytes&) = delete;
  mirrored_bytes& operator=(const mirrored_bytes&) = delete;
  ~mirrored_bytes() { cudaStreamSynchronize(on_->stream()); }
  std::byte* data() const { return memory_.data(); }
  // Some time, not now: who reads it has to wait for the stream.
  void put(const std::byte* from, isize at, isize bytes) const {
    if (bytes == 0) return;
    std::copy_n(from, bytes, sent_.data() + at);
    move(memory_.data() + at, sent_.data() + at, bytes, cudaMemcpyHostToDevice);
  }
  void get(std::byte* to, isize at, isize bytes) const {
    move(to, memory_.data() + at, bytes, cudaMemcpyDeviceToHost);
    on_->finish();
  }
  // The bytes are poisoned as soon as the stream may.
  void poison() const {
    if (bytes_ > 0)
      cuda::check(cudaMemsetAsync(memory_.data(), 0xd7, static_cast<std::size_t>(bytes_), on_->stream()),
                  "cudaMemsetAsync");
  }

 private:
  void move(void* to, const void* from, isize bytes, cudaMemcpyKind kind) const {
    if (bytes > 0)
      cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, on_->stream()),
                  "cudaMemcpyAsync");
  }
  cuda::engine* on_;
  cuda::buffer<std::byte> memory_;
  cuda::pinned_buffer<std::byte> sent_;
  isize bytes_;
};

class mirrored_end : public shared_gpu::endpoint {
 public:
  using shared_gpu::endpoint::endpoint;

  void begin_step() {
    if (begun_) end_step();
    begun_ = true;
    shared_gpu::endpoint::begin_step();
    // Others may read these until now.
    sent_.clear();
    shown_.clear();
    brought_.clear();
  }
  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, isize bytes) {
    auto& own = sent_[tag];
    own = std::make_unique<mirrored_bytes>(on(), bytes);
    own->put(from, 0, bytes);
    shared_gpu::endpoint::send(tag, peer, own->data(), bytes);
  }
  bool sent(std::int32_t tag) {
    if (!shared_gpu::endpoint::sent(tag)) return false;
    sent_.at(tag)->poison();
    return true;
  }
  bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) {
    const mirrored_bytes there(on(), bytes);
    // One of two ways, both of which are right.
    if (tag % 2 == 0) {
      if (!shared_gpu::endpoint::receive(tag, peer, there.data(), bytes)) return false;
    } else {
      freed(there.data());
      if (!receive_ahead(tag, peer, there.data(), bytes)) return false;
      await(there.data());
    }
    there.get(to, 0, bytes);
    end_step();
    return true;
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) {
    isize bytes = 0;
    for (const byte_range& each : in) bytes = std::max(bytes, each.offset + each.bytes);
    // It is made once, as its end waits for the stream.
    auto& made = brought_[meeting];
    if (!made) made = std::make_unique<mirrored_bytes>(on(), bytes);
    const mirrored_bytes& there = *made;
    if (!shared_gpu::endpoint::exchange(meeting, member, shown(meeting, own, out), out, there.data(), in))
      return false;
    for (const byte_range& each : in) there.get(all + each.offset, each.offset, each.bytes);
    return true;
  }
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes) {
    const mirrored_bytes there(on(), bytes);
    if (!shared_gpu::endpoint::fetch(meeting, member, shown(meeting, own, out), out, from, there.data(),
                                     bytes))
      return false;
    if (from != member) there.get(to, 0, bytes);
    return true;
  }

 private:
  const std::byte* shown(std::int32_t meeting, const std::byte* own, std::span<const byte_range> out) {
    auto& there = shown_[meeting];
    if (!there) {
      isize bytes = 0;
      for (const byte_range& each : out) bytes = std::max(bytes, each.offset + each.bytes);
      there = std::make_unique<mirrored_bytes>(on(), bytes);
      there->put(own, 0, bytes);
    }
    return there->data();
  }

  bool begun_ = false;
  std::map<std::int32_t, std::unique_ptr<mirrored_bytes>> sent_, shown_, brought_;
};

class mirrored_group {
 public:
  mirrored_group(shared_gpu::group_set& set, std::int32_t number, shared_gpu::endpoint& own)
      : group_(set, number, own), own_(own) {}

  std::int32_t size() const { return group_.size(); }
  std::int32_t member() const { return group_.member(); }
  auto& end() { return group_.end(); }
  void withdraw() noexcept { group_.withdraw(); }
  bool test(ticket which) {
    if (!group_.test(which)) return false;
    show(which);
    return true;
  }
  void wait(ticket which) {
    group_.wait(which);
    show(which);
  }

  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    auto& own = room(count * size_of<T>);
    own.put(bytes_of(numbers), 0, count * size_of<T>);
    return begins(group_.all_reduce_sum(reinterpret_cast<T*>(own.data()), count),
                  {{bytes_of(numbers), &own, 0, count * size_of<T>}});
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts) {
    const isize all = sum(counts), mine = counts[static_cast<std::size_t>(member())];
    auto& there = room(all * size_of<T>);
    there.put(reinterpret_cast<const std::byte*>(from), 0, all * size_of<T>);
    const bool inside = to >= from && to < from + all;
    auto& result = inside ? there : room(mine * size_of<T>);
    const isize at = inside ? (to - from) * size_of<T> : 0;
    return begins(group_.reduce_scatter_sum(reinterpret_cast<const T*>(there.data()),
                                            reinterpret_cast<T*>(result.data() + at), counts),
                  {{bytes_of(to), &result, at, mine * size_of<T>}});
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes) {
    const isize whole = sum(bytes), mine = bytes[static_cast<std::size_t>(member())];
    auto& there = room(whole);
    const bool inside = own >= all && own < all + whole;
    auto& from = inside ? there : room(mine);
    const isize at = inside ? own - all : 0;
    from.put(own, at, mine);
    return begins(group_.all_gather(from.data() + at, there.data(), bytes), {{all, &there, 0, whole}});
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    auto &there = room(sum(from_bytes)), &result = room(sum(to_bytes));
    there.put(from, 0, sum(from_bytes));
    return begins(group_.all_to_all(there.data(), from_bytes, result.data(), to_bytes),
                  {{to, &result, 0, sum(to_bytes)}});
  }
  ticket broadcast(std::byte* data, isize bytes, std::int32_t root) {
    auto& own = room(bytes);
    if (root == member()) own.put(data, 0, bytes);
    return begins(group_.broadcast(own.data(), bytes, root), {{data, &own, 0, bytes}});
  }
  ticket barrier() { return group_.barrier(); }

 private:
  struct copy_back {
    std::byte* to;
    mirrored_bytes* from;
    isize at, bytes;
  };
  template <class T>
  static constexpr isize size_of = static_cast<isize>(sizeof(T));
  template <class T>
  static std::byte* bytes_of(T* numbers) {
    return reinterpret_cast<std::byte*>(numbers);
  }
  static isize sum(std::span<const isize> parts) {
    isize all = 0;
    for (const isize each : parts) all += each;
    return all;
  }
  mirrored_bytes& room(isize bytes) {
    return *rooms_.emplace_back(std::make_unique<mirrored_bytes>(own_.on(), bytes));
  }
  ticket begins(ticket which, std::vector<copy_back> results) {
    results_[which] = std::move(results);
    return which;
  }
  void show(ticket which) {
    const auto found = results_.find(which);
    if (found == results_.end()) return;
    for (const copy_back& each : found->second) each.from->get(each.to, each.at, each.bytes);
    results_.erase(found);
    if (results_.empty()) rooms_.clear();
  }

  shared_gpu::group group_;
  shared_gpu::endpoint& own_;
  std::vector<std::unique_ptr<mirrored_bytes>> rooms_;
  std::map<ticket, std::vector<copy_back>> results_;
};

// Numbers of a rank that shares a GPU, for laws that hold wherever they lie (see sites.hpp).
struct shared_gpu_site {
  using context = cuda::context;
  context ctx;
  std::byte nothing{};
  explicit shared_gpu_site(shared_gpu::endpoint& end) {
    ctx.memory = ctx.scratch = arena(&nothing, 0);
    end.prepare(ctx);
  }
  shared_gpu_site(const shared_gpu_site&) = delete;
  shared_gpu_site& operator=(const shared_gpu_site&) = delete;

  template <class T>
  class numbers {
   public:
    numbers(shared_gpu_site& site, std::size_t count, T value = T(0))
        : site_(&site), seen_(count, value), there_(static_cast<isize>(count)) {}
    T* data() { return there_.data(); }
    std::vector<T>& seen() { return seen_; }
    void put() { upload(site_->ctx, static_cast<const T*>(seen_.data()), there_.data(), there_.size()); }
    void get() { download(site_->ctx, static_cast<const T*>(there_.data()), seen_.data(), there_.size()); }

   private:
    shared_gpu_site* site_;
    std::vector<T> seen_;
    cuda::buffer<T> there_;
  };
  template <class T, class Change>
  void change(T* at, isize count, Change&& change) {
    std::vector<T> here(static_cast<std::size_t>(count));
    download(ctx, static_cast<const T*>(at), here.data(), count);
    change(here.data());
    upload(ctx, static_cast<const T*>(here.data()), at, count);
  }
};

}  // namespace motet::laws
