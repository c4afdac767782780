// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"
#include "support/cuda/in_child.hpp"

#include <motet/backend/cuda/device/memory.hpp>
#include <motet/backend/cuda/kernels/warp_matrix.hpp>

#include "cuda_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

// Of the emulation itself: what it must not let pass.

namespace motet {
namespace {

using laws::in_child;

struct turned {
  static constexpr int most_threads = 256;
  float* to;
  bool waits;
  template <class Thread>
  void operator()(Thread& self) const {
    float* const at = self.template shared<float>(self.threads());
    at[self.thread()] = static_cast<float>(self.thread());
    if (waits) self.barrier();
    to[self.number()] = at[self.threads() - 1 - self.thread()];
  }
};
// Some threads leave out a barrier, or a shuffle.
struct uneven {
  int kind;
  template <class Thread>
  void operator()(Thread& self) const {
    if (kind == 0 && self.thread() < 40) self.barrier();
    if (kind == 1 && self.lane() != 3) self.shuffle(1.0f, 0);
    if (kind == 2 && self.warp() == 0) self.barrier();
    if (kind == 2 && self.warp() != 0) self.warp_barrier();
    if (kind == 3 && self.lane() < 16) self.shuffle(1.0f, 0);
    if (kind == 3 && self.lane() >= 16) self.shuffle(1.0, 0);
    if (kind == 4) self.template shared<float>(self.thread() == 5 ? 8 : 4);
    if (kind == 5) self.template shared<float>(1000);
    if (kind == 6) {
      // The thread writes within what it was given, and then not.
      auto* const at = self.template shared<unsigned char>(64);
      if (self.thread() == 0) at[64] = 1;
    }
  }
};
struct numbered {
  long* order;
  unsigned long long* turn;
  template <class Thread>
  void operator()(Thread& self) const {
    order[self.atomic_add(turn, 1ull)] = self.number();
    self.barrier();
    order[self.atomic_add(turn, 1ull)] = self.number();
  }
};
struct follows {
  const float* from;
  float* to;
  template <class Thread>
  void operator()(Thread& self) const {
    if (self.number() == 0) *to = *from;
  }
};
// Addresses in a base, in private, in arrays of either kind, and beside bytes that are no member's.
class hides {
 public:
  hides() = default;
  explicit hides(const float* at) : at_(at) {}

 private:
  const float* at_ = nullptr;
};
struct scattered : hides {
  bool first = true;
  alignas(16) const float* each[2][2] = {};
  std::array<hides, 2> hidden = {};
  hides shown[2] = {};
  template <class Thread>
  void operator()(Thread&) const {}
};

// Two groups of a number each come in the background; `open` groups are not waited for, and what is there is
// written.
struct fetched {
  const float* from;
  float* to;
  int open;
  template <class Thread>
  void operator()(Thread& self) const {
    float* const at = self.template shared<float>(2 * self.threads());
    for (int group = 0; group < 2; ++group) {
      motet::cuda::copy_in_background<4>(self, at + group * self.threads() + self.thread(), from + group,
                                         true);
      motet::cuda::close_copies(self);
    }
    if (open == 0) motet::cuda::await_copies<0>(self);
    if (open == 1) motet::cuda::await_copies<1>(self);
    self.barrier();
    for (int group = 0; group < 2; ++group)
      to[group * self.threads() + self.thread()] = at[(group + 1) * self.threads() - 1 - self.thread()];
    self.barrier();
    if (open == 1) motet::cuda::await_copies<0>(self);
  }
};

// Gives instructions that name the memory they are for a place in another one, or between what they move at
// once.
struct misplaced {
  float *from, *to;
  int kind;
  template <class Thread>
  void operator()(Thread& self) const {
    float* const own = self.template shared<float>(4 * self.threads()) + 4 * self.thread();
    float *const there = to + 4 * self.thread(), *const wanted = from + 4 * self.thread();
    for (int i = 0; i < 4; ++i) own[i] = 0;
    const auto copy = [&](float* into, const float* out_of, bool brings) {
      motet::cuda::copy_in_background<16>(self, into, out_of, brings);
      motet::cuda::close_copies(self);
      motet::cuda::await_copies<0>(self);
    };
    std::uint32_t found[4] = {};
    motet::cuda::pack<float> values{{1, 2, 3, 4}};
    if (kind == 0) motet::cuda::store_pack(there, values);
    if (kind == 1) motet::cuda::store_pack(own, values);
    if (kind == 2) motet::cuda::store_pack(values.of, values);
    if (kind == 3) motet::cuda::store_pack(there + 1, values);
    if (kind == 4) copy(own, wanted, true);
    if (kind == 5) copy(there, wanted, true);
    if (kind == 6) copy(own, own, true);
    if (kind == 7) copy(own, nullptr, false);
    if (kind == 8) copy(own, wanted + 2, true);
    const auto row = [](float* at) { return reinterpret_cast<const motet::bf16*>(at); };
    if (kind == 9) motet::cuda::load_tiles(self, found, row(own));
    if (kind == 10) motet::cuda::load_tiles(self, found, row(wanted));
    if (kind == 11) motet::cuda::load_tiles_across(self, found, row(wanted));
    if (kind == 12) motet::cuda::load_tiles_across(self, found, row(values.of));
  }
};

void run(const auto& kernel, const motet::cuda::grid& shape) {
  motet::cuda::launch(laws::gpu().stream(), shape, kernel);
  laws::gpu().finish();
}

TEST_CASE("a missing barrier shows in what a kernel computes") {
  for (const int threads : {32, 256})
    for (const bool waits : {true, false})
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        emulation::seed(seed);
        const laws::flat_on_gpu<float> to(3 * threads);
        run(turned{to.data(), waits}, {3, threads, 4 * threads});
        bool right = true;
        const auto found = to.back();
        for (int i = 0; i < 3 * threads; ++i)
          right =
              right && found[static_cast<std::size_t>(i)] == static_cast<float>(threads - 1 - i % threads);
        CHECK(right == waits);
      }
}

TEST_CASE("copies in the background come when they are awaited, and not before") {
  const laws::flat_on_gpu<float> from({3, 4}), to(64);
  run(fetched{from.data(), to.data(), 0}, {1, 32, 256});
  CHECK(to.back() == [] {
    std::vector<float> all(64, 3);
    std::fill(all.begin() + 32, all.end(), 4.0f);
    return all;
  }());
  run(fetched{from.data(), to.data(), 1}, {1, 32, 256});
  const auto early = to.back();
  CHECK(std::all_of(early.begin(), early.begin() + 32, [](float each) { return each == 3; }));
  CHECK(std::none_of(early.begin() + 32, early.end(), [](float each) { return each == 4; }));
  CHECK(laws::in_child([&] {
          run(fetched{from.data(), to.data(), 2}, {1, 32, 256});
        }).says("ends while copies into shared memory are under way"));
}

TEST_CASE("instructions that name a kind of memory are given no other") {
  const laws::flat_on_gpu<float> from(136), to(136);
  const auto end_of = [&](int kind) {
    return in_child([&] { run(misplaced{from.data(), to.data(), kind}, {1, 32, 512}); });
  };
  for (const int well : {0, 4, 7, 9}) CHECK(end_of(well).well);
  for (const int kind : {1, 6})
    CHECK(end_of(kind).says("an instruction for the GPU's memory is given the block's shared memory"));
  CHECK(end_of(2).says("an instruction for the GPU's memory is given a thread's own memory"));
  for (const int kind : {5, 10, 11, 12})
    CHECK(end_of(kind).says("an instruction for the block's shared memory is given other memory"));
  for (const int kind : {3, 8})
    CHECK(end_of(kind).says("moves 16 bytes at once is given a place that is no multiple of them"));
}

TEST_CASE("what not all threads reach, ends the program") {
  const auto end_of = [](int kind) { return in_child([&] { run(uneven{kind}, {2, 64, 64}); }); };
  CHECK(
      end_of(0).says("not all threads reach a barrier or shuffle: 40 threads from 0 on: each waits at a "
                     "barrier; 24 threads from 40 on: each has finished"));
  CHECK(end_of(1).says("not all threads reach"));
  CHECK(end_of(2).says("not all threads reach"));
  CHECK(end_of(3).says("meet at different shuffles"));
  CHECK(end_of(4).says("bytes of shared memory where another took"));
  CHECK(end_of(5).says("takes 4000 bytes of shared memory, launched with 64"));
  const auto behind = end_of(6);
  CHECK(!behind.well);
  CHECK((behind.says("wrote behind its shared memory") || behind.says("AddressSanitizer")));
  CHECK(end_of(7).well);
}

TEST_CASE("threads and blocks run in many orders, each of them once") {
  const isize all = 4 * 96;
  std::set<std::vector<long>> orders;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    emulation::seed(seed);
    const laws::flat_on_gpu<long> order(2 * all);
    const laws::flat_on_gpu<unsigned long long> turn({0ull});
    run(numbered{order.data(), turn.data()}, {4, 96, 0});
    const auto found = order.back();
    std::vector<int> times(static_cast<std::size_t>(all));
    for (const long each : found) ++times[static_cast<std::size_t>(each)];
    for (const int each : times) CHECK(each == 2);
    orders.insert(found);
  }
  CHECK(orders.size() > 4);
}

TEST_CASE("kernels may not follow pointers to pageable or freed memory") {
  const laws::flat_on_gpu<float> to(1);
  motet::cuda::pinned_buffer<float> pinned(1);
  pinned[0] = 3;
  run(follows{pinned.data(), to.data()}, {1, 32, 0});
  CHECK(to.back()[0] == 3);
  const std::vector<float> pageable(1000, 1.0f);
  CHECK(in_child([&] {
          run(follows{pageable.data(), to.data()}, {1, 32, 0});
        }).says("argument at byte 0 points to pageable host memory"));
  float on_stack = 1;
  CHECK(in_child([&] {
          run(follows{to.data(), &on_stack}, {1, 32, 0});
        }).says("argument at byte 8 points to pageable host memory"));
  CHECK(in_child([&] {
          const float* gone = nullptr;
          gone = motet::cuda::buffer<float>(8).data();
          run(follows{gone, to.data()}, {1, 32, 0});
        }).says("memory that was freed"));
}

TEST_CASE("addresses are found wherever a kernel holds them, and not between its members") {
  static_assert(sizeof(scattered) == 80);
  const float on_stack = 1;
  const hides address(&on_stack);
  alignas(16) std::array<hides, 10> bytes;
  for (const unsigned at : {0u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
    bytes.fill(hides());
    bytes[at] = address;
    scattered kernel;
    std::memcpy(static_cast<void*>(&kernel), bytes.data(), sizeof kernel);
    const std::string where = "argument at byte " + std::to_string(8 * at) + " points to pageable";
    CAPTURE(where);
    CHECK(in_child([&] { run(kernel, {1, 32, 0}); }).says(where.c_str()));
  }
  bytes.fill(hides());
  bytes[1] = address;
  scattered kernel;
  std::memcpy(static_cast<void*>(&kernel), bytes.data(), sizeof kernel);
  kernel.first = true;
  run(kernel, {1, 32, 0});
}

TEST_CASE("launches beyond what a GPU allows are refused") {
  auto& gpu = laws::gpu();
  const auto tries = [&](const motet::cuda::grid& shape) {
    motet::cuda::launch(gpu.stream(), shape, uneven{7});
  };
  tries({0, 32, 0});
  CHECK_THROWS_WITH(tries({1, 2048, 0}), doctest::Contains("cudaErrorInvalidConfiguration"));
  CHECK_THROWS_WITH(tries({isize{1} << 31, 32, 0}), doctest::Contains("cudaErrorInvalidConfiguration"));
  CHECK_THROWS_WITH(tries({1, 32, 228 * 1024}), doctest::Contains("cudaErrorInvalidValue"));
  CHECK_THROWS_WITH(motet::cuda::launch(gpu.stream(), {1, 512, 4 * 512}, turned{nullptr, true}),
                    doctest::Contains("cudaErrorLaunchOutOfResources"));
  CHECK(in_child([&] { tries({1, 48, 0}); }).says("48 threads are no whole warps"));
  tries({1, 32, 227 * 1024});
  gpu.finish();
}

}  // namespace
}  // namespace motet
