// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/state/boundary.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {
// A ring asks this of a transport.
struct fake_end {
  std::set<int> taken;
  struct message {
    int tag, peer;
    const void* rows;
    motet::isize bytes;
  };
  std::vector<message> messages;
  bool sent(std::int32_t tag) const { return taken.count(tag) != 0; }
  void send(std::int32_t tag, std::int32_t peer, const std::byte* rows, motet::isize bytes) {
    messages.push_back({tag, peer, rows, bytes});
  }
};
bool is_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(arena::alignment) == 0;
}
}  // namespace

TEST_CASE("a buffer is a whole number of cache lines") {
  CHECK(boundary_bytes<float>(3, 5) == 64);
  CHECK(boundary_bytes<float>(4, 5) == 128);
  CHECK(boundary_bytes<double>(0, 5) == 64);
}

TEST_CASE("a microbatch holds its buffer until it gives it back") {
  boundary_pool<float> pool;
  pool.prepare(2, 3, 7, 10);
  float* const a = pool.take(4);
  float* const b = pool.take(9);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  CHECK(is_aligned(a));
  CHECK(is_aligned(b));
  CHECK(std::abs(a - b) >= 3 * 7);
  CHECK(pool.take(4) == a);  // asked again, as a receive does
  CHECK(pool.take(1) == nullptr);
  CHECK(pool.of(4) == a);
  CHECK(pool.of(9) == b);
  pool.give(4);
  CHECK(pool.take(1) == a);
  CHECK(pool.of(9) == b);
  std::fill_n(a, 21, 1.0f);
  std::fill_n(b, 21, 2.0f);
  CHECK(a[20] == 1.0f);
}

TEST_CASE("where rows overtake each other, a microbatch takes a buffer in its turn") {
  boundary_pool<float> pool;
  list<std::int32_t> turns;
  for (const int m : {2, 0, 1}) turns.push(m);
  pool.prepare(2, 3, 7, 3, turns);
  CHECK(pool.take(1) == nullptr);  // the third, which would leave the others none
  float* const first = pool.take(2);
  float* const second = pool.take(0);
  CHECK(first != nullptr);
  CHECK(second != nullptr);
  CHECK(pool.take(1) == nullptr);
  pool.give(0);
  CHECK(pool.take(1) == second);
  pool.give(1);
  pool.give(2);
  pool.begin_step();
  CHECK(pool.take(1) == nullptr);
}

TEST_CASE(
    "buffers are as long as the longest rows of a step that lie there, and each microbatch has its own") {
  boundary_pool<float> pool;
  // 0 and 2 have the first one, 1 the second, and nothing comes for 3.
  pool.prepare(2, {{0, 0}, {1, 0}, {0, 1}, {}});
  std::vector<std::byte> memory(1024);
  for (const std::vector<motet::isize>& rows : {std::vector<motet::isize>{16, 48, 32}, {48, 1, 0}}) {
    arena dry;
    const auto numbers = [&](std::int32_t m) { return rows[static_cast<std::size_t>(m)]; };
    pool.lay_out(dry, numbers);
    CHECK(dry.mark() == (rows[0] == 16 ? 128 + 192 : 192 + 64));
    arena room(memory.data(), dry.mark());
    pool.lay_out(room, numbers);
    pool.begin_step();
    CHECK(pool.take(2) == nullptr);  // that of another, before its turn
    float* const first = pool.take(0);
    CHECK(reinterpret_cast<std::byte*>(first) == memory.data());
    CHECK(pool.take(0) == first);
    CHECK(pool.take(3) == nullptr);
    float* const second = pool.take(1);
    CHECK(second - first == std::max(rows[0], rows[2]));
    pool.give(1);
    CHECK(pool.take(2) == nullptr);  // it waits for its own buffer
    pool.give(0);
    CHECK(pool.take(2) == first);
    pool.give(2);
  }
  boundary_ring<float> ring;
  ring.prepare(2, 1);
  arena room(memory.data(), 1024);
  ring.lay_out(room, 17);
  fake_end end;
  float* const one = ring.take(0, end);
  CHECK(ring.take(1, end) - one == 32);
  CHECK(room.mark() == 256);
}

TEST_CASE("rows that leave in several messages stay until all of them were taken") {
  boundary_ring<float> ring;
  ring.prepare(1, 2, 16, 2);
  fake_end end;
  float* const rows = ring.take(3, end, 2);
  REQUIRE(rows != nullptr);
  ring.send(3, end, 30, 1, 64, 0);
  CHECK(ring.take(4, end) == nullptr);
  ring.send(3, end, 31, 2, 32, 64);
  REQUIRE(end.messages.size() == 2);
  CHECK(end.messages[0].rows == rows);
  CHECK(end.messages[1].rows == rows + 16);
  end.taken = {30};
  CHECK(ring.take(4, end) == nullptr);
  end.taken = {30, 31};
  CHECK(ring.take(4, end, 0) == rows);
  CHECK(ring.take(5, end) == rows);  // nothing left it by a message
}

TEST_CASE("a pool without buffers has none to give") {
  boundary_pool<double> pool;
  pool.prepare(0, 3, 7, 2);
  CHECK(pool.take(0) == nullptr);
}

TEST_CASE("a ring is written in turn, and waits for the message that was there before") {
  boundary_ring<float> ring;
  ring.prepare(2, 2, 16);
  fake_end end;
  float* const a = ring.take(5, end);
  float* const b = ring.take(6, end);
  REQUIRE(a != nullptr);
  REQUIRE(b != nullptr);
  CHECK(a != b);
  CHECK(is_aligned(b));
  CHECK(ring.take(7, end) == nullptr);  // not even sent
  ring.send(5, end, 50, 1, 33);
  CHECK(ring.take(7, end) == nullptr);  // not taken
  ring.send(6, end, 60, 2, 44);
  REQUIRE(end.messages.size() == 2);
  CHECK(end.messages[0].tag == 50);
  CHECK(end.messages[0].peer == 1);
  CHECK(end.messages[0].rows == a);
  CHECK(end.messages[0].bytes == 33);
  CHECK(end.messages[1].rows == b);
  end.taken.insert(60);
  CHECK(ring.take(7, end) == nullptr);  // it is the other's turn
  end.taken.insert(50);
  CHECK(ring.take(7, end) == a);
  CHECK(ring.take(8, end) == b);
  CHECK(ring.take(9, end) == nullptr);
  // Both are free in the next step, whose tags are the same.
  ring.send(7, end, 50, 1, 1);
  ring.send(8, end, 60, 1, 1);
  ring.clear();
  CHECK(ring.take(5, end) == a);
}
