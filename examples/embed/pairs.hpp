// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"

#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>
#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/model/describe.hpp>
#include <motet/motet.hpp>

#include <algorithm>
#include <cmath>

// Features of pictures and captions by a CLIP model.
namespace motet::embed {

using computer = embedder<fp32, cpu::device>;
using features = std::vector<float>;  // (samples, embedding)

// The module's features of these samples.
template <class Model>
void embed_batch(computer& by, const buffer<float>& parameters, std::size_t module, const void* input,
                 float* out) {
  by.embed(module, input, parameters.data() + Model::offsets[module], out);
}

template <class Model>
features embed_pictures(computer& by, const buffer<float>& parameters, const hf_clip_config& config,
                        const stored_tensor& pixels, isize batch) {
  // Where positions are interpolated, pictures are those of the net.
  constexpr patch_config seen =
      Model::template module_at<Model::template position<"picture">()>::net::config.patches();
  const isize channels = config.channels, side = seen.resizes() ? seen.image : config.image,
              covered = seen.image;
  const std::vector<isize> wanted{pixels.shape.empty() ? 0 : pixels.shape[0], channels, side, side};
  if (pixels.shape != wanted) {
    fail(embed_input, "pixel_values is " + shape_text(pixels.shape) + ", wanted [pictures, " +
                          std::to_string(channels) + ", " + std::to_string(side) + ", " +
                          std::to_string(side) + "]");
  }
  const isize samples = wanted[0], size = channels * side * side, size_covered = channels * covered * covered;
  features out(static_cast<std::size_t>(samples * Model::embedding));
  std::vector<float> some(static_cast<std::size_t>(std::min(batch, samples) * size));
  for (isize first = 0; first < samples; first += batch) {
    const isize count = std::min(batch, samples - first);
    stored_tensor part = pixels;
    const auto bytes = static_cast<std::size_t>(size * dtype_bytes(pixels.kind));
    part.bytes = pixels.bytes.subspan(static_cast<std::size_t>(first) * bytes,
                                      static_cast<std::size_t>(count) * bytes);
    copy_elements(part, some.data());
    // Pixels beyond the last whole patch are left out, as a convolution leaves them; lines only move down, so
    // this can be done in place.
    if (covered != side) {
      for (isize line = 0; line < count * channels * covered; ++line) {
        const isize plane = line / covered, from = (plane * side + line % covered) * side;
        std::copy_n(some.begin() + from, covered, some.begin() + line * covered);
      }
    }
    for (isize i = 0; i < count * size_covered; ++i) {
      if (!std::isfinite(some[static_cast<std::size_t>(i)]))
        fail(embed_input,
             "pixel_values holds NaN or infinity in picture " + std::to_string(first + i / size_covered));
    }
    const pictures input{some.data(), count};
    embed_batch<Model>(by, parameters, Model::template position<"picture">(), &input,
                       out.data() + first * Model::embedding);
  }
  return out;
}

template <class Model>
features embed_captions(computer& by, const buffer<float>& parameters, const hf_clip_config& config,
                        const stored_tensor& ids, isize batch) {
  const std::vector<std::int64_t> all = token_ids(ids, config.context, config.vocabulary, "caption");
  const isize samples = ids.shape[0], length = ids.shape[1];
  features out(static_cast<std::size_t>(samples * Model::embedding));
  std::vector<std::int32_t> kept;
  for (isize first = 0; first < samples; first += batch) {
    const isize count = std::min(batch, samples - first);
    // Nothing after the pooled token has influence on it, so a caption ends there.
    std::vector<isize> offsets{0};
    kept.clear();
    for (isize s = first; s < first + count; ++s) {
      const std::int64_t* from = all.data() + s * length;
      const isize end = hf_end_position(from, length, config.end_token) + 1;
      for (isize i = 0; i < end; ++i) kept.push_back(static_cast<std::int32_t>(from[i]));
      offsets.push_back(static_cast<isize>(kept.size()));
    }
    const tokens input{kept.data(), {count, 1, offsets.data()}};
    embed_batch<Model>(by, parameters, Model::template position<"caption">(), &input,
                       out.data() + first * Model::embedding);
  }
  return out;
}

template <class Model>
void embed_pairs(const options& given) {
  const hf_clip_config config = read_hf_clip_config(std::filesystem::path(given.weights));
  const hf_described built = describe_as_hf_clip(describe<Model>());
  if (!same_net(config, built.config)) fail(embed_model, given.weights);
  const safetensors_file input(given.input);
  const stored_tensor *pixels = input.find("pixel_values"), *ids = input.find("input_ids");
  if (pixels == nullptr && ids == nullptr)
    fail(embed_input, given.input + " holds neither pixel_values nor input_ids");

  const buffer<float> parameters(Model::parameter_size);
  std::fill_n(parameters.data(), parameters.size(), 0.0f);
  const std::vector<hf_tensor> map = hf_clip_tensors(config);
  load_hf_tensors(tensor_set(given.weights), map, tensors_of<Model>(parameters));
  if (!given.adapters.empty()) merge_peft_lora(given.adapters, map, tensors_of<Model>(parameters));

  cpu::device device(given.threads);
  computer by(table_of_model<Model, cpu::context, fp32>, device);
  std::vector<declared_tensor> declared;
  features images, texts;
  if (pixels != nullptr) {
    images = embed_pictures<Model>(by, parameters, config, *pixels, given.batch);
    declared.push_back({"image_embeds", dtype::f32, {pixels->shape[0], Model::embedding}});
  }
  if (ids != nullptr) {
    texts = embed_captions<Model>(by, parameters, config, *ids, given.batch);
    declared.push_back({"text_embeds", dtype::f32, {ids->shape[0], Model::embedding}});
  }
  safetensors_writer writer(given.output, declared, {{"format", "pt"}});
  if (pixels != nullptr) writer.write("image_embeds", images.data());
  if (ids != nullptr) writer.write("text_embeds", texts.data());
  writer.commit();
}

}  // namespace motet::embed
