// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/chain_model.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("sizes and work are those of the published models") {
  // Billions of parameters of the whole, and TFLOP of a sample forward through the language model.
  constexpr double wanted[][2] = {{9, 132}, {15, 240}, {72, 1235}};
  for (std::size_t k = 0; k < 3; ++k) {
    const chain_model& own = known_chains[k];
    CAPTURE(own.name.view());
    double parameters = 0;
    for (const chain_part& each : own.parts) parameters += each.parameters;
    CHECK(parameters / 1e9 == doctest::Approx(wanted[k][0]).epsilon(0.06));
    CHECK(own.flops(chain_model::middle) / 1e12 == doctest::Approx(wanted[k][1]).epsilon(0.03));
    CHECK(find_chain(own.name.view()) == &own);
  }
  CHECK(find_chain("clip") == nullptr);
}

// Forward and both parts of backward, in units of a forward.
TEST_CASE("what does not learn goes back as far as something before it does") {
  struct phase {
    bool learns[3];
    double backward[3];
  };
  for (const phase& each : {phase{{true, true, true}, {2, 2, 2}}, phase{{false, false, false}, {0, 1, 1}},
                            phase{{true, false, false}, {2, 1, 1}}, phase{{false, true, false}, {0, 2, 1}},
                            phase{{false, false, true}, {0, 1, 2}}}) {
    chain_model own = known_chains[0];
    for (motet::isize k = 0; k < 3; ++k) own.parts[k].learns = each.learns[k];
    for (motet::isize k = 0; k < 3; ++k) CHECK_EQ(own.backward(k), each.backward[k]);
  }
}
