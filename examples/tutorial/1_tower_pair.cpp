// SPDX-License-Identifier: Apache-2.0
// Two towers learn which sentence belongs to which picture.
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/state/rate.hpp>

#include <cstdio>
#include <numeric>

using namespace motet;

// A tower for pictures, one for sentences. Both end in 16 features, and the loss compares all pairs.
using picture_net =
    vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2, .embedding = 16}>;
using caption_net = text_tower<text_config{
    .vocabulary = 10, .context = 4, .width = 32, .layers = 1, .heads = 2, .embedding = 16}>;
using pair = model<join<info_nce, module<"picture", picture_net>, module<"caption", caption_net>>>;

int main(int argc, char** argv) try {
  // Picture k is black but for one white patch of 16; its sentence is "row R column C", a number a word.
  constexpr int kinds = 16;
  std::vector<float> pixels(kinds * 3 * 16 * 16);
  std::vector<std::int32_t> words;
  for (int k = 0; k < kinds; ++k) {
    for (int channel = 0; channel < 3; ++channel)
      for (int y = 4 * (k / 4); y < 4 * (k / 4) + 4; ++y)
        for (int x = 4 * (k % 4); x < 4 * (k % 4) + 4; ++x)
          pixels[as_size(((k * 3 + channel) * 16 + y) * 16 + x)] = 1;
    words.insert(words.end(), {8, k / 4, 9, 4 + k % 4});
  }
  const pair::batch batch{pictures{pixels.data(), kinds}, tokens{words.data(), {kinds, 4, nullptr}}};

  const auto world = launch(argc, argv);
  trainer<pair> train(world, {.batch = kinds});
  const rate_schedule rate{.peak = 1e-3, .warmup = 20, .steps = 200};
  for (isize step = 0; step < rate.steps; ++step) {
    const step_result done = train.step(batch, rate.at(step));
    if (step == 0 || step == rate.steps - 1) std::printf("step %td  loss %.1f\n", step + 1, done.loss);
  }

  // Features are rows of length one: the product of two says how near they are.
  std::vector<float> of_picture(kinds * 16), of_caption(kinds * 16);
  train.embed<"picture">(std::get<0>(batch), of_picture.data());
  train.embed<"caption">(std::get<1>(batch), of_caption.data());
  int right = 0;
  for (int p = 0; p < kinds; ++p) {
    std::vector<float> near;
    for (int c = 0; c < kinds; ++c)
      near.push_back(std::inner_product(&of_picture[as_size(16 * p)], &of_picture[as_size(16 * p)] + 16,
                                        &of_caption[as_size(16 * c)], 0.0f));
    right += std::max_element(near.begin(), near.end()) - near.begin() == p;
  }
  std::printf("%d of %d pictures find their sentence\n", right, kinds);
} catch (const error& found) {
  std::fprintf(stderr, "%s\n", found.what());
  return 1;
}
