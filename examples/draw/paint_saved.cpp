// SPDX-License-Identifier: Apache-2.0
#include "saved_drawer.hpp"

#include <motet/data/pictures/png.hpp>
#include <motet/data/pictures/sheet.hpp>
#include <motet/data/samples/sample_reader.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace motet::drawing {
namespace {

std::unique_ptr<saved_drawer> open_saved(const drawer_request& wanted) {
  const std::string& model = wanted.saved->model();
  const bool known = model.substr(0, model.find('/')) == "draw-quick";
  if (known && make_draw_quick != nullptr) return make_draw_quick(wanted);
  fail(bad_option_value,
       sentence({"--checkpoint ", wanted.saved->path().string(), " has model \"", model, "\"",
                 (known ? ", which this program was compiled without; configure with "
                          "-DMOTET_MODELS=draw_quick and build again"
                        : "; those that draw are draw-quick, of train_vlm")}));
}

}  // namespace

void paint_saved(const saved_request& wanted) {
  if (wanted.prompt.empty()) fail(option_missing, "--prompt, which says what --checkpoint is to draw");
  const checkpoint saved(wanted.checkpoint);
  const int threads = wanted.threads > 0 ? static_cast<int>(wanted.threads)
                                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto model =
      open_saved({&saved, wanted.averages ? weights_of::averages : weights_of::last_step, threads});
  if (const auto shown = static_cast<isize>(wanted.pictures.size()); shown > model->most_seen())
    fail(bad_option_value, sentence({"--picture ", wanted.pictures.back(), ": ", shown, " pictures, model \"",
                                     model->facts().name, "\" sees ", model->most_seen()}));
  const tokenizer words = read_tokenizer(
      wanted.tokenizer.empty() ? (saved.path().parent_path() / "tokenizer.json").string() : wanted.tokenizer);
  generate::prompt of = generate::write_prompt(words, model->facts(), wanted.prompt, wanted.pictures);
  // It has learned from texts that end.
  const auto& ends = marks_of(words).after_asked;
  of.ids.insert(of.ids.end(), ends.begin(), ends.end());
  const isize rows = static_cast<isize>(of.ids.size()) + of.pictures * (model->facts().rows - 1);
  if (rows > model->facts().context)
    fail(bad_option_value,
         sentence({"--prompt is too long: with what is seen it has ", rows, " rows, model \"",
                   model->facts().name, "\" has room for ", model->facts().context}));
  const std::vector<float> painted = model->paint(of, wanted.count, wanted.how);
  const isize side = model->facts().side;
  bitmap sheet;
  for (isize k = 0; k < wanted.count; ++k)
    sheet = beside(sheet, shown(painted.data() + 3 * k * side * side, side));
  write_file(wanted.output, wanted.output.ends_with(".ppm") ? encode_ppm(sheet) : encode_png(sheet));
  std::printf("painted %td pictures of \"%s\" in %s\n", wanted.count, wanted.prompt.c_str(),
              wanted.output.c_str());
}

}  // namespace motet::drawing
