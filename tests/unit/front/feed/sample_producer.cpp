// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/front/feed/sample_producer.hpp>

#include "unit/front/producers.hpp"

using namespace motet;
using namespace produced_tests;

TEST_CASE("a producer of other steps is refused, with what differs and both values") {
  const produced_set set(true);
  run own(set);
  SUBCASE("another seed") {
    const sample_producer one(set.producer());
    const auto first = own.produced(served_by({one.port()}));
    take(*first);
    produced_set other_set(true);
    other_set.wishes = set.wishes;
    other_set.wishes.seed = 9;
    run other(other_set);
    const std::string said = refusal_of(*other.produced(served_by({one.port()})));
    INFO(said);
    CHECK(said.find("has another seed: got 1, wanted 9") != std::string::npos);
    CHECK(said.find("MT-D22") != std::string::npos);
  }
  SUBCASE("other data") {
    produced_set other(true);
    write_mixed(other.folder, "train-1.tar", 40, 5);
    const sample_producer one(other.producer());
    const std::string said = refusal_of(*own.produced(served_by({one.port()})));
    INFO(said);
    CHECK(said.find("has another samples: got 45, wanted 40") != std::string::npos);
  }
  SUBCASE("no data") {
    producer_options how = set.producer();
    how.data += "-gone";
    const sample_producer one(how);
    const std::string said = refusal_of(*own.produced(served_by({one.port()})));
    INFO(said);
    CHECK(said.find("cannot open its data") != std::string::npos);
    CHECK(said.find("-gone") != std::string::npos);
  }
  SUBCASE("another token") {
    producer_options how = set.producer();
    how.token = "the token of that run";
    const sample_producer one(how);
    CHECK(refusal_of(*own.produced(served_by({one.port()}))).find("has another token") != std::string::npos);
  }
}

TEST_CASE("strangers, whoever says nothing, and whoever asks for nonsense keep nobody waiting") {
  const produced_set set(true);
  run own(set);
  const std::vector<seen_step> wanted = own.plain(6);
  const sample_producer one(set.producer());
  const sockaddr_in there = tcp::address_of("127.0.0.1", one.port());
  const auto reach = [&] { return tcp::reach(there, tcp::deadline(2)); };
  const tcp::connection silent = reach();
  {
    const tcp::connection stranger = reach();
    stranger.send("a proof of nothing", tcp::deadline(2), "it");
  }
  // These know the token.
  const auto known = [&] {
    tcp::connection made = reach();
    production::greet(made, produced_set::token, there, "it");
    return made;
  };
  const tcp::deadline until(5);
  const auto is_sent_away = [&](const tcp::connection& from) {
    CHECK_THROWS_WITH_AS(from.receive(until, "it"), doctest::Contains("it closed the connection"), error);
  };
  {
    const tcp::connection guest = known();
    guest.send("{\"version\": 1}", until, "it");
    CHECK(guest.receive(until, "it").find("problem") != std::string::npos);
    is_sent_away(guest);
  }
  json production = production_of(set.wishes, set.shape, own.data);
  production.set("place", place_of({}));
  for (const char* const nonsense :
       {"nonsense", "{}", R"({"step":1,"known":2,"place":{"next":0,"waiting":[]}})",
        R"({"step":1,"known":0,"place":{"next":-4,"waiting":[]}})",
        R"({"step":100000,"known":0,"place":{"next":0,"waiting":[]}})"}) {
    const tcp::connection guest = known();
    guest.send(write_json(production), until, "it");
    CHECK(first_difference(read_json(guest.receive(until, "it")), production).empty());
    guest.send(nonsense, until, "it");
    is_sent_away(guest);
  }
  const auto from = own.produced(served_by({one.port()}));
  for (const seen_step& each : wanted) CHECK(take(*from) == each);
}

TEST_CASE("beyond this machine a producer wants a token that nobody guesses") {
  const produced_set set(true);
  producer_options how = set.producer();
  how.address = "0.0.0.0";
  how.token = "short";
  CHECK_THROWS_WITH_AS(sample_producer{how}, doctest::Contains("a token of at least 16 characters is wanted"),
                       error);
}
