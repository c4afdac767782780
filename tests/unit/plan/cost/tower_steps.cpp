// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/tower_steps.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr tower_outline encoder() {
  tower_outline out;
  out.layers = 3;
  out.width = 40;
  out.heads = 5;
  out.tokens = 6;
  out.hidden = 70;
  out.embedding = 12;
  return out;
}
bool is(const product_step& of, double rows, double inner, double columns) {
  return of.rows == doctest::Approx(rows) && of.inner == inner && of.columns == columns;
}

}  // namespace

TEST_CASE("a block is four products and attention") {
  const part_steps made = steps_of(encoder(), tower_part::block);
  REQUIRE((made.products.size() == 4 && made.attention.size() == 1));
  CHECK(is(made.products[0], 6, 40, 120));
  CHECK(is(made.products[1], 6, 40, 40));
  CHECK(is(made.products[2], 6, 40, 70));
  CHECK(is(made.products[3], 6, 70, 40));
  CHECK((made.attention[0].width == 40 && made.attention[0].pairs == 36 && made.attention[0].seen == 1));
  // Each tensor begins on a line of 16 numbers: two norms, four weights, four biases.
  CHECK(made.parameters == 4 * 48 + (4800 + 1600 + 2800 + 2800) + (128 + 48 + 80 + 48));
}

TEST_CASE("a cut block has the largest share of heads and hidden units, for all rows") {
  const part_steps made = steps_of(encoder(), tower_part::block, {.tensor = 2});
  // Three of five heads, 35 of 70 units.
  CHECK(is(made.products[0], 6, 40, 72));
  CHECK(is(made.products[1], 6, 24, 40));
  CHECK(is(made.products[2], 6, 40, 35));
  CHECK(is(made.products[3], 6, 35, 40));
  CHECK(made.attention[0].width == 24);
  CHECK(made.parameters == 4 * 48 + (2880 + 960 + 1408 + 1408) + (80 + 48 + 48 + 48));
  // Queries that share keys stay together: two key heads of three have four of six heads.
  tower_outline grouped = encoder();
  grouped.width = 48;
  grouped.heads = 6;
  grouped.key_heads = 3;
  const part_steps shared = steps_of(grouped, tower_part::block, {.tensor = 2});
  CHECK(is(shared.products[0], 6, 48, 4 * 8 + 2 * 16));
  CHECK(is(shared.products[1], 6, 32, 48));
}

TEST_CASE("a block is its halves, one behind the other, and the part with most of an uneven cut counts") {
  tower_outline of{.name = "of", .layers = 2, .width = 16, .heads = 4, .tokens = 7};
  for (const isize experts : {0, 4})
    for (const degrees& split : {degrees{}, degrees{.context = 2}, degrees{.context = 2, .tensor = 2}}) {
      of.experts = experts;
      const part_steps whole = steps_of(of, tower_part::block, split),
                       first = steps_of(of, tower_part::attention, split),
                       second = steps_of(of, tower_part::perceptron, split);
      CHECK(whole.products.size() == first.products.size() + second.products.size());
      CHECK((first.attention.size() == 1 && second.attention.empty()));
      CHECK(whole.parameters == first.parameters + second.parameters);
      CHECK(whole.kept == first.kept + second.kept);
      CHECK(whole.of_experts == second.of_experts);
      // Four rows of seven, and all pairs of half of the heads.
      CHECK(first.products[0].rows == (split.context == 2 ? 4 : 7));
      CHECK(first.attention[0].width * first.attention[0].pairs == 16.0 / split.tensor / split.context * 49);
    }
  of.ring = true;
  CHECK(steps_of(of, tower_part::attention, {.context = 2}).attention[0].width *
            steps_of(of, tower_part::attention, {.context = 2}).attention[0].pairs ==
        16 * 4 * 7);
}

TEST_CASE("context parts have their rows, and all pairs of some heads or some pairs of all") {
  tower_outline of = encoder();
  const part_steps exchanged = steps_of(of, tower_part::block, {.context = 2});
  CHECK(is(exchanged.products[0], 3, 40, 120));
  CHECK((exchanged.attention[0].width == 24 && exchanged.attention[0].pairs == 36));
  of.ring = true;
  CHECK(steps_of(of, tower_part::block, {.context = 2}).attention[0].width == 20);
}

TEST_CASE("a causal mask hides nearly half of all pairs") {
  tower_outline of = encoder();
  of.causal = true;
  CHECK(steps_of(of, tower_part::block).attention[0].seen == doctest::Approx(21.0 / 36));
  of.tokens = 1;
  CHECK(steps_of(of, tower_part::block).attention[0].seen == 1);
}

TEST_CASE("gates are a product more, experts as many as are chosen") {
  tower_outline of = encoder();
  of.gated = true;
  CHECK(is(steps_of(of, tower_part::block).products[2], 6, 40, 140));
  of.gated = false;
  of.experts = 3;
  of.chosen = 2;
  const part_steps made = steps_of(of, tower_part::block),
                   cut = steps_of(of, tower_part::block, {.tensor = 2});
  REQUIRE(made.products.size() == 5);
  CHECK(is(made.products[2], 6, 40, 3));
  CHECK(is(made.products[3], 12, 40, 70));
  CHECK(is(made.products[4], 12, 70, 40));
  // Two of three experts, which get two thirds of all choices; the router sees own rows.
  CHECK(is(cut.products[2], 3, 40, 3));
  CHECK(is(cut.products[3], 8, 40, 70));
}

TEST_CASE("what is before and behind the blocks is cut by samples") {
  tower_outline of = encoder();
  of.vocabulary = 100;
  CHECK(steps_of(of, tower_part::before).products.empty());
  CHECK(steps_of(of, tower_part::before).parameters == 100 * 40 + 240);
  CHECK(steps_of(of, tower_part::before, {.tensor = 4}).parameters == 100 * 40 + 240);
  of.cut_vocabulary = true;
  CHECK(steps_of(of, tower_part::before, {.tensor = 3}).parameters == 34 * 40 + 240);
  of.vocabulary = 0;
  of.patch = 27;
  CHECK(is(steps_of(of, tower_part::before, {.context = 2, .tensor = 3}).products[0], 1, 27, 40));
  REQUIRE(steps_of(of, tower_part::behind).products.size() == 1);
  CHECK(is(steps_of(of, tower_part::behind, {.tensor = 4}).products[0], 0.25, 40, 12));
  of.embedding = 0;
  CHECK(steps_of(of, tower_part::behind).products.empty());
  // One query over all rows: keys and values, what comes out, and the projection.
  of.embedding = 12;
  of.end = tower_end::attention;
  const part_steps looks = steps_of(of, tower_part::behind);
  REQUIRE(looks.products.size() == 3);
  CHECK(is(looks.products[0], 6, 40, 80));
  CHECK(is(looks.products[1], 1, 40, 40));
  CHECK(looks.attention[0].pairs == 6);
  // The last block of one row: also its query and its perceptron.
  of.end = tower_end::block_of_row;
  const part_steps row = steps_of(of, tower_part::behind);
  REQUIRE(row.products.size() == 6);
  CHECK(is(row.products[4], 1, 70, 40));
  // Its parameters are a block's, a norm's and the projection's.
  CHECK(row.parameters == steps_of(of, tower_part::block).parameters + 2 * 48 + 480);
}

TEST_CASE("a tower whose features are known takes no steps") {
  tower_outline of = encoder();
  of.cached = true;
  for (const tower_part each : {tower_part::before, tower_part::block, tower_part::behind}) {
    const part_steps none = steps_of(of, each);
    CHECK((none.products.empty() && none.attention.empty() && none.row_by_row.empty() &&
           none.parameters == 0 && none.kept == 0));
  }
}
