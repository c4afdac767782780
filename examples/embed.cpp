// SPDX-License-Identifier: Apache-2.0

// Features of a Hugging Face CLIP model. The model's header is made when this program is built
// (-DMOTET_EMBED_HF=DIR); its weights are read at run time.
#include "hf_program.hpp"

#include <imported_model.hpp>

#include <motet/format/hf_clip_describe.hpp>
#include <motet/format/hf_clip_tensors.hpp>
#include <motet/format/safetensors_write.hpp>
#include <motet/model/describe.hpp>
#include <motet/motet.hpp>

#include <charconv>
#include <limits>
#include <thread>

namespace motet::embed {
namespace {

constexpr const char* usage =
    "embed --weights DIR --input X.safetensors --output Y.safetensors [--threads N] [--batch N]\n"
    "\n"
    "X holds pixel_values (pictures, channels, side, side), already normalised, or input_ids (captions, "
    "tokens), or both.\n"
    "Y gets image_embeds and text_embeds, rows of length one.\n"
    "\n"
    "  --weights DIR   the model that this program was built for: config.json and model.safetensors, in one "
    "file or several\n"
    "  --threads N     default: all cores\n"
    "  --batch N       samples computed at once (default 32)\n";

using model = imported_model::model;
constexpr std::size_t picture_at = model::position<"picture">(), caption_at = model::position<"caption">();

struct options {
  std::string weights, input, output;
  int threads = 0;
  index batch = 32;
};

std::vector<loaded_tensor> tensors_of(const buffer<float>& parameters) {
  std::vector<loaded_tensor> out;
  for (const parameter& p : model::parameters()) {
    out.push_back({p.name, p.vector ? std::vector<index>{p.width} : std::vector<index>{p.rows, p.width},
                   parameters.data() + p.offset});
  }
  return out;
}

using computer = embedder<fp32, cpu::device>;
using features = std::vector<float>;  // (samples, embedding)

// The module's features of these samples.
void embed_batch(computer& by, const buffer<float>& parameters, std::size_t module, const void* input,
                 float* out) {
  by.embed(module, input, parameters.data() + model::offsets[module], out);
}

features embed_pictures(computer& by, const buffer<float>& parameters, const hf_clip_config& config,
                        const stored_tensor& pixels, index batch) {
  const index channels = config.channels, side = config.image, covered = config.covered();
  const std::vector<index> wanted{pixels.shape.empty() ? 0 : pixels.shape[0], channels, side, side};
  if (pixels.shape != wanted) {
    fail(embed_input, "pixel_values is " + shape_text(pixels.shape) + ", wanted [pictures, " +
                          std::to_string(channels) + ", " + std::to_string(side) + ", " +
                          std::to_string(side) + "]");
  }
  const index samples = wanted[0], size = channels * side * side, size_covered = channels * covered * covered;
  features out(static_cast<std::size_t>(samples * model::embedding));
  std::vector<float> some(static_cast<std::size_t>(std::min(batch, samples) * size));
  for (index first = 0; first < samples; first += batch) {
    const index count = std::min(batch, samples - first);
    stored_tensor part = pixels;
    const auto bytes = static_cast<std::size_t>(size * dtype_bytes(pixels.kind));
    part.bytes = pixels.bytes.subspan(static_cast<std::size_t>(first) * bytes,
                                      static_cast<std::size_t>(count) * bytes);
    copy_elements(part, some.data());
    // Pixels beyond the last whole patch are left out, as a convolution leaves them; lines only move down, so
    // this can be done in place.
    if (covered != side) {
      for (index line = 0; line < count * channels * covered; ++line) {
        const index plane = line / covered, from = (plane * side + line % covered) * side;
        std::copy_n(some.begin() + from, covered, some.begin() + line * covered);
      }
    }
    for (index i = 0; i < count * size_covered; ++i) {
      if (!std::isfinite(some[static_cast<std::size_t>(i)]))
        fail(embed_input,
             "pixel_values holds NaN or infinity in picture " + std::to_string(first + i / size_covered));
    }
    const pictures input{some.data(), count};
    embed_batch(by, parameters, picture_at, &input, out.data() + first * model::embedding);
  }
  return out;
}

features embed_captions(computer& by, const buffer<float>& parameters, const hf_clip_config& config,
                        const stored_tensor& ids, index batch) {
  if (ids.shape.size() != 2 || ids.shape[1] < 1 || ids.shape[1] > config.context) {
    fail(embed_input, "input_ids is " + shape_text(ids.shape) + ", wanted [captions, 1 to " +
                          std::to_string(config.context) + " tokens]");
  }
  const index samples = ids.shape[0], length = ids.shape[1];
  std::vector<std::int64_t> all(static_cast<std::size_t>(samples * length));
  copy_elements(ids, all.data());
  for (index i = 0; i < samples * length; ++i) {
    const std::int64_t id = all[static_cast<std::size_t>(i)];
    if (id < 0 || id >= config.vocabulary) {
      fail(embed_input, "token " + std::to_string(i % length) + " of caption " + std::to_string(i / length) +
                            " is " + std::to_string(id) + ", the vocabulary has " +
                            std::to_string(config.vocabulary));
    }
  }
  features out(static_cast<std::size_t>(samples * model::embedding));
  std::vector<std::int32_t> kept;
  for (index first = 0; first < samples; first += batch) {
    const index count = std::min(batch, samples - first);
    // Nothing after the pooled token has influence on it, so a caption ends there.
    std::vector<index> offsets{0};
    kept.clear();
    for (index s = first; s < first + count; ++s) {
      const std::int64_t* from = all.data() + s * length;
      const index end = hf_end_position(from, length, config.end_token) + 1;
      for (index i = 0; i < end; ++i) kept.push_back(static_cast<std::int32_t>(from[i]));
      offsets.push_back(static_cast<index>(kept.size()));
    }
    const tokens input{kept.data(), {count, 1, offsets.data()}};
    embed_batch(by, parameters, caption_at, &input, out.data() + first * model::embedding);
  }
  return out;
}

options read_options(int count, char** words) {
  options out;
  read_hf_flags(count, words, [&](const std::string& flag, auto&& value) {
    const auto number = [&] {
      const std::string text = value();
      int parsed = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (failed != std::errc{} || end != text.data() + text.size() || parsed < 1 || parsed > 65536)
        fail(hf_command_line, flag + " " + text + " is not a count from 1 to 65536");
      return parsed;
    };
    if (flag == "--weights") out.weights = value();
    else if (flag == "--input") out.input = value();
    else if (flag == "--output") out.output = value();
    else if (flag == "--threads") out.threads = number();
    else if (flag == "--batch") out.batch = number();
    else return false;
    return true;
  });
  for (const auto& [flag, given] : {std::pair("--weights", &out.weights), std::pair("--input", &out.input),
                                    std::pair("--output", &out.output)}) {
    if (given->empty()) fail(hf_command_line, std::string(flag) + " is missing");
  }
  if (out.threads == 0) out.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return out;
}

void run(const options& given) {
  const hf_clip_config config = read_hf_clip_config(std::filesystem::path(given.weights));
  const hf_described built = describe_as_hf_clip(describe<model>());
  if (!same_net(config, built.config)) fail(embed_model, given.weights);
  const safetensors_file input(given.input);
  const stored_tensor *pixels = input.find("pixel_values"), *ids = input.find("input_ids");
  if (pixels == nullptr && ids == nullptr)
    fail(embed_input, given.input + " holds neither pixel_values nor input_ids");

  const buffer<float> parameters(model::parameter_size);
  std::fill_n(parameters.data(), parameters.size(), 0.0f);
  load_hf_clip(tensor_set(given.weights), hf_clip_tensors(config), tensors_of(parameters));

  cpu::device device(given.threads);
  computer by(table_of_model<model, cpu::context, fp32>, device);
  std::vector<declared_tensor> declared;
  features images, texts;
  if (pixels != nullptr) {
    images = embed_pictures(by, parameters, config, *pixels, given.batch);
    declared.push_back({"image_embeds", dtype::f32, {pixels->shape[0], model::embedding}});
  }
  if (ids != nullptr) {
    texts = embed_captions(by, parameters, config, *ids, given.batch);
    declared.push_back({"text_embeds", dtype::f32, {ids->shape[0], model::embedding}});
  }
  safetensors_writer writer(given.output, declared, {{"format", "pt"}});
  if (pixels != nullptr) writer.write("image_embeds", images.data());
  if (ids != nullptr) writer.write("text_embeds", texts.data());
  writer.commit();
}

}  // namespace
}  // namespace motet::embed

int main(int count, char** words) {
  return motet::hf_program(count, words, motet::embed::usage, [](int given, char** from) {
    motet::embed::run(motet::embed::read_options(given, from));
  });
}
