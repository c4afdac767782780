// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/copies.hpp>
#include <motet/backend/cuda/device/event.hpp>
#include <motet/backend/cuda/device/launch.hpp>
#include <motet/tensor/sequences.hpp>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace motet::cuda {

class engine;

// A sum that is made on the GPU, such as a loss: a place there, which is known when the work before it is
// done. An empty one is zero.
class real {
 public:
  real() = default;
  real(engine& on, double* at) : on_(&on), at_(at) {}
  double* at() const { return at_; }
  // A template, as is all that launches a kernel: so other compilers than nvcc can read it.
  template <class Other = real>
  real& operator+=(const Other& other);

 private:
  engine* on_ = nullptr;
  double* at_ = nullptr;
};

// An engine is what a rank has of a GPU: its stream, and what lasts from step to step. Host memory that
// operations are given (offsets of samples) has its copy on the GPU here. Libraries keep their handles and
// recipes in parts, made when first asked for.
class engine {
 public:
  // An engine is on the current GPU, with another's stream or one of its own, of this priority.
  explicit engine(cudaStream_t stream = nullptr, int priority = 0)
      : stream_(stream), owns_(stream == nullptr) {
    require_gpus();
    check(cudaGetDevice(&gpu_), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, gpu_),
          "cudaDeviceGetAttribute");
    numbers_ = buffer<double>(real_count);
    step_ = buffer<std::uint64_t>(1);
    said_ = pinned_buffer<double>(1);
    next_step_ = pinned_buffer<std::uint64_t>(step_count);
    if (owns_)
      check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
            "cudaStreamCreateWithPriority");
    set_step(0);
  }
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine() {
    cudaStreamSynchronize(stream_);
    parts_.clear();
    if (owns_) cudaStreamDestroy(stream_);
  }

  cudaStream_t stream() const { return stream_; }
  int gpu() const { return gpu_; }
  // From now on its work goes to another stream, which is the caller's, with so many multiprocessors. All
  // that was begun is done before. Callers forget records (recorder.hpp).
  void move_to(cudaStream_t stream, int processors) {
    finish();
    if (std::exchange(owns_, false)) cudaStreamDestroy(stream_);
    stream_ = stream;
    processors_ = processors;
    for (const kept_part& each : parts_)
      if (each.moved != nullptr) each.moved(each.part.get());
  }
  // Multiprocessors that its kernels run on; a share of a GPU has fewer than the GPU.
  int processors() const { return processors_; }
  void set_processors(int count) { processors_ = count; }
  void finish() {
    if (meanwhile_) {
      while (!is_done(cudaStreamQuery(stream_), "cudaStreamQuery")) meanwhile_();
      return;
    }
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  // Waits until that is past, of what this stream was given.
  void wait_for(const event& point) {
    while (meanwhile_ && !point.is_past()) meanwhile_();
    point.finish();
    point.is_past();  // says what went wrong
  }
  // `meanwhile` is called again and again while this waits for the GPU, which may wait for another rank; it
  // may throw.
  void watch_waits(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  // The number of the step, where kernels read it.
  const std::uint64_t* step() const { return step_.data(); }
  void set_step(std::uint64_t step) {
    if (++steps_set_ % step_count == 0) finish();  // those before may still be on their way
    std::uint64_t& here = next_step_[static_cast<isize>(steps_set_ % step_count)];
    here = step;
    check(cudaMemcpyAsync(step_.data(), &here, sizeof(step), cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
  }

  // A place for a sum, taken in turn: of the last thousand each is its own.
  real take_real() { return {*this, numbers_.data() + next_real_++ % real_count}; }
  double read(const real& from) {
    if (from.at() == nullptr) return 0;
    check(cudaMemcpyAsync(said_.data(), from.at(), sizeof(double), cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
    finish();
    return said_[0];
  }

  // The offsets of samples, on the GPU; null for samples of one length. They are copied when first asked for
  // since forget_copies().
  const isize* offsets(const sequences& of) {
    return of.offsets == nullptr ? nullptr : copied(of.offsets, of.samples + 1);
  }
  // Any array of the host may be copied so, if it does not change until forget_copies().
  template <class T>
  const T* copied(const T* from, isize count) {
    const std::size_t bytes = as_size(count) * sizeof(T);
    return static_cast<const T*>(recorded_ != nullptr ? recorded_->copy_of(from, bytes, recorded_by_)
                                                      : copies_[now_].copy_of(from, bytes, stream_));
  }
  // This is called between steps, or when arrays of the host change. Kernels under way still read the old
  // copies, so the next ones lie elsewhere.
  void forget_copies() {
    if (copies_[now_].empty()) return;
    ++forgotten_;
    copies_[now_].leave(stream_);
    now_ = 1 - now_;
    copies_[now_].forget();
  }
  // Whoever keeps offsets knows by this count that their copies are gone.
  std::uint64_t forgotten() const { return forgotten_; }
  // While work is recorded, its copies belong to the record, and another stream makes them; null: no longer.
  void copy_into(host_copies* recorded, cudaStream_t by = nullptr) {
    recorded_ = recorded;
    recorded_by_ = by;
  }

  // Engines of a rank's lanes: the first one has the parts that are of all of them, such as copies of
  // weights.
  void join(engine& first) { first_ = &first; }
  engine& first() { return first_ != nullptr ? *first_ : *this; }
  // The one Part of this engine, or of all lanes' engines where it says so (of_all_lanes); made by
  // Part(engine&) when first asked for. One that keeps the stream has moved().
  template <class Part>
  Part& part() {
    if constexpr (requires { requires Part::of_all_lanes; })
      if (first_ != nullptr) return first_->template part<Part>();
    static const char key = 0;
    for (auto& each : parts_)
      if (each.key == &key) return *static_cast<Part*>(each.part.get());
    void (*moved)(void*) = nullptr;
    if constexpr (requires(Part& of) { of.moved(); })
      moved = [](void* of) { static_cast<Part*>(of)->moved(); };
    parts_.push_back({&key, std::make_shared<Part>(*this), moved});
    return *static_cast<Part*>(parts_.back().part.get());
  }

 private:
  struct kept_part {
    const void* key;
    std::shared_ptr<void> part;
    void (*moved)(void*);
  };
  static constexpr std::size_t real_count = 1024, step_count = 64;

  cudaStream_t stream_;
  std::function<void()> meanwhile_;
  bool owns_;
  int gpu_ = 0, processors_ = 0;
  buffer<double> numbers_;
  std::size_t next_real_ = 0;
  buffer<std::uint64_t> step_;
  pinned_buffer<double> said_;
  pinned_buffer<std::uint64_t> next_step_;
  std::size_t steps_set_ = 0;
  host_copies copies_[2];
  host_copies* recorded_ = nullptr;
  cudaStream_t recorded_by_ = nullptr;
  int now_ = 0;
  std::uint64_t forgotten_ = 0;
  engine* first_ = nullptr;  // of the rank's lanes; null: this one
  std::vector<kept_part> parts_;
};

struct number_sum {
  double* to;
  const double* from;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to += *from;
  }
};

// The place of the left one keeps the sum.
template <class Other>
real& real::operator+=(const Other& other) {
  if (other.at_ == nullptr) return *this;
  if (at_ == nullptr) return *this = other;
  launch(on_->stream(), {1, warp_size, 0}, number_sum{at_, other.at_});
  return *this;
}

}  // namespace motet::cuda
