// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/meet/socket.hpp>

#include <doctest/doctest.h>

#include "laws/free_port.hpp"

namespace tcp = motet::tcp;
using motet::laws::free_port;

TEST_CASE("whole texts go both ways, whatever their sizes") {
  const std::uint16_t port = free_port();
  const tcp::deadline until(20);
  const std::string large(3'000'001, 'x');
  std::thread other([&] {
    const tcp::connection end = tcp::connect("127.0.0.1", port, until);
    for (int i = 0; i < 3; ++i) end.send(end.receive(until, "here") + "!", until, "here");
  });
  const tcp::listener door("lo", port);
  const tcp::connection guest = door.accept(until, [] { return std::string("nobody"); });
  for (const std::string& each : {std::string(), std::string("abc"), large}) {
    guest.send(each, until, "there");
    CHECK(guest.receive(until, "there") == each + "!");
  }
  other.join();
  CHECK_THROWS_WITH_AS(guest.receive(until, "the guest"),
                       doctest::Contains("the guest closed the connection"), motet::error);
}

TEST_CASE("a text is taken piece by piece, without waiting") {
  const std::uint16_t port = free_port();
  const tcp::deadline until(20);
  const tcp::listener door("127.0.0.1", port);
  CHECK_FALSE(door.take());
  const tcp::connection other = tcp::connect("127.0.0.1", port, until);
  const tcp::connection guest = door.accept(until, [] { return std::string("nobody"); });
  std::string all(8, '\0'), said;
  all[0] = 3;
  all += "abc";
  for (const char& each : all) {
    CHECK_FALSE(guest.take(said, "a guest", 3));
    REQUIRE(::send(other.watched().fd, &each, 1, 0) == 1);
    pollfd ready = guest.watched();
    REQUIRE(::poll(&ready, 1, 5000) == 1);
  }
  CHECK(guest.take(said, "a guest", 3));
  CHECK(said == all);
  std::string next;
  other.send("abcd", until, "it");
  pollfd ready = guest.watched();
  REQUIRE(::poll(&ready, 1, 5000) == 1);
  CHECK_THROWS_WITH_AS(guest.take(next, "a guest", 3), doctest::Contains("sends 4 bytes, at most 3"),
                       motet::error);
}

TEST_CASE("bytes without a size go as they are, to whoever listens at a port that was free") {
  const tcp::listener door("127.0.0.1", 0, "a producer");
  const std::uint16_t port = ntohs(door.address().sin_port);
  CHECK(port != 0);
  const tcp::deadline until(20);
  const tcp::connection other = tcp::reach(tcp::address_of("127.0.0.1", port), until);
  REQUIRE(other);
  const tcp::connection guest = door.accept(until, [] { return std::string("nobody"); });
  const std::string sent(100'000, 'y');
  std::thread sender([&] { other.put(std::as_bytes(std::span(sent)), until, "it"); });
  std::string got(sent.size(), ' ');
  guest.get(std::as_writable_bytes(std::span(got)), until, "it");
  sender.join();
  CHECK(got == sent);
  CHECK_FALSE(tcp::reach(tcp::address_of("127.0.0.1", free_port()), until));
  CHECK(errno == ECONNREFUSED);
}

TEST_CASE("every wait ends") {
  const std::uint16_t port = free_port();
  const tcp::listener door("127.0.0.1", port);
  CHECK_THROWS_WITH_AS(door.accept(tcp::deadline(0.1), [] { return std::string("rank 7 is missing"); }),
                       doctest::Contains("rank 7 is missing, in 0.1"), motet::error);
  const tcp::connection silent = tcp::connect("127.0.0.1", port, tcp::deadline(5));
  CHECK_THROWS_WITH_AS(silent.receive(tcp::deadline(0.1), "it"),
                       doctest::Contains("it did not answer in 0.1"), motet::error);
  CHECK_THROWS_WITH_AS(tcp::listener("127.0.0.1", port), doctest::Contains("cannot listen"), motet::error);
}

TEST_CASE("a long text to one that does not listen is given up in time") {
  const std::uint16_t port = free_port();
  const tcp::listener door("127.0.0.1", port);
  const tcp::connection other = tcp::connect("127.0.0.1", port, tcp::deadline(5));
  const tcp::connection guest = door.accept(tcp::deadline(5), [] { return std::string(); });
  CHECK_THROWS_WITH_AS(other.send(std::string(100'000'000, 'x'), tcp::deadline(0.3), "it"),
                       doctest::Contains("it did not listen in 0.3"), motet::error);
}

TEST_CASE("who asks for a port where nobody listens does not meet itself") {
  // The machine may do this by chance: an end is bound to the port that it asks for.
  const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  ::setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in here = tcp::address_of("127.0.0.1", free_port());
  REQUIRE(::bind(one, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
  REQUIRE(::connect(one, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
  CHECK(tcp::meets_itself(one));
  ::close(one);
  const std::uint16_t port = free_port();
  const tcp::listener door("127.0.0.1", port);
  const sockaddr_in there = tcp::address_of("127.0.0.1", port);
  const int two = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(two, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0);
  CHECK_FALSE(tcp::meets_itself(two));
  ::close(two);
}

TEST_CASE("a stranger cannot make us take much memory") {
  const std::uint16_t port = free_port();
  const tcp::deadline until(20);
  const tcp::listener door("127.0.0.1", port);
  const tcp::connection other = tcp::connect("127.0.0.1", port, until);
  const tcp::connection guest = door.accept(until, [] { return std::string(); });
  other.send(std::string(1000, 'x'), until, "host");
  CHECK_THROWS_WITH_AS(guest.receive(until, "a guest", 256),
                       doctest::Contains("sends 1000 bytes, at most 256 are taken"), motet::error);
}

TEST_CASE("loopback is told from what others reach") {
  CHECK(tcp::is_loopback(tcp::address_of("127.0.0.1", 1)));
  CHECK(tcp::is_loopback(tcp::address_of("127.3.4.5", 1)));
  CHECK(tcp::is_loopback(tcp::address_of("lo", 1)));
  CHECK_FALSE(tcp::is_loopback(tcp::address_of("192.0.2.1", 1)));
}
