// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip_tensors.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <doctest/doctest.h>

#include <numeric>

#include "unit/format/hf_clip_small.hpp"
#include "unit/format/scratch.hpp"

namespace {

// The tensors that the transformers package writes for this configuration, each filled with a number of its
// own.
std::vector<motet::declared_tensor> theirs(const motet::hf_clip_config& config) {
  std::vector<motet::declared_tensor> out;
  for (const auto& row : motet::hf_clip_tensors(config)) {
    for (const auto& part : row.theirs) out.push_back({part.name, motet::dtype::f32, part.shape});
  }
  return out;
}
void write(const std::filesystem::path& path, const std::vector<motet::declared_tensor>& tensors) {
  motet::safetensors_writer writer(path, tensors);
  float next = 0;
  for (const auto& tensor : tensors) {
    motet::isize count = 1;
    for (const motet::isize extent : tensor.shape) count *= extent;
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), next);
    next += 1000;
    writer.write(tensor.name, values.data());
  }
  writer.commit();
}

}  // namespace

TEST_CASE("names and shapes are those of the transformers package") {
  std::map<std::string, std::vector<motet::isize>> found;
  for (const auto& tensor : theirs(small_clip())) CHECK(found.emplace(tensor.name, tensor.shape).second);
  // CLIPModel(config).state_dict() prints these for this configuration.
  const std::map<std::string, std::vector<motet::isize>> some{
      {"logit_scale", {}},
      {"text_model.embeddings.token_embedding.weight", {9, 4}},
      {"text_model.embeddings.position_embedding.weight", {5, 4}},
      {"text_model.encoder.layers.0.self_attn.k_proj.weight", {4, 4}},
      {"text_model.encoder.layers.0.self_attn.q_proj.bias", {4}},
      {"text_model.encoder.layers.0.self_attn.out_proj.weight", {4, 4}},
      {"text_model.encoder.layers.0.layer_norm1.weight", {4}},
      {"text_model.encoder.layers.0.mlp.fc1.weight", {7, 4}},
      {"text_model.encoder.layers.0.mlp.fc2.weight", {4, 7}},
      {"text_model.encoder.layers.0.layer_norm2.bias", {4}},
      {"text_model.final_layer_norm.weight", {4}},
      {"vision_model.embeddings.class_embedding", {6}},
      {"vision_model.embeddings.patch_embedding.weight", {6, 3, 2, 2}},
      {"vision_model.embeddings.position_embedding.weight", {5, 6}},
      {"vision_model.pre_layrnorm.weight", {6}},
      {"vision_model.encoder.layers.1.self_attn.v_proj.weight", {6, 6}},
      {"vision_model.post_layernorm.bias", {6}},
      {"visual_projection.weight", {3, 6}},
      {"text_projection.weight", {3, 4}}};
  for (const auto& [name, shape] : some) {
    CAPTURE(name);
    REQUIRE(found.contains(name));
    CHECK(found.at(name) == shape);
  }
  CHECK(found.size() == 3 * 16 + 7 + 4 + 3);
}

TEST_CASE("queries, keys and values come one after the other") {
  const scratch folder;
  const auto config = small_clip();
  const auto map = motet::hf_clip_tensors(config);
  write(folder / "model.safetensors", theirs(config));
  std::vector<std::vector<float>> values;
  auto to = small_clip_room(values);
  motet::load_hf_tensors(motet::tensor_set(folder.path()), map, to);
  const motet::tensor_set set(folder.path());
  for (const auto& tensor : to) {
    if (tensor.name != "caption.blocks.0.attention.qkv.weight") continue;
    motet::isize at = 0;
    for (const char* part : {"q", "k", "v"}) {
      std::vector<float> own(16);
      motet::copy_elements(
          set.at(std::string("text_model.encoder.layers.0.self_attn.") + part + "_proj.weight"), own.data());
      CHECK(std::equal(own.begin(), own.end(), tensor.data + at));
      at += 16;
    }
  }
}

TEST_CASE("every tensor that lacks, differs or is too many is named") {
  const scratch folder;
  const auto config = small_clip();
  auto tensors = theirs(config);
  // older files have it
  tensors.push_back({"text_model.embeddings.position_ids", motet::dtype::f32, {1, 5}});
  write(folder / "model.safetensors", tensors);
  std::vector<std::vector<float>> values;
  auto to = small_clip_room(values);
  CHECK_NOTHROW(motet::load_hf_tensors(motet::tensor_set(folder.path()), motet::hf_clip_tensors(config), to));

  tensors.push_back({"classifier.weight", motet::dtype::f32, {2}});
  for (auto& tensor : tensors) {
    if (tensor.name == "visual_projection.weight") tensor.shape = {6, 3};
    if (tensor.name == "text_model.encoder.layers.0.mlp.fc1.bias") tensor.name = "elsewhere";
  }
  write(folder / "model.safetensors", tensors);
  to.push_back({"join.bias", {1}, values[0].data()});
  std::string said;
  try {
    motet::load_hf_tensors(motet::tensor_set(folder.path()), motet::hf_clip_tensors(config), to);
  } catch (const motet::error& problem) {
    said = problem.what();
  }
  for (const char* part :
       {"missing     text_model.encoder.layers.0.mlp.fc1.bias [7]",
        "differs     visual_projection.weight is [6, 3], wanted [3, 6]", "unexpected  classifier.weight [2]",
        "unexpected  elsewhere [7]", "missing     join.bias", "[MT-R53]"}) {
    CAPTURE(part);
    CHECK(said.find(part) != std::string::npos);
  }
}
