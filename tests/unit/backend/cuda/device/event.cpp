// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/event.hpp>
#include <motet/backend/cuda/device/launch.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

namespace motet {
namespace {

// Two streams that do not wait for each other by themselves.
struct two_streams {
  cudaStream_t of[2] = {};
  two_streams() {
    for (cudaStream_t& each : of)
      motet::cuda::check(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking),
                         "cudaStreamCreateWithFlags");
  }
  ~two_streams() {
    for (const cudaStream_t each : of) cudaStreamSynchronize(each), cudaStreamDestroy(each);
  }
  void finish() const {
    for (const cudaStream_t each : of)
      motet::cuda::check(cudaStreamSynchronize(each), "cudaStreamSynchronize");
  }
};

// to = 10 to + add: the order of two of them shows.
struct append {
  int* to;
  int add;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to = *to * 10 + add;
  }
};
void put(cudaStream_t stream, const laws::flat_on_gpu<int>& to, int add) {
  motet::cuda::launch(stream, {1, 32, 0}, append{to.data(), add});
}

TEST_CASE("what a stream is given after it holds comes after the point") {
  for (int turn = 0; turn < 12; ++turn) {
    const two_streams streams;
    const laws::flat_on_gpu<int> to({0});
    motet::cuda::event there, back;
    put(streams.of[0], to, 1);
    there.mark(streams.of[0]);
    there.hold(streams.of[1]);
    put(streams.of[1], to, 2);
    back.mark(streams.of[1]);
    back.hold(streams.of[0]);
    put(streams.of[0], to, 3);
    there.mark(streams.of[0]);  // a new point: who held before held the old one
    there.hold(streams.of[1]);
    put(streams.of[1], to, 4);
    streams.finish();
    CHECK(laws::off_by(to.back(), std::vector<int>{1234}) == 0);
  }
}

TEST_CASE("one that was never marked holds nothing up, and is past") {
  const two_streams streams;
  const motet::cuda::event none;
  CHECK(none.is_past());
  none.hold(streams.of[0]);
  none.finish();
  CHECK(none.seconds_since(none) == 0);
}

TEST_CASE("the host waits for a point, which then is past") {
  const two_streams streams;
  const laws::flat_on_gpu<int> to({0});
  motet::cuda::event point;
  put(streams.of[0], to, 7);
  point.mark(streams.of[0]);
  point.finish();
  CHECK(point.is_past());
  int found = 0;
  motet::cuda::check(cudaMemcpy(&found, to.data(), sizeof(int), cudaMemcpyDeviceToHost), "cudaMemcpy");
  CHECK(found == 7);
}

#if !defined(__CUDACC__)
TEST_CASE("a point is not past while work before it is under way") {
  const two_streams streams;
  bool open = false;
  emulation::call(
      streams.of[0], [] {}, [&] { return open; });
  motet::cuda::event point, moved;
  point.mark(streams.of[0]);
  CHECK_FALSE(point.is_past());
  CHECK(cudaGetLastError() == cudaSuccess);  // the question leaves no error for the next launch
  moved = std::move(point);
  CHECK_FALSE(moved.is_past());
  open = true;
  moved.finish();
  CHECK(moved.is_past());
}
#endif

TEST_CASE("two that keep time tell what lay between them") {
  const two_streams streams;
  const laws::flat_on_gpu<int> to({0});
  motet::cuda::event first = motet::cuda::event::timed(), last = motet::cuda::event::timed();
  first.mark(streams.of[0]);
  for (int i = 0; i < 20; ++i) put(streams.of[0], to, 0);
  last.mark(streams.of[0]);
  last.finish();
  CHECK(last.seconds_since(first) > 0);
  CHECK(last.seconds_since(first) < 60);
  CHECK(first.seconds_since(first) == 0);
}

}  // namespace
}  // namespace motet
