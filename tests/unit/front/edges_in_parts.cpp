// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges
// An eye that feeds a language model itself, both cut by context or one of them: each rank gives the rows
// that it has made, each takes those of its places, and what is learnt is what one rank learns.
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include <motet/nn/layers/pictured_text.hpp>

#include "deviation.hpp"
#include "unit/runtime/small_edges.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config sight{.image = 4,
                           .patch = 2,
                           .channels = 1,
                           .width = 16,
                           .layers = 2,
                           .heads = 4,
                           .hidden = 12,
                           .pool = pool_kind::mean};
using eye = vit_rows<sight, true, 2>;
template <bool EyeFrozen>
using told =
    model<modules<module<"eye", kept_if<eye, EyeFrozen>>, module<"talk", fed_decoder<small_sight_words, 8>>>,
          edge<"eye", "talk">, loss<next_token, "talk">>;
constexpr motet::isize samples = 7;

static_assert(eye::rows_of_picture == 4 && eye::embedding == 16 && eye::stage::ends_parts);

// Samples of none to two pictures before two to four words, of which all but the first are asked for.
struct text {
  pictured_text words{eye::rows_of_picture};
  std::vector<float> pixels;
  motet::isize shown = 0;
  explicit text(std::uint64_t seed) {
    const random_stream draw(seed, "text");
    words.clear();
    for (std::int32_t s = 0; s < samples; ++s) {
      for (std::int32_t k = 0; k < (s + static_cast<std::int32_t>(seed)) % 3; ++k, ++shown) words.show();
      const std::int32_t said[]{s, (s * 5 + 3) % 23, (s * 7 + 2) % 23, 4};
      words.say(std::span(said).first(1), pictured_text::said::given);
      words.say(std::span(said).subspan(1, static_cast<std::size_t>(1 + s % 3)), pictured_text::said::asked);
      words.end();
    }
    for (motet::isize i = 0; i < shown * 16; ++i)
      pixels.push_back(static_cast<float>(draw.normal(static_cast<std::uint64_t>(i))));
  }
  auto get() const { return words.apart({pixels.data(), shown}); }
};
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Model>
steps train(const plan* how) {
  const char* const line[] = {"program", "--threads", "1"};
  const launched_world world = launch(3, line);
  const trainer_options wanted{.batch = samples};
  trainer<Model> by = how != nullptr ? trainer<Model>(world, *how, wanted) : trainer<Model>(world, wanted);
  steps out;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const text data(k);
    const step_result found = by.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
plan cut(const degrees& sees, const degrees& talks, int seen, int parts, std::int32_t first, bool balanced) {
  plan out;
  out.schedule = "1f1b";
  out.modules.push(on_ranks("eye", 0, sees, seen));
  out.modules.push(on_ranks("talk", first, talks, parts));
  for (module_plan& each : out.modules) each.group = 1, each.balanced = balanced;
  out.cluster.ranks =
      std::max(static_cast<std::int32_t>(sees.size()), first + static_cast<std::int32_t>(talks.size()));
  return out;
}
template <class Model>
void check_plans_are_one_rank() {
  const steps want = train<Model>(nullptr);
  for (const bool balanced : {false, true})
    for (const plan& how :
         {cut({.context = 2}, {.context = 2}, 2, 2, 0, balanced),
          cut({.context = 2}, {.context = 2}, 1, 1, 2, balanced), cut({.context = 3}, {}, 2, 1, 3, balanced),
          cut({.context = 3}, {.context = 2}, 3, 2, 1, balanced),
          cut({.data = 2, .context = 2}, {.stages = 2, .context = 2}, 2, 3, 0, balanced),
          cut({.context = 2, .tensor = 2}, {.context = 2, .tensor = 2}, 3, 3, 0, balanced),
          cut({.context = 4}, {.data = 2, .tensor = 2}, 1, 2, 0, balanced)}) {
      const steps got = train<Model>(&how);
      CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
      CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
      CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
    }
}

}  // namespace

TEST_CASE("an eye whose samples are cut, before a language model whose samples are cut, is one rank") {
  check_plans_are_one_rank<told<false>>();
  check_plans_are_one_rank<told<true>>();
}
