// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"
#include "support/cuda/in_child.hpp"

#include <motet/backend/cuda/device/memory.hpp>

#include <doctest/doctest.h>

#include "deviation.hpp"

#include <cuda.h>

#include <thread>
#include <vector>

// Of the fake runtime itself: that it answers as CUDA documents, and that what a program must not rely on
// does not hold here.

namespace motet {
namespace {

using laws::in_child;

struct set_to {
  float* at;
  float value;
  template <class Thread>
  void operator()(Thread& self) const {
    if (self.number() == 0) *at = value;
  }
};
struct add_to {
  const float* from;
  float* to;
  template <class Thread>
  void operator()(Thread& self) const {
    if (self.number() == 0) *to += *from;
  }
};
struct stream {
  cudaStream_t at = nullptr;
  explicit stream(unsigned flags = cudaStreamNonBlocking) { cudaStreamCreateWithFlags(&at, flags); }
  ~stream() { cudaStreamDestroy(at); }
};
struct event {
  cudaEvent_t at = nullptr;
  event() { cudaEventCreateWithFlags(&at, cudaEventDisableTiming); }
  ~event() { cudaEventDestroy(at); }
};
float value_at(const float* at) {
  float found = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&found, at, sizeof found, cudaMemcpyDeviceToHost);
  return found;
}
const motet::cuda::grid small{1, 32, 0};

TEST_CASE("streams are ordered by events alone") {
  for (const bool waits : {true, false}) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      emulation::seed(seed);
      const motet::cuda::buffer<float> at(2);
      stream a, b;
      event done;
      motet::cuda::launch(b.at, small, set_to{at.data() + 1, 0});
      cudaStreamSynchronize(b.at);
      motet::cuda::launch(a.at, small, set_to{at.data(), 5});
      cudaEventRecord(done.at, a.at);
      if (waits) cudaStreamWaitEvent(b.at, done.at, 0);
      motet::cuda::launch(b.at, small, add_to{at.data(), at.data() + 1});
      right += value_at(at.data() + 1) == 5.0f;
    }
    CHECK((right == 30) == waits);
    CHECK(right > 0);
  }
}

TEST_CASE("an event is what was recorded last; waiting for one that was not is nothing") {
  emulation::seed(0);
  const motet::cuda::buffer<float> at(2);
  stream a, b;
  event done;
  cudaStreamWaitEvent(b.at, done.at, 0);
  CHECK(cudaEventQuery(done.at) == cudaSuccess);
  motet::cuda::launch(a.at, small, set_to{at.data(), 1});
  cudaEventRecord(done.at, a.at);
  cudaStreamWaitEvent(b.at, done.at, 0);
  motet::cuda::launch(b.at, small, add_to{at.data(), at.data()});
  cudaEventRecord(done.at, b.at);
  cudaEventSynchronize(done.at);
  CHECK(value_at(at.data()) == 2);
  int asked = 0;
  motet::cuda::launch(a.at, small, set_to{at.data(), 1});
  cudaEventRecord(done.at, a.at);
  while (cudaEventQuery(done.at) == cudaErrorNotReady) ++asked;
  CHECK(cudaGetLastError() == (asked > 0 ? cudaErrorNotReady : cudaSuccess));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("by a GPU's pace, work begins behind what it waited for, also where that was done already") {
  const motet::cuda::buffer<float> at(1);
  const stream a, b;
  cudaEvent_t first = nullptr, second = nullptr;
  REQUIRE(cudaEventCreate(&first) == cudaSuccess);
  REQUIRE(cudaEventCreate(&second) == cudaSuccess);
  emulation::pace(0, 1);
  motet::cuda::launch(a.at, small, set_to{at.data(), 1});
  cudaEventRecord(first, a.at);
  cudaEventSynchronize(first);
  cudaStreamWaitEvent(b.at, first, 0);
  motet::cuda::launch(b.at, small, set_to{at.data(), 2});
  cudaEventRecord(second, b.at);
  cudaEventSynchronize(second);
  emulation::pace(0, 0);
  float apart = 0;  // milliseconds
  REQUIRE(cudaEventElapsedTime(&apart, first, second) == cudaSuccess);
  CHECK(apart == doctest::Approx(1000));
  cudaEventDestroy(first);
  cudaEventDestroy(second);
}

TEST_CASE("pinned memory must stay as it is until a copy is done; pageable memory need not") {
  emulation::seed(0);
  const motet::cuda::buffer<float> at(1);
  motet::cuda::pinned_buffer<float> pinned(1);
  stream a;
  pinned[0] = 1;
  cudaMemcpyAsync(at.data(), pinned.data(), 4, cudaMemcpyHostToDevice, a.at);
  pinned[0] = 2;
  CHECK(value_at(at.data()) == 2);
  float pageable = 3;
  cudaMemcpyAsync(at.data(), &pageable, 4, cudaMemcpyHostToDevice, a.at);
  pageable = 4;
  CHECK(value_at(at.data()) == 3);
  motet::cuda::launch(a.at, small, set_to{at.data(), 7});
  cudaMemcpyAsync(&pageable, at.data(), 4, cudaMemcpyDeviceToHost, a.at);
  CHECK(pageable == 7);
  // The legacy stream does not wait for others.
  int early = 0;
  for (int i = 0; i < 30; ++i) {
    motet::cuda::launch(a.at, small, set_to{at.data(), 7});
    cudaStreamSynchronize(a.at);
    motet::cuda::launch(a.at, small, set_to{at.data(), 8});
    cudaMemcpy(&pageable, at.data(), 4, cudaMemcpyDeviceToHost);
    early += pageable == 7;
    cudaStreamSynchronize(a.at);
  }
  CHECK(early > 0);
  stream blocking(0);
  motet::cuda::launch(blocking.at, small, set_to{at.data(), 9});
  cudaMemcpy(&pageable, at.data(), 4, cudaMemcpyDeviceToHost);
  CHECK(pageable == 9);
  CHECK(cudaMemcpy(at.data(), &pageable, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(in_child([&] { cudaMemset(at.data(), 0, 8); }).says("8 bytes, of which 4 lie in the buffer"));
}

TEST_CASE("the host cannot touch memory of a GPU") {
  emulation::seed(1);
  const motet::cuda::buffer<float> at(1);
  CHECK(!in_child([&] { *at.data() = 1; }).well);
  stream a;
  motet::cuda::launch(a.at, small, set_to{at.data(), 1});
  cudaStreamSynchronize(a.at);
  CHECK(!in_child([&] { std::printf("%g", static_cast<double>(*at.data())); }).well);
  struct args {
    float* at;
    cudaError_t answer;
  } with{at.data(), cudaSuccess};
  // A function of the host in a stream may not write it either, and may not call CUDA.
  CHECK(!in_child([&] {
           cudaLaunchHostFunc(
               a.at, [](void* of) { *static_cast<args*>(of)->at = 2; }, &with);
           cudaStreamSynchronize(a.at);
         }).well);
  cudaLaunchHostFunc(
      a.at, [](void* of) { static_cast<args*>(of)->answer = cudaStreamQuery(nullptr); }, &with);
  cudaStreamSynchronize(a.at);
  CHECK(with.answer == cudaErrorNotPermitted);
  emulation::call(a.at, [&] { *at.data() = 4; });
  CHECK(value_at(at.data()) == 4);
}

TEST_CASE("new memory is poisoned, ends, and is not given twice") {
  const motet::cuda::buffer<float> at(3);
  const float found = value_at(at.data());
  CHECK(found != found);
  std::size_t before = 0, after = 0, all = 0;
  emulation::set_memory(1 << 20);
  cudaMemGetInfo(&before, &all);
  CHECK(all == 1 << 20);
  {
    const motet::cuda::buffer<std::byte> half(1 << 19);
    cudaMemGetInfo(&after, &all);
    CHECK(before - after == 1 << 19);
    CHECK_THROWS_WITH(motet::cuda::buffer<std::byte>(1 << 19), doctest::Contains("[MT-B12]"));
  }
  cudaMemGetInfo(&after, &all);
  CHECK(before == after);
  emulation::set_memory(std::size_t{4} << 30);
  void* none = &all;
  CHECK(cudaMalloc(&none, 0) == cudaSuccess);
  CHECK(none == nullptr);
  CHECK(cudaFree(&all) == cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(in_child(
            [] {
              void* lost = nullptr;
              cudaMalloc(&lost, 100);
            },
            true)
            .says("2 buffers of 112 bytes"));
}

struct recorded {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaError_t status = cudaSuccess;
  template <class Work>
  recorded(cudaStream_t on, Work&& work) {
    cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal);
    work();
    status = cudaStreamEndCapture(on, &graph);
    if (status == cudaSuccess) cudaGraphInstantiate(&exec, graph, 0);
  }
  ~recorded() {
    if (exec != nullptr) cudaGraphExecDestroy(exec);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
};

TEST_CASE("a graph replays what was recorded, with the arguments of then") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    emulation::seed(seed);
    const motet::cuda::buffer<float> at(2);
    stream a, b;
    event forked, joined;
    float value = 3;
    const recorded work(a.at, [&] {
      motet::cuda::launch(a.at, small, set_to{at.data(), value});
      cudaEventRecord(forked.at, a.at);
      cudaStreamWaitEvent(b.at, forked.at, 0);
      motet::cuda::launch(b.at, small, add_to{at.data(), at.data() + 1});
      cudaEventRecord(joined.at, b.at);
      cudaStreamWaitEvent(a.at, joined.at, 0);
      motet::cuda::launch(a.at, small, set_to{at.data(), 0});
    });
    CHECK(work.status == cudaSuccess);
    CHECK(emulation::nodes_of(work.graph) == 3);
    motet::cuda::launch(a.at, small, set_to{at.data() + 1, 10});
    value = 100;
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(work.exec, a.at) == cudaSuccess);
    CHECK(value_at(at.data() + 1) == 19);
    // Another recording of the same shape takes its place.
    const recorded next(a.at, [&] {
      for (const float each : {1.0f, 2.0f, 4.0f}) motet::cuda::launch(a.at, small, set_to{at.data(), each});
    });
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(work.exec, next.graph, &info) == cudaErrorGraphExecUpdateFailure);
    CHECK(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
  }
}

TEST_CASE("what breaks a recording") {
  emulation::seed(0);
  const motet::cuda::buffer<float> at(2);
  stream a, b;
  event outside;
  float host = 0;
  motet::cuda::launch(b.at, small, set_to{at.data(), 1});
  cudaEventRecord(outside.at, b.at);
  const auto end_of = [&](auto work) {
    const cudaError_t found = recorded(a.at, work).status;
    cudaStreamSynchronize(b.at);
    cudaGetLastError();
    return found;
  };
  const auto unsafe = cudaErrorStreamCaptureInvalidated;
  CHECK(end_of([&] { CHECK(cudaStreamSynchronize(a.at) == cudaErrorStreamCaptureUnsupported); }) == unsafe);
  CHECK(end_of([&] { CHECK(cudaStreamQuery(a.at) == cudaErrorStreamCaptureUnsupported); }) == unsafe);
  CHECK(end_of([&] { CHECK(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported); }) == unsafe);
  CHECK(end_of([&] { CHECK_THROWS(motet::cuda::buffer<float>(1)); }) == unsafe);
  CHECK(end_of([&] {
          CHECK(cudaMemcpyAsync(&host, at.data(), 4, cudaMemcpyDeviceToHost, a.at) ==
                cudaErrorStreamCaptureUnsupported);
        }) == unsafe);
  CHECK(end_of([&] { CHECK(cudaStreamWaitEvent(a.at, outside.at, 0) == cudaErrorStreamCaptureIsolation); }) ==
        unsafe);
  CHECK(end_of([&] { CHECK(cudaEventQuery(outside.at) == cudaErrorStreamCaptureUnsupported); }) == unsafe);
  CHECK(end_of([&] {
          std::thread([&] { CHECK(cudaEventQuery(outside.at) == cudaErrorStreamCaptureUnsupported); }).join();
        }) == unsafe);
  CHECK(end_of([&] {
          event forked;
          cudaEventRecord(forked.at, a.at);
          cudaStreamWaitEvent(b.at, forked.at, 0);
          motet::cuda::launch(b.at, small, set_to{at.data(), 2});
        }) == cudaErrorStreamCaptureUnjoined);
  CHECK(end_of([&] { motet::cuda::launch(a.at, small, set_to{at.data(), 2}); }) == cudaSuccess);
  // Nothing of all this ran.
  CHECK(value_at(at.data()) == 1);
}

TEST_CASE("errors are kept until asked for; a test may ask for one") {
  emulation::refuse("cudaMalloc", cudaErrorMemoryAllocation, 1);
  const motet::cuda::buffer<float> first(1);
  CHECK_THROWS_WITH(motet::cuda::buffer<float>(1), doctest::Contains("[MT-B12]"));
  const motet::cuda::buffer<float> third(1);
  CHECK(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x1234)) == cudaErrorInvalidResourceHandle);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("several threads wait for gated work of each other") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    emulation::seed(seed);
    const motet::cuda::buffer<float> at(2);
    std::vector<int> arrived(2);
    const auto rank = [&](int number) {
      stream own;
      for (int round = 1; round <= 20; ++round) {
        emulation::call(own.at, [&arrived, number] { ++arrived[static_cast<std::size_t>(number)]; });
        emulation::call(
            own.at, [] {}, [&arrived, round] { return arrived[0] >= round && arrived[1] >= round; });
        cudaStreamSynchronize(own.at);
      }
    };
    std::thread other(rank, 1);
    rank(0);
    other.join();
    CHECK(laws::off_by(arrived, std::vector<int>{20, 20}) == 0);
  }
}

template <class Function>
Function driver_call(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  REQUIRE(cudaGetDriverEntryPointByVersion(name, &found, 13000, cudaEnableDefault, &result) == cudaSuccess);
  REQUIRE(result == cudaDriverEntryPointSuccess);
  return reinterpret_cast<Function>(found);
}
#define DRIVER(name) driver_call<decltype(&name)>(#name)

TEST_CASE("shares of multiprocessors come in steps") {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion("cuNoSuch", &found, 13000, cudaEnableDefault, &result) ==
        cudaSuccess);
  CHECK(result == cudaDriverEntryPointSymbolNotFound);
  CHECK(found == nullptr);

  CUdevResource all;
  REQUIRE(DRIVER(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS);
  CHECK(all.sm.smCount == 132);
  struct row {
    unsigned groups, least, flags, got, size, rest;
  };
  const auto split = DRIVER(cuDevSmResourceSplitByCount);
  for (const row& each : {row{2, 72, 0, 1, 72, 60}, row{6, 11, 0, 6, 16, 36},
                          row{6, 11, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, 6, 12, 60},
                          row{2, 1, 0, 2, 8, 116}, row{16, 8, 0, 15, 8, 12}}) {
    std::vector<CUdevResource> groups(16);
    CUdevResource rest;
    unsigned count = each.groups;
    REQUIRE(split(groups.data(), &count, &all, &rest, each.flags, each.least) == CUDA_SUCCESS);
    CHECK(count == each.got);
    CHECK(groups[0].sm.smCount == each.size);
    CHECK(rest.sm.smCount == each.rest);
  }
  CUdevResource groups[16], rest, others[16];
  unsigned count = 16;  // one more than there are
  split(groups, &count, &all, &rest, 0, 8);
  unsigned again = 1;
  CHECK(split(others, &again, groups, nullptr, 0, 8) == CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  again = 16;
  split(others, &again, &all, nullptr, 0, 8);
  CUdevResourceDesc description = nullptr;
  CUdevResource mixed[2] = {groups[0], others[1]};
  CHECK(DRIVER(cuDevResourceGenerateDesc)(&description, mixed, 2) ==
        CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  CUdevResource parts[3] = {groups[0], groups[1], rest};
  REQUIRE(DRIVER(cuDevResourceGenerateDesc)(&description, parts, 3) == CUDA_SUCCESS);
  CUgreenCtx context = nullptr;
  CHECK(DRIVER(cuGreenCtxCreate)(&context, description, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(DRIVER(cuGreenCtxCreate)(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
  CUstream own = nullptr;
  CHECK(DRIVER(cuGreenCtxStreamCreate)(&own, context, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(DRIVER(cuGreenCtxStreamCreate)(&own, context, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  CHECK(emulation::processors_of(own) == 28);
  {
    const motet::cuda::buffer<float> at(1);
    motet::cuda::launch(own, small, set_to{at.data(), 6});
    CHECK(value_at(at.data()) == 6);
  }
  CHECK(in_child([&] { DRIVER(cuGreenCtxDestroy)(context); }).says("before its streams"));
  cudaStreamDestroy(own);
  CHECK(DRIVER(cuGreenCtxDestroy)(context) == CUDA_SUCCESS);
}

}  // namespace
}  // namespace motet
