// SPDX-License-Identifier: Apache-2.0
// One model runs on one rank and spread over four: the plan changes who computes what, not what comes out.
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace motet;
using namespace motet::strategy;

using picture_net =
    vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 2, .heads = 2, .embedding = 16}>;
using caption_net = text_tower<text_config{
    .vocabulary = 32, .context = 8, .width = 32, .layers = 1, .heads = 2, .embedding = 16}>;
using pair = model<join<info_nce, module<"picture", picture_net>, module<"caption", caption_net>>>;

// Pictures in two stages, a block on each of ranks 0 and 1, four microbatches on their way at once; sentences
// in two replicas on ranks 2 and 3. A plan that does not fit the model does not compile.
using halves = plan_for<pair, on<"picture", ranks<0, 2>, stages<2>, microbatches<4>>,
                        on<"caption", ranks<2, 4>, data<2>, microbatches<1>>>;

int main(int argc, char** argv) try {
  // Noise in the place of pictures and words: sixteen pairs that are learnt by heart.
  constexpr int batch = 16;
  const random_stream draws(1, "tutorial");
  std::vector<float> pixels(batch * 3 * 16 * 16);
  std::vector<std::int32_t> ids(batch * 8);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(draws.normal(i));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(draws.below(i, 32));
  const pair::batch pairs{pictures{pixels.data(), batch}, tokens{ids.data(), {batch, 8, nullptr}}};

  const auto world = launch(argc, argv);
  trainer<pair> alone(world, {.batch = batch});
  trainer<pair> spread(world, halves::value(), {.batch = batch});
  for (const rank_memory& each : spread.memory())
    std::printf("a rank holds %td parameters\n", each.stages.weights / 4);

  for (int step = 1; step <= 100; ++step) {
    const double one = alone.step(pairs, 5e-4).loss, four = spread.step(pairs, 5e-4).loss;
    if (step == 1) std::printf("step 1  one rank %.4f  four ranks %.4f\n", one, four);
    if (step == 1) {
      double most = 0;
      const std::vector<float> a = alone.weights(), b = spread.weights();
      for (std::size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
      std::printf("after it the weights are %s\n", most < 1e-4 ? "the same" : "not the same");
    }
    if (step == 100) std::printf("step 100  one rank %.1f  four ranks %.1f\n", one, four);
  }
} catch (const error& found) {
  std::fprintf(stderr, "%s\n", found.what());
  return 1;
}
