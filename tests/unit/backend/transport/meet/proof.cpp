// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/transport/meet/proof.hpp>

using namespace motet;

TEST_CASE("a proof is of one token, one role and two numbers, and of nothing else") {
  const std::string asked = meet::fresh_nonce(), own = meet::fresh_nonce();
  CHECK(asked.size() == 32);
  CHECK(asked != own);
  const std::string right = meet::proof("a token of this run", "rank 1 of 2", asked, own);
  CHECK(meet::same_proof(right, meet::proof("a token of this run", "rank 1 of 2", asked, own)));
  CHECK_FALSE(meet::same_proof(right, meet::proof("a token of that run", "rank 1 of 2", asked, own)));
  CHECK_FALSE(meet::same_proof(right, meet::proof("a token of this run", "host of 2", asked, own)));
  CHECK_FALSE(meet::same_proof(right, meet::proof("a token of this run", "rank 1 of 2", own, asked)));
  CHECK_FALSE(meet::same_proof(right, right.substr(1)));
  CHECK_FALSE(meet::same_proof("", ""));
}

TEST_CASE("parts come out as they were put in, and never more than there are") {
  std::string all;
  meet::append(all, "one");
  meet::append(all, "");
  meet::append(all, std::string("t\0o", 3));
  std::size_t at = 0;
  CHECK(meet::part(all, at) == "one");
  CHECK(meet::part(all, at).empty());
  CHECK(meet::part(all, at) == std::string("t\0o", 3));
  CHECK(at == all.size());
  CHECK_THROWS_WITH_AS(meet::part(all, at), doctest::Contains("ends too early"), error);
  std::string lies(8, '\xff');
  at = 0;
  CHECK_THROWS_WITH_AS(meet::part(lies, at), doctest::Contains("ends too early"), error);
}
