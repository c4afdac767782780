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

TEST_CASE("parts that a program makes are those of the models that are known") {
  const auto same = [](const chain_part& a, const chain_part& b) {
    return a.name == b.name && a.layers == b.layers && a.width == b.width && a.parameters == b.parameters &&
           a.flops == b.flops && a.kept_bytes == b.kept_bytes;
  };
  const chain_model& small = *find_chain("mllm-9b");
  CHECK(same(detail::vit_huge(), small.parts[0]));
  CHECK(same(detail::language_part(32, 4096, 11008, 4096), small.parts[chain_model::middle]));
  CHECK(same(detail::diffusion_part(false), small.parts[2]));
  // ViT-Huge has 632 million parameters, Llama 2 of this size 6.7 billion beside its tables, and pictures of
  // twice the side take four times as many rows or more.
  CHECK(detail::vit_huge().parameters == doctest::Approx(632e6).epsilon(0.01));
  CHECK(detail::language_part(32, 4096, 11008, 4096).parameters - 2 * 128256.0 * 4096 ==
        doctest::Approx(6.5e9).epsilon(0.02));
  CHECK(detail::diffusion_part(true).flops > 4 * detail::diffusion_part(false).flops);
}
