// SPDX-License-Identifier: Apache-2.0
// ranks: 2 3 8
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi.hpp>

#include "transport_laws.hpp"

using namespace motet;

namespace {
using list_of_ranks = std::vector<std::vector<std::int32_t>>;

template <class Ready>
void wait_for(mpi::endpoint& end, Ready&& ready) {
  for (;;) {
    const std::uint32_t seen = end.observe();
    if (ready()) return;
    end.pause(seen);
  }
}
template <class T>
std::byte* bytes_of(std::vector<T>& of) {
  return reinterpret_cast<std::byte*>(of.data());
}
template <class T>
motet::isize size_of(const std::vector<T>& of) {
  return static_cast<motet::isize>(of.size() * sizeof(T));
}
// The first processes as ranks, the others wait for them. Laws that want more ranks than there are have to be
// run with more.
struct on_processes {
  using stopped = mpi::stopped;

  struct scene {
    mpi::endpoint& end;
    std::int32_t rank;
    mpi::world& all;
    MPI_Comm among;
    void next_step() {
      // A rank that waits here must see a stop, too.
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibarrier(among, &request);
      for (int done = 0; done == 0;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        end.observe();
        if (all.is_stopped()) throw mpi::stopped{all.why()};
        std::this_thread::yield();
      }
      end.begin_step();
    }
    void stop() { all.stop(); }
  };

  template <class Body>
  static void run(int ranks, std::int32_t messages, const laws::meeting_list& meetings, Body body) {
    const mpi::session& here = tests::mpi_session();
    if (ranks > here.ranks()) return;
    MPI_Comm among = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, here.rank() < ranks ? 0 : MPI_UNDEFINED, here.rank(), &among);
    std::string problem;
    if (among != MPI_COMM_NULL) {
      try {
        mpi::world all(ranks, messages, meetings, among);
        mpi::endpoint end(all, here.rank());
        end.begin_step();
        scene own{end, here.rank(), all, among};
        try {
          body(own);
        } catch (const std::exception& found) {
          problem = found.what();
          all.stop(problem);
        }
      } catch (const mpi::stopped& told) {
        problem = told.why;
      }
      MPI_Comm_free(&among);
    }
    mpi::session::has_failed() = false;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!problem.empty()) throw std::runtime_error(problem);
  }
};

// Tells all ranks apart, and steps and messages too.
std::vector<std::int32_t> rows(std::int32_t rank, std::int32_t step, std::int32_t tag, std::int32_t size) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < size; ++i) all.push_back(rank * 1000003 + step * 10007 + tag * 101 + i);
  return all;
}
}  // namespace

TEST_CASE("the laws of transports hold between processes") { laws::transport_laws(on_processes{}); }

TEST_CASE("messages go round the ring, small and large, asked for in any order, for many steps") {
  mpi::session& here = tests::mpi_session();
  const std::int32_t ranks = here.ranks(), me = here.rank(), next = (me + 1) % ranks,
                     before = (me + ranks - 1) % ranks;
  constexpr std::int32_t each = 5;  // tag: sender x each + size
  const std::int32_t sizes[each] = {0, 1, 100, 3000, 200000};
  mpi::world world(ranks, ranks * each, {});
  mpi::endpoint end(world, me);
  CHECK(end.rank() == me);
  CHECK(end.ranks() == ranks);
  for (std::int32_t step = 0; step < 6; ++step) {
    end.begin_step();
    std::vector<std::vector<std::int32_t>> from, to;
    for (const std::int32_t size : sizes) {
      from.push_back(rows(me, step, static_cast<std::int32_t>(from.size()), size));
      to.emplace_back(static_cast<std::size_t>(size), -1);
    }
    for (std::int32_t k = 0; k < each; ++k) {
      const auto kth = static_cast<std::size_t>(k);
      end.send(me * each + k, next, bytes_of(from[kth]), size_of(from[kth]));
    }
    for (std::int32_t n = 0; n < each; ++n) {
      const std::int32_t k = step % 2 == 0 ? n : each - 1 - n;
      const auto kth = static_cast<std::size_t>(k);
      wait_for(end,
               [&] { return end.receive(before * each + k, before, bytes_of(to[kth]), size_of(to[kth])); });
      CHECK(to[kth] == rows(before, step, k, sizes[k]));
      CHECK(end.receive(before * each + k, before, nullptr, 0));  // stays there
    }
    wait_for(end, [&] {
      bool all = true;
      for (std::int32_t k = 0; k < each; ++k) all = all && end.sent(me * each + k);
      return all;
    });
  }
}

TEST_CASE("a rank may be a step ahead, and nothing is mixed up") {
  mpi::session& here = tests::mpi_session();
  const std::int32_t ranks = here.ranks(), me = here.rank();
  constexpr std::int32_t steps = 9;
  mpi::world world(ranks, ranks, {});
  mpi::endpoint end(world, me);
  bool good = true;
  if (me > 0) {  // sends and never looks back
    for (std::int32_t step = 0; step < steps; ++step) {
      end.begin_step();
      auto from = rows(me, step, 0, 50);
      end.send(me, 0, bytes_of(from), size_of(from));
      wait_for(end, [&] { return end.sent(me); });
    }
  } else {
    for (std::int32_t step = 0; step < steps; ++step) {
      end.begin_step();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (std::int32_t r = ranks - 1; r > 0; --r) {
        std::vector<std::int32_t> to(50);
        wait_for(end, [&] { return end.receive(r, r, bytes_of(to), size_of(to)); });
        good = good && to == rows(r, step, 0, 50);
      }
    }
  }
  CHECK(good);
}

TEST_CASE("a meeting gathers the blocks of its members, in their order") {
  mpi::session& here = tests::mpi_session();
  const std::int32_t ranks = here.ranks(), me = here.rank();
  list_of_ranks meetings(3);
  for (std::int32_t r = 0; r < ranks; ++r) {
    meetings[0].push_back(r);
    meetings[1].insert(meetings[1].begin(), r);
    if (r != 0) meetings[2].push_back(r);
  }
  mpi::world world(ranks, 0, meetings);
  std::vector<std::vector<std::int32_t>> kept;  // until the step is over for all
  mpi::endpoint end(world, me);
  for (std::int32_t step = 0; step < 5; ++step) {
    end.begin_step();
    kept.clear();
    for (std::int32_t m = 0; m < 3; ++m) {
      const auto& members = meetings[static_cast<std::size_t>(m)];
      const auto mine =
          static_cast<std::int32_t>(std::find(members.begin(), members.end(), me) - members.begin());
      if (mine == static_cast<std::int32_t>(members.size())) continue;
      const std::int32_t size = m == 1 ? 40000 : step * 3;  // none in the first step
      kept.push_back(rows(me, step, m, size));
      std::vector<std::int32_t> all(static_cast<std::size_t>(size) * members.size(), -1), wanted;
      for (const std::int32_t r : members) {
        const auto theirs = rows(r, step, m, size);
        wanted.insert(wanted.end(), theirs.begin(), theirs.end());
      }
      wait_for(end, [&] {
        return end.gather(m, mine, bytes_of(kept.back()), size_of(kept.back()), bytes_of(all));
      });
      CHECK(all == wanted);
    }
  }
  end.finish_step();
}

TEST_CASE("a rank can send to itself") {
  mpi::session& here = tests::mpi_session();
  mpi::world world(here.ranks(), here.ranks(), {});
  mpi::endpoint end(world, here.rank());
  end.begin_step();
  for (const std::int32_t size : {10, 100000}) {
    auto from = rows(here.rank(), 0, 0, size);
    std::vector<std::int32_t> to(from.size());
    end.send(here.rank(), here.rank(), bytes_of(from), size_of(from));
    wait_for(end, [&] { return end.receive(here.rank(), here.rank(), bytes_of(to), size_of(to)); });
    CHECK(to == from);
    wait_for(end, [&] { return end.sent(here.rank()); });
    end.begin_step();
  }
}

TEST_CASE("nothing has come before it was sent") {
  mpi::session& here = tests::mpi_session();
  if (here.ranks() < 2) return;
  mpi::world world(here.ranks(), 2, {});
  mpi::endpoint end(world, here.rank());
  end.begin_step();
  std::vector<std::int32_t> go(1), row(1);
  if (here.rank() == 0) {
    CHECK_FALSE(end.sent(0));
    CHECK_FALSE(end.receive(1, 1, bytes_of(row), size_of(row)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_FALSE(end.receive(1, 1, bytes_of(row), size_of(row)));
    end.send(0, 1, bytes_of(go), size_of(go));
    wait_for(end, [&] { return end.receive(1, 1, bytes_of(row), size_of(row)); });
    CHECK(row[0] == 7);
  }
  if (here.rank() == 1) {
    wait_for(end, [&] { return end.receive(0, 0, bytes_of(go), size_of(go)); });
    row[0] = 7;
    end.send(1, 0, bytes_of(row), size_of(row));
    wait_for(end, [&] { return end.sent(1); });
  }
}

TEST_CASE("a stop ends the waits of all ranks and says why") {
  mpi::session& here = tests::mpi_session();
  for (const bool from_another_thread : {false, true}) {
    const std::int32_t culprit = here.ranks() - 1;
    std::string why;
    {
      mpi::world world(here.ranks(), here.ranks(), {});
      mpi::endpoint end(world, here.rank());
      end.begin_step();
      std::vector<std::int32_t> row(300000);
      std::thread watch;
      if (here.rank() == culprit) {
        if (from_another_thread)
          watch = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            world.stop("nothing moves");
          });
        else world.stop("nothing moves");
      } else {
        end.send(here.rank(), culprit, bytes_of(row), size_of(row));  // never taken
      }
      try {
        wait_for(end, [&] { return end.receive(culprit, here.rank(), bytes_of(row), size_of(row)); });
      } catch (const mpi::stopped& told) {
        why = told.why;
      }
      CHECK(world.is_stopped());
      if (watch.joinable()) watch.join();
    }
    CHECK(why == "rank " + std::to_string(culprit) + " stopped because nothing moves");
    CHECK(mpi::session::has_failed());
    mpi::session::has_failed() = false;  // the next case is a new life
  }
}

TEST_CASE("who watches hears how long a wait lasts, for whom, and when it is over") {
  mpi::session& here = tests::mpi_session();
  const std::int32_t last = here.ranks() - 1;
  mpi::world world(here.ranks(), 2 * here.ranks(), {});
  mpi::endpoint end(world, here.rank());
  double longest = 0;
  int over = 0;
  std::vector<std::int32_t> lacking;
  world.watch_waits([&](double seconds) {
    longest = std::max(longest, seconds);
    if (seconds == 0) ++over;
    else lacking = world.lacking();
  });
  end.begin_step();
  std::int32_t row = here.rank(), there = row;
  if (here.rank() == last) {
    // Whoever comes late to a busy machine would not wait.
    for (std::int32_t r = 0; r < last; ++r)
      wait_for(end,
               [&] { return end.receive(here.ranks() + r, r, reinterpret_cast<std::byte*>(&there), 4); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (std::int32_t r = 0; r < last; ++r) end.send(r, r, reinterpret_cast<const std::byte*>(&row), 4);
  } else {
    end.send(here.ranks() + here.rank(), last, reinterpret_cast<const std::byte*>(&there), 4);
    wait_for(end, [&] { return end.receive(here.rank(), last, reinterpret_cast<std::byte*>(&row), 4); });
    CHECK(row == last);
    CHECK(longest > 0.01);
    CHECK(over == 1);
    CHECK(lacking == std::vector<std::int32_t>{last});
  }
  end.finish_step();
  CHECK(world.lacking().empty());
}

TEST_CASE("who watches may stop the ranks") {
  mpi::session& here = tests::mpi_session();
  const std::int32_t last = here.ranks() - 1;
  std::string why;
  {
    mpi::world world(here.ranks(), here.ranks(), {});
    mpi::endpoint end(world, here.rank());
    if (here.rank() == 0)
      world.watch_waits([&](double seconds) {
        if (seconds > 0.05) world.stop("enough");
      });
    end.begin_step();
    std::int32_t row = 0;
    try {
      wait_for(end, [&] { return end.receive(here.rank(), last, reinterpret_cast<std::byte*>(&row), 4); });
    } catch (const mpi::stopped& told) {
      why = told.why;
    }
  }
  CHECK(why == "rank 0 stopped because enough");
  mpi::session::has_failed() = false;
}

TEST_CASE("a message that is shorter or longer than wanted is an error with numbers") {
  mpi::session& here = tests::mpi_session();
  if (here.ranks() < 2) return;
  for (const motet::isize wanted : {8, 16}) {
    std::string problem;
    {
      mpi::world world(here.ranks(), 1, {});
      mpi::endpoint end(world, here.rank());
      end.begin_step();
      std::vector<std::int32_t> row(8);
      try {
        if (here.rank() == 0) {
          end.send(0, 1, bytes_of(row), 12);
          wait_for(end, [&] { return false; });
        } else if (here.rank() == 1) {
          wait_for(end, [&] { return end.receive(0, 0, bytes_of(row), wanted); });
        } else {
          wait_for(end, [&] { return false; });
        }
      } catch (const error& found) {
        problem = found.what();
        world.stop(problem);
      } catch (const mpi::stopped& told) {
        problem = told.why;
      }
    }
    CAPTURE(problem);
    CHECK(problem.find("MT-B01") != std::string::npos);
    CHECK(problem.find("from rank 0 with tag 1 should have " + std::to_string(wanted) + " bytes") !=
          std::string::npos);
    mpi::session::has_failed() = false;
  }
}

TEST_CASE("a world of another size, a wrong rank and too many tags are refused") {
  mpi::session& here = tests::mpi_session();
  CHECK_THROWS_WITH_AS(mpi::world(here.ranks() + 3, 0, {}), doctest::Contains("MT-B02"), error);
  CHECK_THROWS_WITH_AS(mpi::world(here.ranks(), 2000000000, {}), doctest::Contains("tags are needed"), error);
  mpi::world world(here.ranks(), 0, {});
  CHECK_THROWS_WITH_AS(mpi::endpoint(world, here.rank() + 1), doctest::Contains("MT-B02"), error);
}
