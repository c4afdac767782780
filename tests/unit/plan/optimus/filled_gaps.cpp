// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/filled_gaps.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const filled_model asked = *find_filled_model("vit-3b+gpt-11b");
const cluster_facts on = cluster_named("hopper-64");

machine_profile recorded(list<measured_gaps> gaps, double bytes = 2) {
  machine_profile out;
  out.activation_bytes = bytes;
  out.gaps = std::move(gaps);
  return out;
}
filled_costs with(list<measured_gaps> gaps) {
  return filled_costs(asked, on, {}, gaps_of_filled(recorded(std::move(gaps)), "p.json", asked, on));
}

}  // namespace

TEST_CASE("what computes takes what it took, and measured waits stand in place of counted ones") {
  const filled_costs counted(asked, on),
      measured = with({{"gpt-11b", {.tensor = 8}, {.forward = 0.25, .input = 0.5, .weight = 0}},
                       {"vit-3b", {.tensor = 2}, {.forward = 0.2, .input = 0.2, .weight = 0.2}}});
  const layered_model &talk = asked.language, &eye = asked.encoders[0];
  const double forward = counted.forward(talk, 8), back = counted.backward(talk, 8);
  CHECK(measured.whole_forward(talk, 8) == doctest::Approx(forward / 0.75));
  CHECK(measured.whole_backward(talk, 8) == doctest::Approx(back / 2 / 0.5 + back / 2));
  CHECK(measured.waits_forward(talk, 8) == doctest::Approx(forward / 3));
  CHECK(measured.whole_forward(eye, 2) == doctest::Approx(counted.forward(eye, 2) / 0.8));
  CHECK(measured.whole_backward(eye, 2) == doctest::Approx(counted.backward(eye, 2) / 0.8));
  // Under other degrees messages are counted.
  CHECK(measured.whole_forward(eye, 4) == counted.whole_forward(eye, 4));
}
TEST_CASE("every search counts gaps as they were measured, and says so") {
  const filled_costs counted(asked, on);
  for (const filled_search by :
       {filled_search::optimus, filled_search::megatron, filled_search::balanced, filled_search::motet}) {
    CAPTURE(static_cast<int>(by));
    const filled_answer before = search_filled(by, counted, 32);
    CHECK(before.measured.empty());
    // As long as counted ones they change nothing.
    const auto share = [&](double waits, double computes) { return waits / (waits + computes); };
    const layered_model& talk = asked.language;
    const double back = share(counted.waits_back(talk, 8), counted.backward(talk, 8));
    const filled_answer same =
        search_filled(by,
                      with({{talk.name,
                             {.tensor = 8},
                             {share(counted.waits_forward(talk, 8), counted.forward(talk, 8)), back, back}}}),
                      32);
    CHECK(same.step_seconds == doctest::Approx(before.step_seconds));
    CHECK(same.idle.exchange == doctest::Approx(before.idle.exchange));
    CHECK(same.measured == std::vector<label>{talk.name});
    // Who waits for longer takes longer.
    const filled_answer late = search_filled(
        by, with({{talk.name, {.tensor = 8}, {.forward = 0.8, .input = 0.8, .weight = 0.8}}}), 32);
    CHECK(late.step_seconds > 1.1 * before.step_seconds);
    CHECK(late.idle.exchange > before.idle.exchange);
  }
}
TEST_CASE("gaps of what is not planned are refused") {
  const auto refused = [](const machine_profile& from, const char* words) {
    CHECK_THROWS_WITH_AS(gaps_of_filled(from, "p.json", asked, on), doctest::Contains(words), error);
    CHECK_THROWS_WITH_AS(gaps_of_filled(from, "p.json", asked, on), doctest::Contains("MT-P97"), error);
  };
  refused(recorded({}), "p.json has none, and vit-3b+gpt-11b has no use for its other times");
  refused(recorded({{"gpt-11b", {.tensor = 8}, {}}}, 4),
          "p.json is of activations of 4 bytes, those of vit-3b+gpt-11b have 2");
  refused(recorded({{"vit-3b", {.tensor = 4}, {}}, {"talk", {.tensor = 8}, {}}}),
          "gaps[1] of p.json is of talk, wanted one of vit-3b, gpt-11b");
  refused(recorded({{"gpt-11b", {.tensor = 4}, {}}}),
          "gaps[0] of p.json is of gpt-11b under degrees that no plan has here, wanted tensor 8 and nothing "
          "else");
  for (const gap_degrees& under :
       {gap_degrees{.tensor = 3}, gap_degrees{.tensor = 16}, gap_degrees{.tensor = 2, .context = 2},
        gap_degrees{.tensor = 2, .zero = 2, .data = 2}})
    refused(recorded({{"vit-3b", under, {}}}), "wanted tensor a divisor of 8 and nothing else");
}
