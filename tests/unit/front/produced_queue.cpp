// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/produced_queue.hpp>

#include "laws/free_port.hpp"
#include "producers.hpp"

using namespace motet;
using namespace produced_tests;
using laws::free_port;

TEST_CASE("with no producer that answers the run ends, and says what each did") {
  const produced_set set(true);
  run own(set);
  produced_options how = served_by({free_port(), free_port()});
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
  // Behind greeting and settings there are steps, and their heads are shorter.
  std::atomic<int> left{1};
  const auto flip = [&](std::span<char> bytes, std::size_t) {
    const bool greets =
        std::string_view(bytes.data(), bytes.size()).find("version") != std::string_view::npos;
    if (bytes.size() > 200 && !greets && left > 0) --left, bytes.back() ^= 1;
  };
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
  left = 1 << 30;
  bad_wire wire(one.port(), flip);
  const auto from = own.produced(served_by({wire.port()}));
  CHECK(refusal_of(*from).find("MT-D23") != std::string::npos);
}

TEST_CASE("a producer that hangs is lost after its silence, and another one makes its steps") {
  const produced_set set(true);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(30);
  const sample_producer one(set.producer()), two(set.producer());
  bad_wire wire(one.port(), [](std::span<char>, std::size_t) {});
  produced_options how = served_by({wire.port(), two.port()});
  how.silence = 0.5;
  const auto from = own.produced(how);
  std::vector<std::string> notes;
  for (std::size_t s = 0; s < 30; ++s) {
    CHECK(take(*from) == wanted[s]);
    // Both are there by then.
    if (s == 4) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (s == 9) wire.held = true;
    for (std::string& each : from->take_notes()) notes.push_back(std::move(each));
  }
  CHECK(says(notes, "it says nothing for 0.5 s"));
}
