// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/time_marks.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

using motet::cuda::event;
using motet::cuda::time_marks;
using motet::cuda::timed_stretch;

namespace {

struct add_one {
  int* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to += 1;
  }
};

// Kernels of a second each where time is emulated.
class clocked {
 public:
  clocked() : numbers_({0}) {
#if !defined(__CUDACC__)
    motet::emulation::pace(0, 1);
#endif
  }
  ~clocked() {
#if !defined(__CUDACC__)
    motet::emulation::pace(0, 0);
#endif
  }
  void work(cudaStream_t stream, int kernels) const {
    for (int i = 0; i < kernels; ++i) motet::cuda::launch(stream, {1, 32, 0}, add_one{numbers_.data()});
  }
  // On a GPU nobody knows how long; but longer than nothing.
  static void lasts(double got, double wanted) {
#if !defined(__CUDACC__)
    CHECK(motet::laws::off_by(got, wanted) < 1e-3);
#else
    CAPTURE(wanted);
    if (wanted > 0) CHECK(got > 0);
    else CHECK(got >= 0);
#endif
  }

 private:
  motet::laws::flat_on_gpu<int> numbers_;
};

class stream {
 public:
  stream() { motet::cuda::check(cudaStreamCreateWithFlags(&it_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~stream() { cudaStreamDestroy(it_); }
  operator cudaStream_t() const { return it_; }

 private:
  cudaStream_t it_ = nullptr;
};

}  // namespace

TEST_CASE("a slot has the time from its last wait to its end") {
  const stream on;
  const clocked clock;
  time_marks marks;
  event zero = event::timed();
  for (int step = 0; step < 2; ++step) {
    zero.mark(on);
    zero.finish();
    marks.begin_step();
    clock.work(on, 2);
    marks.open(3, on);
    clock.work(on, 4);  // of the wait
    marks.begin_again(on);
    clock.work(on, 3);
    marks.close(on);
    marks.open(0, on);
    clock.work(on, 1);
    marks.drop();  // it could not go on, and is tried again
    marks.begin_again(on);
    marks.open(0, on);
    clock.work(on, 5);
    marks.close(on);
    cudaStreamSynchronize(on);
    clocked::lasts(marks.seconds_of(3), 3);
    clocked::lasts(marks.seconds_of(0), 5);
    clocked::lasts(marks.begin_of(0, zero) - marks.end_of(3, zero), 1);
    CHECK(marks.begin_of(3, zero) > 0);
    CHECK(marks.end_of(0, zero) >= marks.begin_of(0, zero));
  }
}

TEST_CASE("what another stream does is marked there, and what began early is told so") {
  const stream on, beside;
  const clocked clock;
  time_marks marks;
  event zero = event::timed();
  const int key = 0, other = 0;
  for (int step = 0; step < 2; ++step) {
    zero.mark(on);
    zero.finish();
    marks.begin_step();
    CHECK(marks.elsewhere() == nullptr);
    marks.open(0, on);
    timed_stretch* const when = marks.elsewhere();
    REQUIRE(when != nullptr);
    marks.drop();
    CHECK(marks.elsewhere() == nullptr);
    marks.open(1, on);
    clock.work(on, 2);
    marks.early(&key, on);
    clock.work(on, 2);
    marks.close(on);
    marks.early(&other, on);  // nobody keeps times here
    when->begin.mark(beside);
    clock.work(beside, 7);
    when->end.mark(beside);
    marks.open(0, on);  // looks whether it is begun
    marks.close(on);
    cudaStreamSynchronize(on);
    cudaStreamSynchronize(beside);
    clocked::lasts(marks.seconds_of(0), 7);
    clocked::lasts(marks.seconds_of(1), 4);
    const double begun = marks.early_of(&key, zero, marks.end_of(1, zero));
    clocked::lasts(marks.end_of(1, zero) - begun, 2);
    CHECK(marks.early_of(&key, zero, 0) == 0);
    CHECK(marks.early_of(&other, zero, 99) == 99);
  }
}
