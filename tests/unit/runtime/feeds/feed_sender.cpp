// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/local/local.hpp>
#include <motet/runtime/feeds/feed_sender.hpp>

#include <doctest/doctest.h>
#include <sites.hpp>

#include <cstring>

using namespace motet;

namespace {

// Writes down what is sent; a test says when it was taken. All else is that of a rank alone.
struct record : local::endpoint {
  struct letter {
    std::int32_t tag, peer;
    const std::byte* from;
    motet::index bytes;
    bool taken = false;
  };
  explicit record(local::world& world) : local::endpoint(world, 0) {}
  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, motet::index bytes) {
    letters.push_back({tag, peer, from, bytes});
  }
  bool sent(std::int32_t tag) const {
    for (const letter& each : letters)
      if (each.tag == tag) return each.taken;
    return false;
  }
  bool receive(std::int32_t, std::int32_t, std::byte*, motet::index) {
    ++bell;
    return true;
  }
  std::vector<letter> letters;
  int bell = 0;
};
static_assert(transport<record>);

std::vector<float> counted(std::size_t size) {
  std::vector<float> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<float>(i);
  return all;
}
matrix<const float> rows_of(const std::vector<float>& all, motet::index width) {
  const auto rows = static_cast<motet::index>(all.size()) / width;
  return {all.data(), rows, width, width};
}

}  // namespace

TEST_CASE("whole samples leave from where they lie, shares of them packed") {
  local::world world(1, 0, {});
  record by(world);
  const sequences all{4, 2, nullptr};
  const std::vector<float> rows = counted(8 * 4);
  const feed_edge plain({mesh::from(0, {}), 0, 1, 1}, {mesh::from(1, {1, 2, 1, 1}), 0, 1, 1}, 4, 4);
  const feed_seat seat(plain, true, 0);
  feed_sender<float, record, cpu::context> sender(seat, by, 10);
  laws::host_site host;
  sender.prepare(host.ctx, all, 1);
  sender.begin_step(all);
  CHECK(sender.send(0, rows_of(rows, 4)));
  REQUIRE(by.letters.size() == 2);
  CHECK(by.letters[1].tag == 11);
  CHECK(by.letters[1].peer == 2);
  CHECK(by.letters[1].from == reinterpret_cast<const std::byte*>(rows.data() + 16));
  CHECK(by.letters[1].bytes == 4 * 4 * 4);
  CHECK(sender.bytes_sent() == 8 * 4 * 4);

  record other(world);
  const feed_edge cut({mesh::from(0, {}), 0, 1, 1}, {mesh::from(1, {1, 1, 1, 2}), 0, 1, 1}, 4, 4);
  const feed_seat cut_seat(cut, true, 0);
  feed_sender<float, record, cpu::context> of_columns(cut_seat, other, 0);
  of_columns.prepare(host.ctx, all, 1);
  of_columns.begin_step(all);
  CHECK(of_columns.send(0, rows_of(rows, 4)));
  REQUIRE(other.letters.size() == 2);
  float third[2];
  std::memcpy(third, other.letters[1].from + 16, sizeof(third));
  CHECK(third[0] == 10);  // row 2, columns 2 and 3
  CHECK(third[1] == 11);
  CHECK(of_columns.bytes_sent() == 8 * 4 * 4);
}

TEST_CASE("a microbatch waits for the slot of an earlier one, and messages without rows are messages") {
  local::world world(1, 0, {});
  record by(world);
  const feed_edge edge({mesh::from(0, {}), 0, 1, 3}, {mesh::from(1, {1, 1, 2, 1}), 0, 1, 1}, 3, 1);
  const motet::index offsets[] = {0, 1, 1, 3};
  const sequences all{3, 1, offsets};
  const feed_seat seat(edge, true, 0);
  feed_sender<float, record, cpu::context> sender(seat, by, 0);
  laws::host_site host;
  sender.prepare(host.ctx, {3, 2, nullptr}, 2);
  sender.begin_step(all);
  const std::vector<float> rows = counted(2);
  CHECK(sender.send(0, {rows.data(), 1, 1, 1}));
  CHECK(sender.send(1, {nullptr, 0, 1, 1}));
  REQUIRE(by.letters.size() == 4);  // one for each context part
  CHECK(by.letters[1].bytes == 0);
  CHECK(by.letters[2].bytes + by.letters[3].bytes == 0);
  CHECK_FALSE(sender.sent(0));
  CHECK_FALSE(sender.send(2, rows_of(rows, 1)));
  by.letters[0].taken = true;
  CHECK_FALSE(sender.send(2, rows_of(rows, 1)));
  by.letters[1].taken = true;
  CHECK(sender.sent(0));
  CHECK(sender.send(2, rows_of(rows, 1)));
  CHECK(sender.sent(0));
  CHECK_FALSE(sender.sent(2));
  CHECK(by.letters.size() == 6);
  CHECK(sender.bytes_sent() == 12);
}

TEST_CASE("what a rank has for itself stays here, and taking it rings the rank's own bell") {
  local::world world(1, 0, {});
  record by(world);
  const sequences all{2, 1, nullptr};
  const feed_edge edge({mesh::from(0, {}), 0, 1, 2}, {mesh::from(0, {}), 0, 1, 1}, 2, 1);
  const feed_seat seat(edge, true, 0);
  feed_sender<float, record, cpu::context> sender(seat, by, 0);
  laws::host_site host;
  sender.prepare(host.ctx, all, 1);
  sender.begin_step(all);
  const float rows[] = {5, 6};
  CHECK_FALSE(sender.waits(0));
  CHECK(sender.send(0, {rows, 1, 1, 1}));
  CHECK(by.letters.empty());
  CHECK(sender.waits(0));
  CHECK(sender.packed(0)[0] == 5);
  CHECK_FALSE(sender.send(1, {rows + 1, 1, 1, 1}));
  sender.taken(0);
  CHECK(by.bell == 1);
  REQUIRE(by.letters.size() == 1);
  CHECK(by.letters[0].bytes == 0);
  CHECK(sender.send(1, {rows + 1, 1, 1, 1}));
  CHECK(sender.bytes_sent() == 0);
  CHECK(sender.bytes_kept() == 8);
}
