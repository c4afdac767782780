// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/groups/noted_wait.hpp>

#include <motet/backend/groups/courier.hpp>
#include <motet/backend/transport/local/local.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

namespace motet {
namespace {

TEST_CASE("waits are noted in the order in which they end, and only where somebody asks") {
  wait_notes notes, inner;
  { const noted_wait unasked(wait_for::rows); }
  {
    const notes_waits noted(notes);
    { const noted_wait one(wait_for::gather); }
    {
      const notes_waits others(inner);
      const noted_wait theirs(wait_for::exchange);
    }
    {
      const noted_wait whole(wait_for::sum);
      const noted_wait within(wait_for::rows);
    }
    std::thread([] { const noted_wait elsewhere(wait_for::weights); }).join();
  }
  { const noted_wait behind(wait_for::rows); }
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].what == wait_for::gather);
  CHECK(notes[1].what == wait_for::sum);
  for (const wait_span& each : notes) CHECK(each.finish >= each.start);
  CHECK(notes[1].start >= notes[0].finish);
  REQUIRE(inner.size() == 1);
  CHECK(inner[0].what == wait_for::exchange);
}

TEST_CASE("who waits for a courier notes it, and who finds the rows there does not") {
  constexpr auto slow = std::chrono::milliseconds(5);
  local::world world(1, 1, std::vector<std::vector<std::int32_t>>{});
  local::endpoint end(world, 0);
  courier brings(end);
  wait_notes notes;
  const notes_waits noted(notes);
  const courier::number sent = brings.send([slow] { std::this_thread::sleep_for(slow); });
  brings.wait(sent);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].what == wait_for::rows);
  CHECK(notes[0].finish - notes[0].start > slow / 2);
  brings.wait(sent);
  brings.rest();
  CHECK(notes.size() == 1);
}

}  // namespace
}  // namespace motet
