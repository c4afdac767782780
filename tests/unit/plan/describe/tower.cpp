// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/tower.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr tower_outline plain() {
  tower_outline out;
  out.name = "picture";
  out.layers = 4;
  out.width = 48;
  out.heads = 6;
  out.tokens = 10;
  return out;
}
template <class Change>
constexpr verdict changed(Change change) {
  tower_outline out = plain();
  change(out);
  return check(out);
}
constexpr bool same(const verdict& a, const verdict& b) {
  return a.why == b.why && a.where == b.where && a.got == b.got && a.wanted == b.wanted;
}

}  // namespace

TEST_CASE("what is not said follows from the width and the heads") {
  tower_outline of = plain();
  CHECK((of.columns_of_head() == 8 && of.query_width() == 48 && of.key_width() == 48 &&
         of.hidden_width() == 192 && of.whole_blocks() == 4));
  of.key_heads = 2;
  of.head_width = 16;
  of.hidden = 50;
  of.end = tower_end::block_of_row;
  CHECK((of.columns_of_head() == 16 && of.query_width() == 96 && of.key_width() == 32 &&
         of.hidden_width() == 50 && of.whole_blocks() == 3));
}

TEST_CASE("numbers that do not fit each other are told") {
  static_assert(check(plain()).ok());
  CHECK(same(changed([](tower_outline& o) { o.layers = 0; }), {reason::not_positive, 0, 0, 1}));
  CHECK(same(changed([](tower_outline& o) { o.tokens = -3; }), {reason::not_positive, 0, -3, 1}));
  CHECK(same(changed([](tower_outline& o) { o.vocabulary = -1; }), {reason::not_positive, 0, -1, 0}));
  CHECK(same(changed([](tower_outline& o) { o.heads = 5; }), {reason::heads_do_not_divide, 1, 5, 48}));
  CHECK(same(changed([](tower_outline& o) { o.key_heads = 4; }), {reason::kv_heads_do_not_divide, 2, 4, 6}));
  CHECK(same(changed([](tower_outline& o) { o.experts = 2, o.chosen = 3; }),
             {reason::experts_do_not_fit, 3, 2, 3}));
  // A head of its own width need not divide the tower's.
  CHECK(changed([](tower_outline& o) { o.heads = 5, o.head_width = 16; }).ok());
  CHECK(changed([](tower_outline& o) { o.key_heads = 3; }).ok());
}

TEST_CASE("what plans are checked with") {
  model_shape of;
  of.towers.push(plain());
  of.towers.push(plain());
  of.towers[0].key_heads = 2;
  of.towers[1].name = "caption";
  of.towers[1].cached = true;
  const list<module_facts> facts = facts_of(of);
  REQUIRE(facts.size() == 2);
  CHECK((facts[0].name.view() == "picture" && facts[0].layers == 4 && facts[0].key_heads == 2 &&
         facts[0].attends && !facts[0].frozen));
  CHECK((facts[1].name.view() == "caption" && facts[1].key_heads == 6 && facts[1].frozen));
}
