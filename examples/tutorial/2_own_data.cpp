// SPDX-License-Identifier: Apache-2.0
// Pictures and sentences of one's own become a data set, and a model learns from it.
#include <motet/data/shards/tar_writer.hpp>
#include <motet/data/steps/loader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <cstdio>

using namespace motet;

using picture_net =
    vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2, .embedding = 16}>;
using caption_net = text_tower<text_config{
    .vocabulary = 300, .context = 16, .width = 32, .layers = 1, .heads = 2, .embedding = 16}>;
using pair = model<join<info_nce, module<"picture", picture_net>, module<"caption", caption_net>>>;

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : ".", shard = folder + "/own.tar";
  // A shard is a tar file. Members of one name are a sample: a picture (PNG, JPEG or PPM) and its caption.
  const char *colours[] = {"red", "green", "blue", "white"},
             *corners[] = {"upper left", "upper right", "lower left", "lower right"};
  tar_writer tar(shard);
  tokenizer_trainer letters;
  for (int k = 0; k < 16; ++k) {
    bitmap drawn{16, 16, std::vector<std::uint8_t>(16 * 16 * 3)};
    for (int y = 8 * (k % 4 / 2); y < 8 * (k % 4 / 2) + 8; ++y)
      for (int x = 8 * (k % 2); x < 8 * (k % 2) + 8; ++x)
        for (int c = 0; c < 3; ++c)
          drawn.pixels[as_size((y * 16 + x) * 3 + c)] = k / 4 == c || k / 4 == 3 ? 255 : 0;
    const std::string name = std::to_string(100 + k),
                      caption = std::string("the ") + corners[k % 4] + " is " + colours[k / 4];
    tar.add(name + ".ppm", encode_ppm(drawn));
    tar.add(name + ".txt", caption);
    letters.add(caption);
  }
  tar.finish(), tar.commit();
  write_file(folder + "/tokenizer.json", format_tokenizer(letters.train(300)));

  // From here on it is as with any data set: shards, a vocabulary, batches made ahead of the step.
  skip_log skips;
  const tokenizer words = read_tokenizer(folder + "/tokenizer.json");
  const pair_source source(list_shards(shard), skips);
  pair_loader loader(source, words, {.batch = 16, .augment = {}, .example = {.image = 16, .context = 16}});
  std::printf("%td samples, %td left out, %td tokens\n", source.size(), skips.count(), words.size());
  const auto world = launch(1, argv);
  trainer<pair> train(world, {.batch = 16});
  for (int step = 1; step <= 300; ++step) {
    const pair_batch& next = loader.next();
    const pictures shown{next.pixels.data, next.size()};
    const step_result done = train.step({shown, tokens{next.tokens.data(), next.captions()}}, 5e-4);
    if (step == 1 || step == 300) std::printf("step %d  loss %.1f\n", step, done.loss);
  }
} catch (const error& found) {
  std::fprintf(stderr, "%s\n", found.what());
  return 1;
}
