// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

#include <cuda_run.hpp>
#include <shared_gpu_ranks.hpp>

#include "deviation.hpp"
#include "on_threads.hpp"

using namespace motet;

static_assert(transport<laws::mirrored_end>);

TEST_CASE("threads of one process obey the laws of transports") {
  laws::transport_laws(laws::on_threads<shared_gpu::world, laws::mirrored_end>{});
}

namespace {

struct add {
  int* to;
  int by;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() < 2) to[self.number()] += by;
  }
};
// Some work that takes its time before the numbers change.
void change_late(shared_gpu::endpoint& end, const laws::flat_on_gpu<int>& numbers, int by) {
  for (int i = 0; i < 200; ++i)
    cuda::launch(end.on().stream(), {1, 32, 0}, add{numbers.data(), i % 2 == 0 ? 7 : -7});
  cuda::launch(end.on().stream(), {1, 32, 0}, add{numbers.data(), by});
}
const std::byte* flat_bytes(const laws::flat_on_gpu<int>& of) {
  return reinterpret_cast<const std::byte*>(of.data());
}
std::byte* room_in(const laws::flat_on_gpu<int>& of) { return reinterpret_cast<std::byte*>(of.data()); }

constexpr byte_range halves[2] = {{0, 4}, {4, 4}};
const laws::meeting_list both = {{0, 1}};

}  // namespace

TEST_CASE("what is shown while it is still computed arrives as it becomes") {
  shared_gpu::world all(2, 0, both);
  shared_gpu::endpoint a(all, 0), b(all, 1);
  for (const bool late : {false, true}) {  // which of them
    a.begin_step();
    b.begin_step();
    const laws::flat_on_gpu<int> from_a({1, 2}), from_b({3, 4}), to_a({0, 0}), to_b({0, 0});
    change_late(late ? b : a, late ? from_b : from_a, 10);
    const auto meet = [&](shared_gpu::endpoint& end, std::int32_t member, const auto& from, const auto& to) {
      return end.exchange(0, member, flat_bytes(from), halves, room_in(to), halves);
    };
    CHECK_FALSE(meet(a, 0, from_a, to_a));
    CHECK(meet(b, 1, from_b, to_b));
    CHECK(meet(a, 0, from_a, to_a));
    // The rank that is not late ends first.
    (late ? a : b).end_step();
    (late ? b : a).end_step();
    CHECK(laws::off_by(to_a.back(), (late ? std::vector<int>{1, 13} : std::vector<int>{11, 3})) == 0);
    CHECK(laws::off_by(to_b.back(), (late ? std::vector<int>{2, 14} : std::vector<int>{12, 4})) == 0);
  }
}

TEST_CASE("so does what is fetched from one of them") {
  shared_gpu::world all(2, 0, both);
  shared_gpu::endpoint a(all, 0), b(all, 1);
  a.begin_step();
  b.begin_step();
  const laws::flat_on_gpu<int> from_a({1, 2}), from_b({3, 4}), to_b({0, 0});
  change_late(a, from_a, 10);
  constexpr byte_range whole[2] = {{0, 8}, {0, 8}};
  a.fetch(0, 0, flat_bytes(from_a), whole, 0, nullptr, 0);
  CHECK(b.fetch(0, 1, flat_bytes(from_b), whole, 0, room_in(to_b), 8));
  b.end_step();
  CHECK(laws::off_by(to_b.back(), std::vector<int>{11, 12}) == 0);
  a.end_step();
}

TEST_CASE("each rank may have a share of its own size") {
  const auto sizes = [](const std::vector<int>& given) {
    shared_gpu::world all(2, 0, both);
    all.share(given);
    shared_gpu::endpoint a(all, 0), b(all, 1);
    return std::vector<int>{a.on().processors(), b.on().processors()};
  };
  CHECK(laws::off_by(sizes({96, 32}), std::vector<int>{96, 32}) == 0);
  CHECK(laws::off_by(sizes({32, 96}), std::vector<int>{32, 96}) == 0);
  CHECK(laws::off_by(sizes({24}), std::vector<int>{24, 24}) == 0);
  const std::vector<int> whole = sizes({});
  CHECK(whole[0] > 96);
  CHECK(whole[0] == whole[1]);
  CHECK(sizes({0}) == whole);

  std::string told;
  try {
    sizes({32, 32, 32});
  } catch (const error& problem) {
    told = problem.what();
  }
  CHECK(told.find("MT-B15") != std::string::npos);
  CHECK(told.find("3 shares were given, there are 2 ranks") != std::string::npos);
}

namespace {

struct read_both {
  int* to;
  const int* from;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    if (self.number() < 2) to[self.number()] += from[self.number()];
  }
};
// One lane reads rows late; another one writes them again, behind that or without waiting. What was read.
std::vector<int> read_while_written(std::uint64_t seed, bool waits) {
#if !defined(__CUDACC__)
  emulation::seed(seed);
#endif
  shared_gpu::world all(1, 0, laws::meeting_list{});
  shared_gpu::endpoint end(all, 0);
  const laws::flat_on_gpu<int> rows({1, 2}), seen({0, 0});
  end.lanes().of(1);
  change_late(end, seen, 0);
  cuda::launch(end.on().stream(), {1, 32, 0}, read_both{seen.data(), rows.data()});
  end.freed(rows.data());
  end.enter(1);
  if (waits) end.follow_freed(rows.data());
  cuda::launch(end.on().stream(), {1, 32, 0}, add{rows.data(), 10});
  end.enter(0);
  end.meet_lanes();
  end.on().finish();
  CHECK(laws::off_by(rows.back(), std::vector<int>{11, 12}) == 0);
  return seen.back();
}

}  // namespace

TEST_CASE("rows that one lane reads are written again by another behind that") {
  bool otherwise = false;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    CHECK(laws::off_by(read_while_written(seed, true), std::vector<int>{1, 2}) == 0);
    otherwise = otherwise || laws::off_by(read_while_written(seed, false), std::vector<int>{1, 2}) != 0;
  }
#if !defined(__CUDACC__)
  CHECK(otherwise);  // without the event it is read too late
#endif
}
