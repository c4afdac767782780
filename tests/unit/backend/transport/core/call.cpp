// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/core/call.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;
using transports::call;
using transports::call_kind;

namespace {
// Keeps what it is asked for; a ticket is done when its end was looked at twice.
struct recorder : transports::group_calls<recorder> {
  struct looker {
    std::uint32_t looks = 0, pauses = 0;
    std::uint32_t observe() { return ++looks; }
    void pause(std::uint32_t) {
      if (++pauses > 5) throw std::runtime_error("too late");
    }
  };
  looker eyes;
  std::vector<call> calls;
  int withdrawals = 0;
  bool never = false;

  std::int32_t size() const { return 3; }
  looker& end() { return eyes; }
  ticket start(const call& it) {
    calls.push_back(it);
    return calls.size() - 1;
  }
  bool test(ticket) const { return !never && eyes.looks > 2; }
  void withdraw() { ++withdrawals; }
};
}  // namespace

TEST_CASE("calls become plain data") {
  recorder group;
  std::vector<double> numbers(6);
  std::vector<bf16> halves(6);
  std::vector<std::byte> bytes(16);
  const std::vector<motet::isize> counts = {1, 2, 3}, others = {4, 0, 2};
  CHECK(group.all_reduce_sum(numbers.data(), 6) == 0);
  CHECK(group.reduce_scatter_sum(static_cast<const bf16*>(halves.data()), halves.data(), counts) == 1);
  CHECK(group.all_gather(bytes.data(), bytes.data(), counts) == 2);
  CHECK(group.all_to_all(bytes.data(), counts, bytes.data() + 8, others) == 3);
  CHECK(group.broadcast(bytes.data(), 16, 2) == 4);
  CHECK(group.barrier() == 5);

  CHECK(group.calls[0].what == call_kind::all_reduce);
  CHECK(group.calls[0].count == 6);
  CHECK(group.calls[0].element == 8);
  const bool sums = group.calls[0].sum == &transports::sum_parts<double>;
  CHECK(sums);
  CHECK(group.calls[1].what == call_kind::reduce_scatter);
  CHECK(group.calls[1].count == 6);
  CHECK(group.calls[1].element == 2);
  CHECK(group.calls[1].to_parts.data() == counts.data());
  CHECK(group.calls[2].count == 6);
  const bool only_copies = group.calls[2].sum == nullptr;
  CHECK(only_copies);
  CHECK(group.calls[3].from_parts.data() == counts.data());
  CHECK(group.calls[3].to_parts.data() == others.data());
  CHECK(group.calls[4].root == 2);
  CHECK(group.calls[5].what == call_kind::barrier);

  CHECK(describe(group.calls[0]) == "all_reduce_sum of 6 x 8 bytes");
  CHECK(describe(group.calls[2]) == "all_gather of 6 bytes");
  CHECK(describe(group.calls[4]) == "broadcast of 16 bytes from member 2");
  CHECK(describe(group.calls[5]) == "barrier");
}

TEST_CASE("counts that do not fit the group never start") {
  recorder group;
  std::vector<std::byte> bytes(16);
  const std::vector<motet::isize> two = {1, 2}, negative = {1, -2, 3}, fine = {1, 1, 1};
  CHECK_THROWS_WITH_AS(group.all_gather(bytes.data(), bytes.data(), two),
                       doctest::Contains("2 counts for a group of 3"), error);
  CHECK_THROWS_WITH_AS(group.all_gather(bytes.data(), bytes.data(), negative),
                       doctest::Contains("a count is -2"), error);
  CHECK_THROWS_WITH_AS(group.all_gather(bytes.data(), bytes.data(), fine, two),
                       doctest::Contains("2 places for a group of 3"), error);
  CHECK_THROWS_AS(group.reduce_scatter_sum<float>(nullptr, nullptr, fine, two), error);
  CHECK_THROWS_AS(group.all_to_all(bytes.data(), two, bytes.data(), fine), error);
  CHECK_THROWS_AS(group.all_to_all(bytes.data(), fine, bytes.data(), two), error);
  CHECK_THROWS_WITH_AS(group.broadcast(bytes.data(), 4, 3), doctest::Contains("member 3 of a group of 3"),
                       error);
  CHECK_THROWS_AS(group.broadcast(bytes.data(), 4, -1), error);
  CHECK(group.calls.empty());
}

TEST_CASE("a wait looks, then sleeps, and takes its memory back when it is broken off") {
  recorder group;
  group.wait(group.barrier());
  CHECK(group.eyes.looks == 3);
  CHECK(group.eyes.pauses == 2);
  CHECK(group.withdrawals == 0);
  group.never = true;
  CHECK_THROWS_AS(group.wait(0), std::runtime_error);
  CHECK(group.withdrawals == 1);
}
