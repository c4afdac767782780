// SPDX-License-Identifier: Apache-2.0

// Learns to draw from the shapes that make_shapes draws, made as they are needed, and paints a sheet of them:
// each row a shape, each column a colour. Or draws what a prompt says, by a checkpoint of train_vlm.
#include "draw/saved_drawer.hpp"
#include "make_shapes/canvas.hpp"

#include <motet/data/pictures/png.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/front/trained/painter.hpp>
#include <motet/front/trainer.hpp>
#include <motet/runtime/state/rate.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>

namespace motet::drawing {
namespace {

constexpr isize side = 32;
using net = drawer<drawer_config{.image = side,
                                 .patch = 4,
                                 .channels = 3,
                                 .width = 128,
                                 .layers = 4,
                                 .heads = 4,
                                 .classes = shapes::class_count}>;
using model_type = model<join<denoise, module<"draw", net>>>;

struct settings {
  std::string output = "shapes.png";
  isize steps = 2000, batch = 32, threads = 0, painted_in = 30;
  double rate = 1e-3, guidance = 2;
  std::uint64_t seed = 1;
  // With a checkpoint nothing is learned.
  std::string checkpoint, prompt, tokenizer;
  std::vector<std::string> pictures;
  isize count = 1;
  bool ema = false;
};

options command_line(settings& s) {
  options line(
      "draw",
      "learns to draw shapes, and paints a sheet of them; or draws what a prompt says, by a checkpoint");
  line.text(
      "--checkpoint", s.checkpoint, "DIR",
      "a run of train_vlm whose model draws, of which the newest checkpoint is taken, or one checkpoint; "
      "nothing is learned then");
  line.text("--prompt", s.prompt, "TEXT", "with --checkpoint: what to draw");
  line.texts("--picture", s.pictures, "FILE", "likewise: a picture that is seen, PNG, JPEG or PPM");
  line.count("--count", s.count, 1, 64, "likewise: so many pictures, each of another noise");
  line.text("--tokenizer", s.tokenizer, "FILE", "likewise: default is tokenizer.json in the run");
  line.flag("--ema", s.ema, "likewise: the moving averages of the weights, not those of the last step");
  line.text("--output", s.output, "FILE", "a picture of what it paints at the end, PNG or PPM by its name");
  line.count("--steps", s.steps, 1, "to train");
  line.count("--batch", s.batch, 1, "pictures in a step");
  line.real("--lr", s.rate, 0, 1e6, "learning rate at its highest");
  line.count("--paint-steps", s.painted_in, 1, "from noise to a picture");
  line.real("--guidance", s.guidance, 0, 100,
            "how far from pictures of anything to those that are asked for");
  line.count("--threads", s.threads, 0, "0: all processors");
  line.count("--seed", s.seed, "of weights, pictures and noise");
  return line;
}

// Pictures of a step: which they are depends on the seed and the step alone. Levels of light go from -1 to 1.
class shape_batch {
 public:
  shape_batch(const settings& s, isize step) : classes_(as_size(s.batch)) {
    shapes::canvas page(side);
    for (isize i = 0; i < s.batch; ++i) {
      const isize number = step * s.batch + i;
      shapes::dice roll(s.seed, "draw", number);
      const shapes::scene shown = shapes::imagine(roll, number % shapes::class_count);
      classes_[as_size(i)] = static_cast<std::int32_t>(shown.class_id());
      const bitmap& drawn = page.draw(shown, roll.stream());
      for (isize c = 0; c < 3; ++c)
        for (isize p = 0; p < side * side; ++p)
          pixels_.push_back(static_cast<float>(drawn.pixels[as_size(3 * p + c)]) / 127.5f - 1);
    }
    all = {{pixels_.data(), s.batch},
           classes_.data(),
           {.seed = s.seed, .step = static_cast<std::uint64_t>(step)},
           1 / static_cast<double>(s.batch)};
  }
  drawn_pictures all;

 private:
  std::vector<float> pixels_;
  std::vector<std::int32_t> classes_;
};

bitmap sheet_of(const std::vector<float>& painted) {
  constexpr isize across = shapes::colour_count, down = shapes::shape_count;
  bitmap sheet{across * side, down * side,
               std::vector<std::uint8_t>(as_size(3 * across * down * side * side))};
  for (isize k = 0; k < shapes::class_count; ++k)
    for (isize c = 0; c < 3; ++c)
      for (isize y = 0; y < side; ++y)
        for (isize x = 0; x < side; ++x) {
          const float light = painted[as_size(((k * 3 + c) * side + y) * side + x)];
          const isize row = k % down * side + y, column = k / down * side + x;
          sheet.pixels[as_size(3 * (row * sheet.width + column) + c)] =
              static_cast<std::uint8_t>(std::clamp(127.5f * (light + 1) + 0.5f, 0.0f, 255.0f));
        }
  return sheet;
}

// Options of the one kind mean nothing to the other.
void check_kind(const options& line, const settings& s) {
  const bool saved = !s.checkpoint.empty();
  std::vector<const char*> others{"--prompt", "--picture", "--count", "--tokenizer", "--ema"};
  if (saved) others = {"--steps", "--batch", "--lr"};
  for (const char* const each : others)
    if (line.given(each))
      fail(bad_option_value, std::string(each) + (saved ? " with --checkpoint, of which nothing is learned"
                                                        : " without --checkpoint, the run that draws so"));
}

void run(const settings& s) {
  if (!s.checkpoint.empty())
    return paint_saved({s.checkpoint,
                        s.prompt,
                        s.tokenizer,
                        s.output,
                        s.pictures,
                        s.count,
                        s.threads,
                        s.ema,
                        {.seed = s.seed, .steps = s.painted_in, .guidance = static_cast<float>(s.guidance)}});
  const std::string threads = std::to_string(s.threads);
  const char* const words[] = {"draw", "--threads", threads.c_str()};
  const launched_world world = launch(s.threads > 0 ? 3 : 1, words);
  trainer<model_type> train(world, {.batch = s.batch, .seed = s.seed});
  const rate_schedule rate{
      .peak = s.rate, .warmup = std::min<isize>(100, s.steps / 10 + 1), .steps = s.steps};
  double sum = 0;
  isize told = 0;
  for (isize step = 0; step < s.steps; ++step) {
    sum += train.step({shape_batch(s, step).all}, rate.at(step)).loss;
    if ((step + 1) * 20 / s.steps == step * 20 / s.steps) continue;
    std::printf("step %-6td loss %.4f\n", step + 1, sum / static_cast<double>(step + 1 - told));
    std::fflush(stdout);
    sum = 0, told = step + 1;
  }
  std::vector<std::int32_t> classes(as_size(shapes::class_count));
  for (std::size_t k = 0; k < classes.size(); ++k) classes[k] = static_cast<std::int32_t>(k);
  const std::vector<float> weights = train.weights();
  painter<net> paints(train.device(), weights.data());
  const bitmap sheet = sheet_of(paints.paint(
      classes, {.seed = s.seed, .steps = s.painted_in, .guidance = static_cast<float>(s.guidance)}));
  write_file(s.output, s.output.ends_with(".ppm") ? encode_ppm(sheet) : encode_png(sheet));
  std::printf("painted %td shapes in %s\n", shapes::class_count, s.output.c_str());
}

}  // namespace
}  // namespace motet::drawing

int main(int count, char** words) {
  motet::drawing::settings s;
  motet::options line = motet::drawing::command_line(s);
  try {
    if (!line.parse(count, words))
      return std::fputs((line.help() + motet::exit_table()).c_str(), stdout) < 0 ? 1 : 0;
    motet::drawing::check_kind(line, s);
    motet::drawing::run(s);
  } catch (const std::exception& problem) {
    return motet::report_failure(problem);
  }
  return 0;
}
