// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/device/lane_engines.hpp>
#include <motet/backend/cuda/device/time_marks.hpp>
#include <motet/backend/groups/concepts.hpp>

#include <memory>
#include <span>
#include <vector>

namespace motet::transports {

// What the stages of a rank that has a GPU, or shares one, see of its end, whatever carries its messages: so
// a trainer is compiled once for all of these transports (seen_by_stages.hpp). What each says of a message or
// a meeting holds for all that the rank begins after it.
class gpu_end : public cuda::timed_end<gpu_end>, public cuda::laned_end<gpu_end> {
 public:
  gpu_end() = default;
  gpu_end(const gpu_end&) = delete;
  gpu_end& operator=(const gpu_end&) = delete;
  virtual ~gpu_end() = default;

  virtual std::int32_t rank() const = 0;
  virtual std::int32_t ranks() const = 0;
  // The engine of the lane which was entered.
  virtual cuda::engine& on() = 0;
  virtual cuda::lane_engines& lanes() = 0;
  // Lanes compute on these shares of the rank's multiprocessors: from the beginning, or, between steps, from
  // the time on when those of all ranks are known and move_lanes() is called.
  virtual void share_lanes(std::vector<double> shares) = 0;
  virtual void move_lanes() = 0;
  // The point that times are told from.
  virtual const cuda::event& zero() const = 0;

  // Called before anything is computed, and, by the rank's own thread, before a step of these draws.
  void prepare(cuda::context& ctx, std::int32_t lane = 0) { ctx.on = &lanes().of(lane); }
  void begin(cuda::context& ctx) {
    cuda::check(cudaSetDevice(on().gpu()), "cudaSetDevice");
    lanes().meet();
    lanes().each([&](cuda::engine& each) {
      each.forget_copies();
      each.set_step(ctx.draws.step);
    });
  }

  // Memory that messages leave from, or come to, on all ranks alike; the transport is told while what is
  // returned lives. Most do not care.
  virtual std::vector<std::shared_ptr<void>> keep(bool, const void*, isize) { return {}; }
  virtual void send(std::int32_t tag, std::int32_t peer, const std::byte* from, isize bytes) = 0;
  virtual bool sent(std::int32_t tag) = 0;
  virtual bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) = 0;
  // The same beside what is computed: who reads it calls await() before, and freed() when no more is to be
  // read.
  virtual bool receive_ahead(std::int32_t tag, std::int32_t peer, std::byte* to, isize bytes) = 0;
  virtual void await(const void* at) = 0;
  virtual void freed(const void* at) = 0;
  // The same where another lane of this rank writes next.
  virtual void follow_freed(const void* at) = 0;

  // Nobody can ask for one member's rows alone where this is so: who calls fetch() takes more memory than who
  // has room for an exchange.
  virtual bool brings_all() const { return false; }
  // Numbers of the host.
  virtual bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes,
                      std::byte* all) = 0;
  virtual bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                        std::span<const byte_range> out, std::byte* all, std::span<const byte_range> in) = 0;
  virtual bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own,
                     std::span<const byte_range> out, std::int32_t from, std::byte* to, isize bytes) = 0;
};

}  // namespace motet::transports
