// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grid.hpp"

#include <motet/backend/cuda/device/context.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

// Runs operations on a GPU: a real one under nvcc, an emulated one elsewhere (see support/cuda/emulate.hpp).

namespace motet::laws {

// The engine of a test program; made when first asked for.
inline cuda::engine& gpu() {
  static cuda::engine made;
  return made;
}

// A context with arenas of so many bytes, which begin with a pattern that reads as NaN in every number type.
class gpu_room {
 public:
  gpu_room(isize bytes, isize scratch_bytes)
      : memory_(at_least_one(bytes)), scratch_(at_least_one(scratch_bytes)) {
    for (const auto* each : {&memory_, &scratch_})
      cuda::check(
          cudaMemsetAsync(each->data(), 0xff,
                          static_cast<std::size_t>(std::min<isize>(each->size(), 1 << 24)), gpu().stream()),
          "cudaMemsetAsync");
  }
  cuda::context context(cuda::draw_key draws = {}) const {
    cuda::context ctx;
    ctx.on = &gpu();
    ctx.memory = arena(memory_.data(), memory_.size());
    ctx.scratch = arena(scratch_.data(), scratch_.size());
    ctx.draws = draws;
    return ctx;
  }

 private:
  static isize at_least_one(isize bytes) { return std::max<isize>(bytes, arena::alignment); }
  cuda::buffer<std::byte> memory_, scratch_;
};

// First a dry run, then a run with exactly the memory that the dry run asked for: an operation that needs
// more throws. What it did is done when this returns. Returns what the dry run noted. The dry run must not
// queue work, and both must take the same.
template <class Body>
cuda::profile gpu_run_foretold(Body&& body, cuda::draw_key draws = {}) {
  cuda::profile noted;
  cuda::context dry;
  dry.costs = &noted;
  dry.draws = draws;
  body(dry);
  const gpu_room room(dry.memory.peak(), dry.scratch.peak());
  gpu().forget_copies();
  gpu().set_step(draws.step);
  cuda::context ctx = room.context(draws);
  body(ctx);
  gpu().finish();
  if (ctx.memory.peak() != dry.memory.peak() || ctx.scratch.peak() != dry.scratch.peak())
    throw std::logic_error("the dry run takes other memory than the run");
  gpu().forget_copies();
  return noted;
}

// Flat numbers on the GPU.
template <class T>
class flat_on_gpu {
 public:
  explicit flat_on_gpu(const std::vector<T>& from) : on_(static_cast<isize>(from.size())) { put(from); }
  flat_on_gpu(std::initializer_list<T> from) : flat_on_gpu(std::vector<T>(from)) {}
  // Poisoned.
  explicit flat_on_gpu(isize count) : on_(count) {
    if (count > 0)
      cuda::check(cudaMemset(on_.data(), 0xff, static_cast<std::size_t>(count) * sizeof(T)), "cudaMemset");
  }
  T* data() const { return on_.data(); }
  isize size() const { return on_.size(); }
  void put(const std::vector<T>& from) const {
    if (!from.empty())
      cuda::check(cudaMemcpy(on_.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
                  "cudaMemcpy");
  }
  std::vector<T> back() const {
    std::vector<T> found(static_cast<std::size_t>(on_.size()));
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (!found.empty())
      cuda::check(cudaMemcpy(found.data(), on_.data(), found.size() * sizeof(T), cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
    return found;
  }

 private:
  cuda::buffer<T> on_;
};

// A matrix on the GPU; between its rows lies the mark of a grid.
template <class T>
class on_gpu {
 public:
  explicit on_gpu(const grid<T>& from) : shape_(from), on_(from.data) {}
  // Poisoned rows.
  on_gpu(isize rows, isize width, isize stride) : on_gpu(poisoned(rows, width, stride)) {}
  on_gpu(isize rows, isize width) : on_gpu(rows, width, width) {}

  matrix<T> all() const {
    return {shape_.rows == 0 ? nullptr : on_.data(), shape_.rows, shape_.width, shape_.stride};
  }
  T* data() const { return on_.data(); }
  grid<T> back() const {
    grid<T> found = shape_;
    found.data = on_.back();
    return found;
  }
  intact untouched() const { return back().gaps_intact(); }

 private:
  static grid<T> poisoned(isize rows, isize width, isize stride) {
    grid<T> made(rows, width, stride - width);
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c) made.at(r, c) = T(std::numeric_limits<float>::quiet_NaN());
    return made;
  }
  grid<T> shape_;
  flat_on_gpu<T> on_;
};

}  // namespace motet::laws
