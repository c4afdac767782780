// SPDX-License-Identifier: Apache-2.0
#include <motet/front/feed/producer_roster.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("of those that live the steps go round, and what becomes of each is told once") {
  producer_roster all({{"a", 1}, {"b", 2}, {"c", 3}});
  CHECK(all.living() == 0);
  CHECK(all.owner(5) == 3);
  CHECK(all.silent_for(0));
  all.begin(0, false);
  all.begin(2, false);
  CHECK_FALSE(all.silent_for(0));
  CHECK(all.owner(4) == 0);
  CHECK(all.owner(5) == 2);
  CHECK(all.take_notes().empty());
  all.begin(1, true);
  CHECK(all.owner(4) == 1);
  all.lose(1);
  all.begin(1, true);
  all.at(0).why = "it has another seed";
  all.leave_out(0);
  all.at(0).refused = true;
  all.leave_out(0);
  CHECK(all.take_notes() == std::vector<std::string>{"the producer at b:2 joins",
                                                     "the producer at b:2 is back",
                                                     "the producer at a:1 is left out: it has another seed"});
  CHECK(all.take_notes().empty());
  CHECK(all.what_each_did() ==
        "the producer at a:1: it has another seed; the producer at b:2: it did not answer; the producer at "
        "c:3: it did not answer");
  CHECK(all.by_producer().items()[2].at("at").string() == "c:3");
  CHECK(producer_roster::seconds_text(0.5) == "0.5 s");
}
