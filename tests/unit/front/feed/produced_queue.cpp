// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/feed/produced_queue.hpp>

#include "unit/front/producers.hpp"

#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace motet;
using namespace produced_tests;

namespace {

// A port where nobody listens, and which nobody else gets meanwhile.
struct taken_port {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  std::uint16_t port = 0;

  taken_port() {
    sockaddr_in at = tcp::address_of("127.0.0.1", 0);
    socklen_t size = sizeof at;
    REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port = ntohs(at.sin_port);
  }
  taken_port(const taken_port&) = delete;
  ~taken_port() { ::close(socket); }
};

// What comes from a producer is greeting and settings, and then steps, each behind its head. This flips the
// last byte of steps, wherever reads cut the stream.
struct last_bytes_flipped {
  std::atomic<int> left{0};
  std::string seen{};  // of this connection
  std::size_t head = std::string::npos;

  void pass(std::span<char> bytes, std::size_t first) {
    if (first == 0) seen.clear(), head = std::string::npos;
    seen.append(bytes.data(), bytes.size());
    std::string mark(sizeof step_head::our_mark, '\0');
    std::memcpy(mark.data(), &step_head::our_mark, mark.size());
    if (head == std::string::npos) head = seen.find(mark);
    step_head found;
    while (head != std::string::npos && seen.size() - head >= sizeof found) {
      std::memcpy(static_cast<void*>(&found), seen.data() + head, sizeof found);
      const std::size_t size = found.words + found.pixels, end = head + sizeof found + size;
      if (seen.size() < end) return;
      if (size > 0 && left > 0) --left, bytes[end - 1 - first] ^= 1;
      head = end;
    }
  }
};

}  // namespace

TEST_CASE("with no producer that answers the run ends, and says what each did") {
  const produced_set set(true);
  run own(set);
  const taken_port first, second;
  produced_options how = served_by({first.port, second.port});
  how.limit = 0.5;
  const std::string said = refusal_of(*own.produced(how));
  INFO(said);
  CHECK(said.find("no producer answers: for 0.5 s, for step 0 of this run: the producer at 127.0.0.1:") !=
        std::string::npos);
  CHECK(said.find("nobody listens there: Connection refused; the producer at 127.0.0.1:") !=
        std::string::npos);
  CHECK(said.find("MT-D24") != std::string::npos);
  CHECK_THROWS_WITH_AS(own.produced(served_by({})), doctest::Contains("no producer is named"), error);
}

TEST_CASE("what a producer cannot make ends the run at that step, in the producer's words") {
  produced_set set(false, [](motet::isize i) { return i == 13; });
  set.wishes.strict = true;
  set.wishes.batch = 40;
  run own(set);
  const sample_producer one(set.producer());
  const std::string said = refusal_of(*own.produced(served_by({one.port()})));
  INFO(said);
  CHECK(said.find("says: motet: the picture cannot be decoded") != std::string::npos);
  CHECK(said.find("[MT-D05]") != std::string::npos);
}

TEST_CASE("a step that comes damaged is asked for again, and told; one that always does ends the run") {
  const produced_set set(true);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(10);
  const sample_producer one(set.producer());
  last_bytes_flipped harm;
  harm.left = 1;
  const auto flip = [&](std::span<char> bytes, std::size_t first) { harm.pass(bytes, first); };
  {
    bad_wire wire(one.port(), flip);
    const auto from = own.produced(served_by({wire.port()}));
    std::vector<std::string> notes;
    for (std::size_t s = 0; s < 10; ++s) {
      CHECK(take(*from) == wanted[s]);
      for (std::string& each : from->take_notes()) notes.push_back(std::move(each));
    }
    CHECK(says(notes, "came damaged from the producer at 127.0.0.1:"));
    CHECK(says(notes, "its checksum is another one"));
  }
  harm.left = 1 << 30;
  bad_wire wire(one.port(), flip);
  const auto from = own.produced(served_by({wire.port()}));
  CHECK(refusal_of(*from).find("MT-D23") != std::string::npos);
}

TEST_CASE("a producer that hangs is lost after its silence, and another one makes its steps") {
  const produced_set set(true);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(100);
  const sample_producer one(set.producer()), two(set.producer());
  bad_wire wire(one.port(), [](std::span<char>, std::size_t) {});
  produced_options how = served_by({wire.port(), two.port()});
  how.silence = 0.5;
  const auto from = own.produced(how);
  std::vector<std::string> notes;
  const auto both_made_steps = [&] {
    const json each = from->by_producer();
    return each.items()[0].at("steps").integer() > 0 && each.items()[1].at("steps").integer() > 0;
  };
  // Steps go round, so the one that hangs is soon waited for, be it for a step or for the rest of one.
  const char* const lost = "is lost, its steps are asked for elsewhere";
  for (std::size_t s = 0; s < 100 && !says(notes, lost); ++s) {
    CHECK(take(*from) == wanted[s]);
    if (!wire.held) wire.held = both_made_steps();
    if (!wire.held) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::string& each : from->take_notes()) notes.push_back(std::move(each));
  }
  CHECK(wire.held);
  CHECK(says(notes, lost));
}
