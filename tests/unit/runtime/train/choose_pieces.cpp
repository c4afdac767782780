// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/choose_pieces.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// One module of two stages on one rank each; the second has twice the work of the first.
program two_stages() {
  program out;
  voice one;
  one.stages = 2;
  out.voices.push(one);
  return out;
}
program_work work_of(double seconds, double exchange) {
  program_work out;
  for (const double part : {0.5, 1.0}) {
    stage_work own;
    own.forward = own.backward_input = own.backward_weight =
        part * seconds / 3 * choice_of_processors.each.flops;
    own.forward_group_bytes = own.backward_group_bytes =
        part * exchange / 2 * choice_of_processors.each.bytes;
    out.places.push_back(own);
    out.parameters.push_back(0);
  }
  return out;
}

}  // namespace

TEST_CASE("pieces pay where products hide more than their rounds of messages cost") {
  const program of = two_stages();
  const auto chosen = [&](double product, double exchange) {
    return choose_pieces(of, work_of(product, exchange), 0, 8);
  };
  CHECK(chosen(1, 0).pieces == 1);        // nothing is exchanged
  CHECK(chosen(0, 1).pieces == 1);        // nothing hides it
  CHECK(chosen(1e-4, 1e-4).pieces == 1);  // four layers of ten exchanges take 0.2 ms for a further round
  CHECK(chosen(1, 1).pieces == 8);
  // A number between, and no other of 1, 2, 4, 8 is better.
  const chosen_pieces between = chosen(2e-3, 1e-3);
  CHECK(between.pieces > 1);
  CHECK(between.pieces < 8);
  for (const int other : {1, 2, 4, 8})
    CHECK(between.times.seconds(between.pieces) <= between.times.seconds(other));
  // What pays on processors hides nothing on GPUs, where both are over before a further round has begun.
  CHECK(choose_pieces(of, work_of(2e-3, 1e-3), 0, 8, choice_of_gpus).pieces == 1);
  // The stage with most work tells.
  CHECK(between.times.product == doctest::Approx(2e-3));
  CHECK(between.times.exchange == doctest::Approx(1e-3));
  CHECK(between.times.further == doctest::Approx(4 * 10 * choice_of_processors.round));
}

TEST_CASE("a plan leaves the number open where a tensor group has one to choose") {
  plan of;
  of.modules.push(on_ranks("a", 0, {.tensor = 2}));
  of.modules.push(on_ranks("b", 0, {.data = 2}));
  CHECK(!leaves_pieces(of));
  of.modules[1].pieces = 0;
  CHECK(!leaves_pieces(of));
  of.modules[0].pieces = 0;
  CHECK(leaves_pieces(of));
}
