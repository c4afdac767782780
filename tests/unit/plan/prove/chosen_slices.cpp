// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/chosen_slices.hpp>

#include <motet/plan/prove/require_plan.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr list<module_facts> eye_and_talk() {
  list<module_facts> out;
  out.push({.name = "eye", .layers = 4, .meets = false});
  out.push({.name = "talk", .layers = 8});
  out[1].from.push(0);
  return out;
}
// An eye of 32 forward on each of four ranks, for two of eight microbatches.
constexpr plan filled(label schedule, int chunks, int slices) {
  plan of{{.ranks = 4}, schedule, {}};
  of.modules.push(on_ranks("eye", 0, {.data = 4}, 2));
  of.modules.push(on_ranks("talk", 0, {.stages = 4}, 8));
  of.modules[0].fills = true;
  of.modules[0].chunks = slices;
  of.modules[0].forward_takes = 32;
  of.modules[1].chunks = chunks;
  of.modules[1].forward_takes = 64;
  of.modules[0].group = of.modules[1].group = 1;
  return of;
}
constexpr bool settles_as(label schedule, int chunks, int wanted) {
  plan out;
  return settle_plan(filled(schedule, chunks, 0), eye_and_talk(), 16, out).ok() &&
         out == filled(schedule, chunks, wanted);
}
std::string refusal(const plan& of) { return explain_plan(of, eye_and_talk(), 16); }

}  // namespace

TEST_CASE("as few slices as make the step shortest are chosen, one where the eye fits whole") {
  CHECK(settles_as("1f1b", 1, 2));
  CHECK(settles_as("interleaved", 2, 2));
  CHECK(settles_as("zb_h1", 1, 1));
}
TEST_CASE("numbers that are said stay, and proofs and trainers see the chosen one") {
  for (const int slices : {1, 2, 4}) {
    plan out;
    REQUIRE(settle_plan(filled("1f1b", 1, slices), eye_and_talk(), 16, out).ok());
    CHECK(out == filled("1f1b", 1, slices));
  }
  const plan open = filled("1f1b", 1, 0);
  CHECK(prove_plan(open, eye_and_talk(), 16).ok());
  const proven_plan made = require_proven(open, eye_and_talk(), 16);
  CHECK(made.value == filled("1f1b", 1, 2));
  CHECK(made.order.voices()[0].stages == 2);
  // Four layers on a rank cannot be more than four slices, however short gaps are.
  plan long_eye = filled("1f1b", 1, 0);
  long_eye.modules[0].forward_takes = 3200;
  CHECK(require_plan(long_eye, eye_and_talk(), 16).modules[0].chunks <= 4);
}
TEST_CASE("a number is open where a module fills, and says nothing of its stages") {
  plan of = filled("1f1b", 1, 0);
  of.modules[0].layers = {4};
  CHECK(refusal(of).find("eye: chunks 0 leaves the number of its slices open") != std::string::npos);
  of = filled("1f1b", 0, 1);
  CHECK(refusal(of).find("talk: got 0, wanted at least 1") != std::string::npos);
  of = filled("1f1b", 1, 0);
  of.modules[0].fills = false;
  CHECK(refusal(of).find("MT-P01") == std::string::npos);
  CHECK(refusal(of).find("eye: got 0, wanted at least 1") != std::string::npos);
}
