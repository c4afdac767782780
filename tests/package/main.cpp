// SPDX-License-Identifier: Apache-2.0
// A stranger's program does this first: two small towers learn to tell four pairs apart.
#include <motet/motet.hpp>

#include <cstdio>

using namespace motet;

using picture =
    module<"picture",
           vit<vit_config{
               .image = 8, .patch = 4, .channels = 1, .width = 16, .layers = 1, .heads = 2, .embedding = 8}>>;
using caption =
    module<"caption",
           text_tower<text_config{
               .vocabulary = 16, .context = 4, .width = 16, .layers = 1, .heads = 2, .embedding = 8}>>;
using clip = model<join<info_nce, picture, caption>>;

int main(int argc, char** argv) {
  const auto world = launch(argc, argv);
  constexpr motet::isize samples = 4;
  std::vector<float> pixels;      // (samples, 1 x 8 x 8)
  std::vector<std::int32_t> ids;  // (samples, 4)
  const random_stream noise(7, "consumer");
  for (motet::isize s = 0; s < samples; ++s) {
    for (std::uint64_t p = 0; p < 64; ++p)
      pixels.push_back(static_cast<float>(noise.normal(64 * static_cast<std::uint64_t>(s) + p)));
    for (const std::int32_t id : {0, static_cast<std::int32_t>(s) + 1, 9, 15}) ids.push_back(id);
  }
  const clip::batch batch{pictures{pixels.data(), samples}, tokens{ids.data(), {samples, 4, nullptr}}};

  trainer<clip> train(world, {.batch = samples});
  const double first = train.step(batch, 3e-3).loss;
  double last = first;
  for (int step = 1; step < 60; ++step) last = train.step(batch, 3e-3).loss;
  std::printf("loss %.3f -> %.3f\n", first, last);
  return last < 0.5 * first ? 0 : 1;
}
