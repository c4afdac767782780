// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/backend/groups/any_group.hpp>

#include "cuda_run.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

// Several ranks of one GPU, each on a thread with an engine of its own, and groups of them.

namespace motet::laws {

// The members of a group meet here. One that fails stops the others.
class gpu_board {
 public:
  struct stopped {};
  struct post {
    const std::byte* from = nullptr;
    std::vector<isize> counts;  // of what it sends
  };

  explicit gpu_board(std::int32_t members) : posts(static_cast<std::size_t>(members)) {}
  void meet() {
    std::unique_lock lock(mutex_);
    const auto now = round_;
    if (++here_ == posts.size()) {
      here_ = 0;
      ++round_;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return stop_ || round_ != now; });
    if (stop_) throw stopped{};
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    all_.notify_all();
  }
  std::vector<post> posts;

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  std::size_t here_ = 0;
  std::uint64_t round_ = 0;
  bool stop_ = false;
};

// A member's end: waits for its stream, and takes what it needs from the others' memory. Sums are taken on
// the host, in the order of members. Places are the same for all members.
class gpu_group {
 public:
  gpu_group(gpu_board& board, std::int32_t member, cuda::engine& on)
      : board_(board), member_(member), on_(on) {}
  std::int32_t size() const { return static_cast<std::int32_t>(board_.posts.size()); }
  std::int32_t member() const { return member_; }
  bool test(ticket) { return true; }
  void wait(ticket) {}

  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                    std::span<const isize> places = {}) {
    post(own, bytes);
    for (std::int32_t m = 0; m < size(); ++m)
      copy(all + place(bytes, places, m), board_.posts[static_cast<std::size_t>(m)].from,
           bytes[static_cast<std::size_t>(m)]);
    return leave();
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    post(from, from_bytes);
    for (std::size_t m = 0, at = 0; m < to_bytes.size(); at += static_cast<std::size_t>(to_bytes[m]), ++m) {
      const auto& theirs = board_.posts[m];
      agree(theirs.counts[static_cast<std::size_t>(member_)] == to_bytes[m]);
      copy(to + at, theirs.from + before(theirs.counts, member_), to_bytes[m]);
    }
    return leave();
  }
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    const isize counts[] = {count};
    post(reinterpret_cast<const std::byte*>(numbers), counts);
    const auto sums = sum<T>(0, count);
    board_.meet();
    put(numbers, sums);
    return leave();
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) {
    post(reinterpret_cast<const std::byte*>(from), counts);
    put(to, sum<T>(place(counts, places, member_), counts[static_cast<std::size_t>(member_)]));
    return leave();
  }
  ticket broadcast(std::byte* data, isize bytes, std::int32_t root) {
    const isize counts[] = {bytes};
    post(data, counts);
    if (root != member_) copy(data, board_.posts[static_cast<std::size_t>(root)].from, bytes);
    return leave();
  }
  ticket barrier() {
    post(nullptr, {});
    return leave();
  }

 private:
  static isize place(std::span<const isize> counts, std::span<const isize> places, std::int32_t member) {
    return places.empty() ? before(counts, member) : places[static_cast<std::size_t>(member)];
  }
  static isize before(std::span<const isize> counts, std::int32_t member) {
    isize sum = 0;
    for (std::int32_t m = 0; m < member; ++m) sum += counts[static_cast<std::size_t>(m)];
    return sum;
  }
  static void agree(bool same) {
    if (!same) fail(group_disagrees, "sizes differ");
  }
  void post(const std::byte* from, std::span<const isize> counts) {
    on_.finish();
    board_.posts[static_cast<std::size_t>(member_)] = {from, {counts.begin(), counts.end()}};
    board_.meet();
  }
  ticket leave() {
    on_.finish();
    board_.meet();
    return 0;
  }
  void copy(void* to, const void* from, isize bytes) {
    if (bytes > 0 && to != from)
      cuda::check(
          cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, on_.stream()),
          "cudaMemcpyAsync");
  }
  template <class T>
  std::vector<T> sum(isize first, isize count) {
    using number = std::conditional_t<sizeof(T) == 8, double, float>;
    std::vector<number> sums(static_cast<std::size_t>(count), number(0));
    std::vector<T> theirs(sums.size());
    for (const auto& each : board_.posts) {
      if (count == 0) break;
      cuda::check(cudaMemcpy(theirs.data(), each.from + first * static_cast<isize>(sizeof(T)),
                             theirs.size() * sizeof(T), cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<number>(theirs[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) theirs[i] = T(sums[i]);
    return theirs;
  }
  template <class T>
  void put(T* to, const std::vector<T>& from) {
    if (!from.empty())
      cuda::check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  gpu_board& board_;
  std::int32_t member_;
  cuda::engine& on_;
};

static_assert(collective_group<gpu_group> && takes_places<gpu_group>);

// This is gpu_run_foretold on any engine.
template <class Body>
void gpu_run_foretold_on(cuda::engine& on, const microbatch_spread& is, Body&& body) {
  cuda::context dry;
  dry.shared = &is;
  body(dry);
  const cuda::buffer<std::byte> memory(dry.memory.peak() + 64), scratch(dry.scratch.peak() + 64);
  for (const auto* each : {&memory, &scratch})
    cuda::check(cudaMemsetAsync(each->data(), 0xff, static_cast<std::size_t>(each->size()), on.stream()),
                "cudaMemsetAsync");
  cuda::context ctx;
  ctx.on = &on;
  ctx.shared = &is;
  ctx.memory = arena(memory.data(), dry.memory.peak());
  ctx.scratch = arena(scratch.data(), dry.scratch.peak());
  on.forget_copies();
  body(ctx);
  on.finish();
  on.forget_copies();
}

// Runs body(engine, spread, place) for each of tensor x context ranks that share the microbatch `whole`. What
// one throws stops the others, and its text is the result.
template <class Body>
std::string run_gpu_shards(isize tensor, isize context, bool balanced, const sequences& whole, Body&& body) {
  std::vector<std::unique_ptr<gpu_board>> of_tensor, of_context;
  for (isize c = 0; c < context; ++c)
    of_tensor.push_back(std::make_unique<gpu_board>(static_cast<std::int32_t>(tensor)));
  for (isize t = 0; t < tensor; ++t)
    of_context.push_back(std::make_unique<gpu_board>(static_cast<std::int32_t>(context)));
  std::mutex mutex;
  std::string first;
  const auto stop = [&](const char* what) {
    const std::lock_guard lock(mutex);
    if (first.empty()) first = what;
    for (auto* const boards : {&of_tensor, &of_context})
      for (auto& each : *boards) each->stop();
  };
  std::vector<std::thread> threads;
  for (isize rank = 0; rank < tensor * context; ++rank)
    threads.emplace_back([&, t = rank % tensor, c = rank / tensor] {
      try {
        cuda::engine on;
        gpu_group tensor_group(*of_tensor[static_cast<std::size_t>(c)], static_cast<std::int32_t>(t), on);
        gpu_group context_group(*of_context[static_cast<std::size_t>(t)], static_cast<std::int32_t>(c), on);
        const spread_seat seat{tensor, t, context, c, balanced};
        spread_rows rows(seat, whole.samples);
        microbatch_spread is;
        is.tensor = any_group(tensor_group);
        is.context = any_group(context_group);
        rows.fill(whole, is);
        body(on, is, seat);
      } catch (const gpu_board::stopped&) {
      } catch (const std::exception& problem) {
        stop(problem.what());
      }
    });
  for (std::thread& each : threads) each.join();
  return first;
}

}  // namespace motet::laws
