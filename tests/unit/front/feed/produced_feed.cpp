// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/feed/produced_feed.hpp>

#include "laws/free_port.hpp"
#include "unit/front/producers.hpp"

#include <filesystem>

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

TEST_CASE(
    "samples wait in producers' steps as in a loader's, whoever is lost and however many go on with it") {
  produced_set set(true, damaged);
  run none(set);
  const std::vector<seen_step> listed = none.plain(30);
  set.wishes.windows = {.steps = 3, .together = 7};
  run own(set);
  const std::vector<seen_step> wanted = own.plain(30);
  isize moved = 0;
  for (std::size_t s = 0; s < 30; ++s) moved += wanted[s].ids != listed[s].ids ? 1 : 0;
  CHECK(moved > 20);
  const std::uint16_t ports[] = {free_port(), free_port()};
  auto first = std::make_unique<sample_producer>(set.producer(ports[0]));
  const sample_producer second(set.producer(ports[1]));
  const auto from = own.produced(served_by({ports[0], ports[1]}));
  std::string inside;  // of a window
  for (std::size_t s = 0; s < 14; ++s) {
    if (s == 5) first.reset();
    if (s == 9) first = std::make_unique<sample_producer>(set.producer(ports[0]));
    CHECK(take(*from) == wanted[s]);
    if (s == 6) inside = write_json(from->position());
  }
  const json saved = read_json(inside);
  const sample_producer alone(set.producer());
  const auto later = own.produced(served_by({alone.port()}), &saved);
  for (std::size_t s = 7; s < 30; ++s) CHECK(take(*later) == wanted[s]);
  // Steps that a loader made go on with producers, and the other way round.
  CHECK(own.plain(1, &saved).front() == wanted[7]);
  CHECK(code_of([&] { none.produced(served_by({alone.port()}), &saved); }) == "MT-D27");
}

TEST_CASE("what producers leave out is counted and named as a loader's is, once however many tell it") {
  for (const bool pieces : {false, true}) {
    const produced_set set(pieces, damaged);
    run plain(set), by_two(set);
    plain.plain(24);
    REQUIRE(plain.data.skips().count() > 0);
    // At another path they have the same samples, which bear the names that they have here.
    const scratch elsewhere;
    std::filesystem::copy(set.folder.path(), elsewhere.path(), std::filesystem::copy_options::recursive);
    producer_options far = set.producer();
    far.data = elsewhere.path().string();
    const sample_producer one(set.producer()), two(far);
    const auto from = by_two.produced(served_by({one.port(), two.port()}));
    for (int s = 0; s < 24; ++s) take(*from);
    for (const skip why : {skip::bad_picture, skip::no_picture, skip::too_long, skip::bad_pieces})
      CHECK(by_two.data.skips().count(why) == plain.data.skips().count(why));
    CHECK(by_two.data.skips().count() == plain.data.skips().count());
    CHECK(by_two.data.skips().names(skip::bad_picture).size() ==
          plain.data.skips().names(skip::bad_picture).size());
    for (const std::string& each : by_two.data.skips().names(skip::bad_picture))
      CHECK(each.starts_with(set.folder.path().string()));
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

TEST_CASE("a process that looks at some samples alone gets their pictures and no others, and all words") {
  constexpr std::size_t picture = 3 * 8 * 8 * 4;  // bytes
  const produced_set set(false, damaged);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(12);
  const sample_producer one(set.producer()), two(set.producer());
  using shares = std::vector<interval>;
  for (const shares& share :
       {shares{{0, 3}}, shares{{3, 7}}, shares{{1, 2}, {4, 6}}, shares{{6, 7}}, shares{}}) {
    produced_options how = served_by({one.port(), two.port()});
    how.share = share;
    const auto from = own.produced(how);
    isize samples = 0;
    for (const interval& each : share) samples += each.size();
    for (std::size_t s = 0; s < 12; ++s) {
      seen_step got = take(*from);
      REQUIRE(got.pixels.size() == 7 * picture);
      for (const interval& each : share)
        CHECK(std::equal(got.pixels.begin() + each.begin * isize{picture},
                         got.pixels.begin() + each.end * isize{picture},
                         wanted[s].pixels.begin() + each.begin * isize{picture}));
      // The words are those of all.
      got.pixels = wanted[s].pixels;
      CHECK(got == wanted[s]);
    }
    const json by_whom = from->by_producer();
    for (const json& each : by_whom.items())
      CHECK(each.at("picture_bytes").integer() == each.at("steps").integer() * samples * isize{picture});
  }
  produced_options wrong = served_by({one.port()});
  wrong.share = shares{{3, 8}};
  CHECK_THROWS_WITH_AS(own.produced(wrong), doctest::Contains("samples [[3, 8]] of a step of 7"), error);
}

TEST_CASE("a process that finds its samples with the words of a step gets their pictures and no others") {
  constexpr std::size_t picture = 3 * 8 * 8 * 4;  // bytes
  const produced_set set(false, damaged);
  run own(set);
  constexpr std::size_t steps = 24;
  const std::vector<seen_step> wanted = own.plain(steps);
  const std::uint16_t ports[] = {free_port(), free_port()};
  std::unique_ptr<sample_producer> all[2];
  for (const int p : {0, 1}) all[p] = std::make_unique<sample_producer>(set.producer(ports[p]));
  // Other ones in each step, as its words decide.
  const auto share_of = [](const step_input& words) {
    const tokens& said = std::get<1>(std::get<pair_input>(words));
    std::vector<interval> out;
    for (isize s = 0; s < said.seq.samples; ++s)
      if ((said.ids[said.seq.begin(s)] + said.seq.rows_of(s)) % 3 == 1) out.push_back({s, s + 1});
    return out;
  };
  // It is said while the step before runs, when the step is at hand, now so and now so, or never.
  enum { ahead, at_hand, mixed, never };
  for (const int when : {ahead, at_hand, mixed, never}) {
    produced_options how = served_by({ports[0], ports[1]});
    how.line = std::make_shared<share_line>();
    int chosen = 0;
    if (when != never)
      how.choose = [&, line = how.line](const step_input& words) {
        ++chosen;
        line->say(share_of(words));
      };
    const std::shared_ptr<share_line> line = how.line;
    const auto from = own.produced(how);
    isize bytes = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      const step_input batch = from->next();
      std::vector<interval> share{{0, 7}};
      if (when != never) share = share_of(batch);
      const pictures& shown = std::get<0>(std::get<pair_input>(batch));
      const auto* const got = reinterpret_cast<const unsigned char*>(shown.pixels);
      for (const interval& each : share)
        CHECK(std::equal(got + each.begin * isize{picture}, got + each.end * isize{picture},
                         wanted[s].pixels.begin() + each.begin * isize{picture}));
      bytes += size_of(share) * isize{picture};
      const tokens& said = std::get<1>(std::get<pair_input>(batch));
      CHECK(std::equal(wanted[s].ids.begin(), wanted[s].ids.end(), said.ids));
      if (when == ahead || (when == mixed && s % 2 == 0)) {
        for (const tcp::deadline until(60); !from->ahead() && !until.over();)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        REQUIRE(from->ahead().has_value());
        line->say(share_of(*from->ahead()));
      }
      // Who had made a step is gone before its pictures are asked for.
      if (s % 8 == 5) {
        all[s / 8 % 2].reset();
        all[s / 8 % 2] = std::make_unique<sample_producer>(set.producer(ports[s / 8 % 2]));
      }
    }
    const json by_whom = from->by_producer();
    isize got = 0, sent = 0;
    for (const json& each : by_whom.items())
      got += each.at("picture_bytes").integer(), sent += each.at("steps").integer();
    // What was said of the step behind the last one is on its way or here.
    CHECK(got >= bytes);
    CHECK(got <= bytes + isize{7 * picture});
    CHECK(sent >= isize{steps});
    if (when == ahead) CHECK(chosen == 1);
    if (when == at_hand) CHECK(chosen == int{steps});
    if (when == mixed) CHECK(chosen == int{steps} / 2);
  }
}

TEST_CASE("a step that comes in parts is the step, whatever its pictures are") {
  for (const bool pieces : {false, true})
    for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
      produced_set set(pieces, damaged);
      set.wishes.form = form;
      run own(set);
      const std::vector<seen_step> wanted = own.plain(6);
      const sample_producer one(set.producer());
      produced_options how = served_by({one.port()});
      how.share = std::vector<interval>{{0, 2}, {2, 2}, {2, 3}, {3, 7}};
      const auto from = own.produced(how);
      for (const seen_step& each : wanted) CHECK(take(*from) == each);
    }
}
