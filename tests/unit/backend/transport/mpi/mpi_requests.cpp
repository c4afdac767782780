// SPDX-License-Identifier: Apache-2.0
// ranks: 2
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi_requests.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;

namespace {
std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>(i * 7 + i / 256);
  return all;
}
void finish(mpi::requests& all, const std::int32_t& pending) {
  while (pending > 0) all.progress();
}
}  // namespace

TEST_CASE("more bytes than MPI counts are one item of a larger type") {
  tests::mpi_session();
  for (const motet::isize bytes : {0, 1, 99, 100, 101, 102, 150, 151, 153, 1000, 4999}) {
    CAPTURE(bytes);
    const mpi::byte_type as(bytes, 100);
    MPI_Count size = 0;
    MPI_Type_size_x(as.type(), &size);
    CHECK(size * as.count() == bytes);
    CHECK(as.count() <= 100);
    CHECK((as.type() == MPI_BYTE) == (bytes <= 100));
    const auto from = counted(static_cast<std::size_t>(bytes));
    std::vector<std::byte> to(from.size() + 1, std::byte{0x5a});
    MPI_Sendrecv(from.data(), as.count(), as.type(), 0, 0, to.data(), as.count(), as.type(), 0, 0,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(to.back() == std::byte{0x5a});
    to.pop_back();
    CHECK(to == from);
  }
  const mpi::byte_type huge(motet::isize{5} << 30);
  MPI_Count size = 0;
  MPI_Type_size_x(huge.type(), &size);
  CHECK(size == motet::isize{5} << 30);
}

TEST_CASE("requests count down what waits for them") {
  tests::mpi_session();
  mpi::requests all;
  all.reserve(200);
  constexpr int messages = 50;
  const auto from = counted(500);
  std::vector<std::vector<std::byte>> to(messages, std::vector<std::byte>(from.size()));
  std::int32_t sends = 0, receives = 0, both = 0;
  for (int m = 0; m < messages; ++m) all.send(MPI_COMM_SELF, 0, m, from.data(), 500 - m, sends, &both);
  CHECK(sends == messages);
  CHECK(both == messages);
  all.progress();
  CHECK(sends == messages);  // nobody asked for them yet
  for (int m = messages; m-- > 0;)
    all.receive(MPI_COMM_SELF, 0, m, to[static_cast<std::size_t>(m)].data(), 500 - m, receives, &both);
  finish(all, both);
  CHECK(sends == 0);
  CHECK(receives == 0);
  CHECK(all.done() == 2 * messages);
  for (int m = 0; m < messages; ++m)
    CHECK(std::equal(from.begin(), from.end() - m, to[static_cast<std::size_t>(m)].begin()));
  all.progress();
  CHECK(all.done() == 2 * messages);
}

TEST_CASE("what is dropped counts down, too, and leaves the rest alone") {
  tests::mpi_session();
  mpi::requests all;
  const auto from = counted(10);
  std::vector<std::byte> to(10), other(10);
  std::int32_t pending = 0, kept = 0, gone = 0;
  all.receive(MPI_COMM_SELF, 0, 1, to.data(), 10, pending, &kept);
  for (int m = 2; m < 7; ++m) all.receive(MPI_COMM_SELF, 0, m, other.data(), 10, pending, &gone);
  all.drop_receives(&gone);
  CHECK(gone == 0);
  CHECK(kept == 1);
  all.send_in_haste(MPI_COMM_SELF, 0, 1, from.data(), 10, pending);
  finish(all, pending);
  CHECK(to == from);
  all.expect(MPI_COMM_SELF, to.data(), 10, pending);
  all.drop_receives();
  CHECK(pending == 0);
  // A send is not let go with what was to come.
  std::int32_t sent = 0;
  all.send(MPI_COMM_SELF, 0, 9, from.data(), 10, sent);
  all.drop_receives();
  CHECK(sent == 1);
  all.receive(MPI_COMM_SELF, 0, 9, to.data(), 10, pending);
  finish(all, pending);
  all.send(MPI_COMM_SELF, 0, 10, from.data(), 10, sent);
  all.drop_sends();
  CHECK(sent == 0);
}

TEST_CASE(
    "those who lack are those that something is to come from, else those who did not take what was sent") {
  const std::int32_t ranks = tests::mpi_session().ranks(), me = tests::mpi_session().rank();
  mpi::requests all;
  const auto from = counted(100000);
  std::vector<std::byte> to(from.size());
  std::int32_t pending = 0;
  CHECK(all.lacking().empty());
  all.send(MPI_COMM_WORLD, ranks - 1, 5, from.data(), 100000, pending);
  all.send(MPI_COMM_WORLD, ranks - 1, 6, from.data(), 100000, pending);
  CHECK(all.lacking() == std::vector<std::int32_t>{ranks - 1});
  all.receive(MPI_COMM_SELF, 0, 7, to.data(), 10, pending);
  CHECK(all.lacking() == std::vector<std::int32_t>{0});
  all.send_in_haste(MPI_COMM_SELF, 0, 7, from.data(), 10, pending);
  std::vector<std::byte> taken(from.size());
  if (me == ranks - 1)
    for (int r = 0; r < ranks; ++r)
      for (const int tag : {5, 6}) all.receive(MPI_COMM_WORLD, r, tag, taken.data(), 100000, pending);
  finish(all, pending);
  CHECK(all.lacking().empty());
}

TEST_CASE("a shorter message is an error, where it was not allowed for") {
  tests::mpi_session();
  mpi::requests all;
  const auto from = counted(10);
  std::vector<std::byte> to(10);
  std::int32_t pending = 0;
  all.expect(MPI_COMM_SELF, to.data(), 10, pending);
  all.send_in_haste(MPI_COMM_SELF, 0, 3, from.data(), 4, pending);
  finish(all, pending);
  all.receive(MPI_COMM_SELF, 0, 3, to.data(), 10, pending);
  all.send_in_haste(MPI_COMM_SELF, 0, 3, from.data(), 4, pending);
  CHECK_THROWS_WITH_AS(finish(all, pending),
                       doctest::Contains("from rank 0 with tag 3 should have 10 bytes, but 4 came"), error);
  all.drop_receives();
  all.drop_sends();
}
