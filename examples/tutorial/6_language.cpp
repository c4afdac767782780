// SPDX-License-Identifier: Apache-2.0
// A language model learns a rhyme by heart, letter by letter, and says it.
#include <motet/front/trained/speaker.hpp>
#include <motet/front/trainer.hpp>
#include <motet/runtime/state/rate.hpp>

#include <cstdio>

using namespace motet;

// Llama's form: rotary positions, grouped queries, gated mlps. A token is a byte.
using talk = decoder<decoder_config{
    .vocabulary = 128, .context = 64, .width = 64, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 128}>;
using speech = model<join<next_token, module<"talk", talk>>>;

int main(int argc, char** argv) try {
  const std::string lines[] = {"Twinkle, twinkle, little star,", "How I wonder what you are!",
                               "Up above the world so high,", "Like a diamond in the sky."};
  // Each line is a sample of its own length, and each letter is to be followed by the next one. Nothing is
  // asked behind the end of a line.
  std::vector<std::int32_t> letters, targets;
  std::vector<motet::isize> offsets{0};
  for (const std::string& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      letters.push_back(line[i]);
      targets.push_back(i + 1 < line.size() ? line[i + 1] : -1);
    }
    offsets.push_back(static_cast<motet::isize>(letters.size()));
  }
  // The loss is the mean over all letters that are asked for, whatever sample or rank they are in.
  const auto asked =
      static_cast<double>(std::count_if(targets.begin(), targets.end(), [](int t) { return t >= 0; }));
  const labelled_tokens batch{{letters.data(), {4, 0, offsets.data()}}, targets.data(), 1 / asked};

  const auto world = launch(argc, argv);
  trainer<speech> train(world, {.batch = 4});
  const rate_schedule rate{.peak = 3e-3, .warmup = 10, .steps = 120};
  for (isize step = 0; step < rate.steps; ++step) {
    const step_result done = train.step({batch}, rate.at(step));
    if (step == 0 || step == rate.steps - 1) std::printf("step %td  loss %.1f\n", step + 1, done.loss);
  }

  // It goes on from the first letters with the likeliest next one, until the line ends.
  const std::vector<float> weights = train.weights();
  speaker<talk> says(train.device(), weights.data());
  const said_tokens said = says.say(std::vector<std::int32_t>{'H', 'o', 'w'}, {.end = '!'});
  std::printf("How%s\n", std::string(said.tokens.begin(), said.tokens.end()).c_str());
} catch (const error& found) {
  std::fprintf(stderr, "%s\n", found.what());
  return 1;
}
