// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/engine.hpp>

#include <doctest/doctest.h>

#include "deviation.hpp"

#include <set>
#include <vector>

namespace motet {
namespace {

struct write_step {
  const std::uint64_t* step;
  std::uint64_t* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to = *step;
  }
};
struct write_number {
  double* to;
  double value;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() == 0) *to = value;
  }
};
template <class T>
std::vector<T> back(const T* from, std::size_t count) {
  std::vector<T> found(count);
  motet::cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  motet::cuda::check(cudaMemcpy(found.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return found;
}
// Runs the body under each order in which emulated streams may run.
template <class Body>
void in_all_orders(Body&& body) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
#if !defined(__CUDACC__)
    emulation::seed(seed);
#endif
    body();
  }
}

TEST_CASE("kernels read the step that was set before them, however late they run") {
  in_all_orders([] {
    motet::cuda::engine on;
    const motet::cuda::buffer<std::uint64_t> seen(300);
    for (std::uint64_t i = 0; i < 300; ++i) {
      on.set_step(7 * i);
      motet::cuda::launch(on.stream(), {1, 32, 0}, write_step{on.step(), seen.data() + i});
    }
    on.finish();
    std::vector<std::uint64_t> steps;
    for (std::uint64_t i = 0; i < 300; ++i) steps.push_back(7 * i);
    CHECK(laws::off_by(back(seen.data(), 300), steps) == 0);
  });
}

TEST_CASE("numbers that kernels make are added up there and read once they are known") {
  in_all_orders([] {
    motet::cuda::engine on;
    motet::cuda::real sum, none;
    CHECK(on.read(none) == 0);
    sum += none;
    CHECK(sum.at() == nullptr);
    std::set<double*> places;
    for (int i = 1; i <= 5; ++i) {
      const motet::cuda::real each = on.take_real();
      places.insert(each.at());
      motet::cuda::launch(on.stream(), {1, 32, 0}, write_number{each.at(), i * 0.25});
      sum += each;
      sum += none;
    }
    CHECK(places.size() == 5);
    CHECK(on.read(sum) == 3.75);
    CHECK(on.read(sum) == 3.75);
  });
}

TEST_CASE("offsets of samples have a copy that follows what they are") {
  in_all_orders([] {
    motet::cuda::engine on;
    std::vector<isize> offsets{0, 2, 2, 7};
    CHECK(on.offsets({3, 5, nullptr}) == nullptr);
    const isize* const there = on.offsets({3, 1, offsets.data()});
    CHECK(on.offsets({3, 1, offsets.data()}) == there);
    offsets = {1, 1, 1, 1};  // the copy was made when it was asked for
    CHECK(laws::off_by(back(there, 4), std::vector<isize>{0, 2, 2, 7}) == 0);
    on.forget_copies();
    CHECK(laws::off_by(back(on.offsets({3, 1, offsets.data()}), 4), offsets) == 0);
    // More than a first room holds.
    std::vector<std::vector<int>> many(40, std::vector<int>(20000));
    std::vector<const int*> copies;
    for (std::size_t i = 0; i < many.size(); ++i) many[i].assign(20000, static_cast<int>(i));
    for (const auto& each : many) copies.push_back(on.copied(each.data(), 20000));
    for (std::size_t i = 0; i < many.size(); ++i) CHECK(laws::off_by(back(copies[i], 20000), many[i]) == 0);
  });
}

struct counted_part {
  static inline int made = 0, gone = 0;
  motet::cuda::engine* on;
  explicit counted_part(motet::cuda::engine& of) : on(&of) { ++made; }
  ~counted_part() { ++gone; }
};
struct other_part {
  explicit other_part(motet::cuda::engine&) {}
};
TEST_CASE("parts are made once, and go with the engine; a stream of another stays") {
  cudaStream_t stream = nullptr;
  motet::cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  {
    motet::cuda::engine on(stream);
    CHECK(on.stream() == stream);
    auto& part = on.part<counted_part>();
    on.part<other_part>();
    CHECK(&on.part<counted_part>() == &part);
    CHECK(part.on == &on);
    CHECK(counted_part::made == 1);
    CHECK(counted_part::gone == 0);
  }
  CHECK(counted_part::gone == 1);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("an engine knows its GPU and may be told of a share") {
  motet::cuda::engine on;
  CHECK(on.gpu() == 0);
  CHECK(on.processors() > 0);
  on.set_processors(24);
  CHECK(on.processors() == 24);
}

TEST_CASE("who waits for the GPU may look at something else meanwhile") {
  in_all_orders([] {
    motet::cuda::engine on;
    const motet::cuda::buffer<double> to(1);
    int looked = 0;
    on.watch_waits([&] { ++looked; });
    for (int i = 0; i < 50; ++i)
      motet::cuda::launch(on.stream(), {1, 32, 0}, write_number{to.data(), i * 1.0});
    on.finish();
    CHECK(back(to.data(), 1)[0] == 49);
    CHECK(cudaGetLastError() == cudaSuccess);
    on.watch_waits([] { throw 7; });
    for (int i = 0; i < 50; ++i)
      motet::cuda::launch(on.stream(), {1, 32, 0}, write_number{to.data(), i * 1.0});
    try {
      on.finish();
    } catch (int) {
    }
    on.watch_waits({});
    on.finish();
    (void)looked;
    motet::cuda::launch(on.stream(), {1, 32, 0}, write_number{to.data(), 1.0});
  });
}

}  // namespace
}  // namespace motet
