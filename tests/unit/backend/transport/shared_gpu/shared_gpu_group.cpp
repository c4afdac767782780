// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include "support/cuda/emulate.hpp"

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>

#include <doctest/doctest.h>

#include <collective_laws.hpp>
#include <mutex>
#include <rank_threads.hpp>
#include <shared_gpu_ranks.hpp>

#include "deviation.hpp"

using namespace motet;

namespace {
std::vector<std::vector<std::int32_t>> one_of_all(std::int32_t ranks) {
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < ranks; ++r) all.push_back(r);
  return {all};
}
// Work that the stream is given from now on begins when the number is so large; on a real GPU when it likes.
void hold_back([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] const std::atomic<int>& number,
               [[maybe_unused]] int enough) {
#if !defined(__CUDACC__)
  emulation::call(
      stream, [] {}, [&number, enough] { return number.load() >= enough; });
#endif
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("the laws of collectives hold between ranks that share a GPU") {
  for (const std::int32_t ranks : {1, 2, 3}) {
    CAPTURE(ranks);
    shared_gpu::world world(ranks, 0, {});
    const auto lists = one_of_all(ranks);
    shared_gpu::group_set set(world, lists);
    std::mutex mutex;
    std::vector<std::string> wrong;
    CHECK(laws::thrown_by_ranks(world, [&](std::int32_t r) {
            shared_gpu::endpoint end(world, r);
            laws::mirrored_group own(set, 0, end);
            const auto found = laws::check_collectives(own, 7);
            const std::lock_guard lock(mutex);
            wrong.insert(wrong.end(), found.begin(), found.end());
          }) == "");
    for (const std::string& each : wrong) FAIL_CHECK(each);
  }
}

TEST_CASE("of a group beside what is computed, that waits for nothing until it sees the calls") {
  shared_gpu::world world(2, 0, {});
  const auto lists = one_of_all(2);
  shared_gpu::group_set set(world, lists);
  std::atomic<int> ready{0}, wrong{0};
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t r) {
          shared_gpu::endpoint end(world, r);
          laws::shared_gpu_site place(end);
          laws::shared_gpu_site::numbers<float> numbers(place, 999, 0.0f), mine(place, 10, 1.0f),
              result(place, 999, 0.0f);
          shared_gpu::group group(set, 0, end);
          group.go_beside();
          mine.put();
          numbers.seen().assign(999, static_cast<float>(r + 1));
          numbers.put();
          float sum = 3;
          for (int turn = 0; turn < 6; ++turn, sum *= 4) {
            const bool held = turn % 2 == 0;
            if (held) hold_back(end.beside(), ready, turn + 2);
            group.wait(group.all_reduce_sum(numbers.data(), 999));
            if (held) {
              mine.get();  // there, although nothing is summed yet
              if (mine.seen()[9] != 1) ++wrong;
              ++ready;
            }
            group.see();
            copy(place.ctx, static_cast<const float*>(numbers.data()), result.data(), 999);
            accumulate(place.ctx, static_cast<const float*>(result.data()), numbers.data(), 999);
            if (turn == 3) result.get();
            for (const float each : result.seen())
              if (turn == 3 && each != sum) ++wrong;
          }
          numbers.get();
          for (const float each : numbers.seen())
            if (each != sum / 2) ++wrong;
          end.end_step();
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("what is computed next sees what a call brought, with no wait of the host") {
  shared_gpu::world world(3, 0, {});
  const auto lists = one_of_all(3);
  shared_gpu::group_set set(world, lists);
  std::mutex mutex;
  std::vector<float> seen;
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t r) {
          shared_gpu::endpoint end(world, r);
          laws::shared_gpu_site place(end);
          laws::shared_gpu_site::numbers<float> numbers(place, 999, static_cast<float>(r + 1));
          numbers.put();
          {
            shared_gpu::group one(set, 0, end);
            const any_group group(one);
            for (int turn = 0; turn < 9; ++turn) {
              group.all_reduce_sum(numbers.data(), 999);  // each is then the sum of all
              if (r == turn % 3)
                accumulate(place.ctx, static_cast<const float*>(numbers.data()), numbers.data(), 999);
            }
          }
          numbers.get();
          for (const float each : numbers.seen())
            if (each != numbers.seen()[0]) throw std::runtime_error("numbers differ");
          const std::lock_guard lock(mutex);
          seen.push_back(numbers.seen()[0]);
        }) == "");
  // 1 + 2 + 3, and then eight times four thirds of three times as much.
  float sum = 6;
  for (int turn = 1; turn < 9; ++turn) sum *= 4;
  std::sort(seen.begin(), seen.end());
  CHECK(laws::off_by(seen, std::vector<float>{sum, sum, 2 * sum}) == 0);
}

TEST_CASE("members that do not do the same are told") {
  shared_gpu::world world(2, 0, {});
  const auto lists = one_of_all(2);
  shared_gpu::group_set set(world, lists);
  const std::string text = laws::thrown_by_ranks(world, [&](std::int32_t r) {
    shared_gpu::endpoint end(world, r);
    shared_gpu::group own(set, 0, end);
    const motet::cuda::buffer<float> numbers(64);
    own.wait(own.all_reduce_sum(numbers.data(), r == 0 ? 64 : 32));
  });
  CHECK(has(text, "MT-B04"));
  CHECK(has(text, "all_reduce_sum of 64 x 4 bytes"));
}
