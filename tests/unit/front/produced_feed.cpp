// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/produced_feed.hpp>

#include "laws/free_port.hpp"
#include "producers.hpp"

using namespace motet;
using namespace produced_tests;
using laws::free_port;

TEST_CASE("one producer or three, pairs or pieces, floats or bytes, filled or not: the loader's bits") {
  for (const bool pieces : {false, true}) {
    produced_set set(pieces, damaged);
    for (const motet::isize rows : {0, 150}) {
      if (rows > 0 && !pieces) continue;
      for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
        set.wishes.rows = rows;
        set.wishes.form = form;
        run own(set);
        const std::vector<seen_step> wanted = own.plain(14);
        producer_options unguarded = set.producer();
        unguarded.token.clear();
        const sample_producer one(unguarded), two(set.producer()), three(set.producer());
        std::string half;
        // Its token is in a file of this user's.
        produced_options by_file = served_by({one.port()});
        by_file.token.clear();
        const auto alone = own.produced(by_file);
        for (std::size_t s = 0; s < 14; ++s) {
          CHECK(take(*alone) == wanted[s]);
          if (s == 6) half = write_json(alone->position());
        }
        CHECK(alone->queue().has_value());
        // Gone on with, and by others: the first one serves another place by now.
        const json saved = read_json(half);
        const auto all = own.produced(served_by({two.port(), three.port()}), &saved);
        for (std::size_t s = 7; s < 14; ++s) CHECK(take(*all) == wanted[s]);
      }
    }
  }
}

TEST_CASE("producers are lost, come back and join, and not a sample is lost or changed") {
  produced_set set(true, damaged);
  set.wishes.rows = 150;
  run own(set);
  const std::vector<seen_step> wanted = own.plain(60);
  const std::uint16_t ports[] = {free_port(), free_port(), free_port()};
  std::unique_ptr<sample_producer> all[3];
  all[0] = std::make_unique<sample_producer>(set.producer(ports[0]));
  all[1] = std::make_unique<sample_producer>(set.producer(ports[1]));
  const auto from = own.produced(served_by({ports[0], ports[1], ports[2]}));
  std::vector<std::string> notes;
  const random_stream draws(3, "losses");
  for (std::size_t s = 0; s < 60; ++s) {
    CHECK(take(*from) == wanted[s]);
    // One of them, by chance, ends or begins.
    const auto which = draws.below(2 * s, 3);
    const auto live =
        std::count_if(std::begin(all), std::end(all), [](const auto& p) { return p != nullptr; });
    if (s % 4 == 2) {
      if (all[which] && live > 1) all[which].reset();
      else if (!all[which]) all[which] = std::make_unique<sample_producer>(set.producer(ports[which]));
    }
    if (s % 6 == 5) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    for (std::string& each : from->take_notes()) notes.push_back(std::move(each));
  }
  CHECK(says(notes, "is lost, its steps are asked for elsewhere"));
  CHECK((says(notes, "is back") || says(notes, "joins")));
}

TEST_CASE("several processes of a run ask the same producers, and each gets all steps") {
  produced_set set(true);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(20);
  const sample_producer one(set.producer()), two(set.producer());
  const auto first = own.produced(served_by({one.port(), two.port()}));
  const auto second = own.produced(served_by({one.port(), two.port()}));
  for (std::size_t s = 0; s < 20; ++s) {
    CHECK(take(*first) == wanted[s]);
    if (s >= 10) CHECK(take(*second) == wanted[s - 10]);
  }
}
