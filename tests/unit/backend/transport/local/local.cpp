// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/transport/local/local.hpp>

#include "on_threads.hpp"

#include <chrono>

using namespace motet;

using on_threads = laws::on_threads<local::world, local::endpoint>;

static_assert(transport<local::endpoint>);

TEST_CASE("threads of one process obey the laws of transports") { laws::transport_laws(on_threads{}); }

TEST_CASE("the receiver copies straight from the sender's rows") {
  local::world all(2, 1, laws::meeting_list{});
  local::endpoint from(all, 0), to(all, 1);
  from.begin_step();
  to.begin_step();
  std::byte rows{1}, got{};
  from.send(0, 1, &rows, 1);
  CHECK(!from.sent(0));
  rows = std::byte{2};  // not taken yet, so this is what leaves
  CHECK(to.receive(0, 0, &got, 1));
  CHECK(got == std::byte{2});
  CHECK(from.sent(0));
  CHECK(!to.receive(0, 0, &got, 1));  // once
}

TEST_CASE("a stop that came before is not slept through") {
  local::world all(1, 0, laws::meeting_list{});
  local::endpoint end(all, 0);
  end.begin_step();
  CHECK(!all.is_stopped());
  all.stop();
  CHECK(all.is_stopped());
  CHECK_THROWS_AS(end.pause(end.observe()), local::world::stopped);
}

TEST_CASE("others can see since when a rank sleeps") {
  using clock = local::world::clock;
  local::world all(2, 1, laws::meeting_list{});
  const clock::time_point before = clock::now();
  CHECK(!all.sleeps_since(0, before));
  std::thread sleeper([&] {
    local::endpoint end(all, 0);
    end.begin_step();
    end.pause(end.observe());
  });
  while (!all.sleeps_since(0, clock::now())) std::this_thread::yield();
  CHECK(!all.sleeps_since(0, before));
  CHECK(!all.sleeps_since(1, clock::now()));
  local::endpoint other(all, 1);
  other.begin_step();
  other.send(0, 0, nullptr, 0);
  CHECK(!all.sleeps_since(0, clock::now()));  // its bell has rung, whether it has had a processor or not
  sleeper.join();
  CHECK(!all.sleeps_since(0, clock::now()));
}

TEST_CASE("laws can be broken") {
  CHECK_THROWS_AS(on_threads::run(2, 1, {},
                                  [](auto& scene) {
                                    const std::byte wrong{7};
                                    if (scene.rank == 0) scene.end.send(0, 1, &wrong, 1);
                                    else laws::receive_and_compare(scene.end, 0, 0, 3, 1);
                                    if (scene.rank == 0)
                                      laws::until(scene.end, [&] { return scene.end.sent(0); });
                                  }),
                  laws::broken_law);
}
