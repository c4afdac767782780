// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_whisper.hpp>

#include <motet/format/files/atomic_file.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <functional>

using namespace motet;

namespace {

constexpr const char* small =
    R"({"model_type": "whisper", "num_mel_bins": 3, "d_model": 4, "encoder_layers": 1,
  "encoder_attention_heads": 2, "encoder_ffn_dim": 5, "max_source_positions": 2, "decoder_layers": 1,
  "decoder_attention_heads": 1, "decoder_ffn_dim": 3, "max_target_positions": 3, "vocab_size": 7})";

std::string refusal(const std::function<void()>& run) {
  try {
    run();
    return "";
  } catch (const error& problem) {
    return problem.what();
  }
}
std::string config_refusal(const char* text) {
  return refusal([&] { read_hf_whisper_config(text, "c"); });
}
bool contains(const std::string& said, std::string_view part) { return said.find(part) != std::string::npos; }

// All tensors of the small model with their number in each element, besides a decoder's; positions by
// `position(row, column)`.
std::string write_small(const scratch& folder, const std::string& theirs,
                        const std::function<float(motet::isize, motet::isize)>& position) {
  std::vector<declared_tensor> declared;
  for (const hf_tensor& row : hf_whisper_tensors(read_hf_whisper_config(small, "c"), "ear", theirs))
    for (const hf_part& part : row.theirs)
      if (!part.name.empty()) declared.push_back({part.name, dtype::f32, part.shape});
  const std::size_t read = declared.size();
  declared.push_back({theirs + "embed_positions.weight", dtype::f32, {2, 4}});
  declared.push_back({(theirs == "encoder." ? "decoder." : "model.decoder.") + std::string("layer_norm.bias"),
                      dtype::f32,
                      {4}});
  const std::filesystem::path path = folder.path() / "model.safetensors";
  safetensors_writer writer(path, declared);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    std::vector<float> numbers;
    for (motet::isize k = 0; k < hf_part{"", declared[i].shape}.elements(); ++k)
      numbers.push_back(i == read ? position(k / 4, k % 4) : static_cast<float>(i + 1));
    writer.write(declared[i].name, numbers.data());
  }
  writer.commit();
  return folder.path().string();
}
float sines(motet::isize t, motet::isize c) {
  const double angle = static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(c % 2));
  return static_cast<float>(c < 2 ? std::sin(angle) : std::cos(angle));
}

}  // namespace

TEST_CASE("absent fields have the defaults of the transformers package") {
  const hf_whisper_config tiny = read_hf_whisper_config(R"({"model_type": "whisper"})", "c");
  CHECK((tiny.bins == 80 && tiny.frames() == 3000));
  CHECK((tiny.ear.width == 384 && tiny.ear.layers == 4 && tiny.ear.heads == 6 && tiny.ear.hidden == 1536));
  CHECK((tiny.ear.activation == "gelu" && tiny.ear.epsilon == 1e-5));
  CHECK(
      (tiny.talk.width == 384 && tiny.talk.layers == 4 && tiny.talk.heads == 6 && tiny.talk.hidden == 1536));
  CHECK((tiny.vocabulary == 51865 && tiny.context == 448 && tiny.tied));
}

TEST_CASE("what no net here computes is named") {
  CHECK(contains(config_refusal(R"({"model_type": "clip"})"), "model_type is \"clip\", wanted whisper"));
  CHECK(contains(config_refusal(R"({"model_type": "whisper", "encoder_attention_heads": 5})"),
                 "encoder_attention_heads is 5, which does not divide d_model 384"));
  CHECK(contains(config_refusal(R"({"model_type": "whisper", "decoder_attention_heads": 7})"),
                 "decoder_attention_heads is 7, which does not divide d_model 384"));
  CHECK(contains(config_refusal(R"({"model_type": "whisper", "d_model": 9, "encoder_attention_heads": 3})"),
                 "d_model is 9, and sine positions in time need an even width of 4 or more"));
}

TEST_CASE("tensors come under both of their names, keys without a bias, a decoder's are left") {
  for (const char* const theirs : {"encoder.", "model.encoder."}) {
    const scratch folder;
    const tensor_set files(write_small(folder, theirs, sines));
    const hf_whisper_config config = read_hf_whisper_config(small, "c");
    CHECK(hf_whisper_encoder(files) == theirs);
    check_hf_positions(files, config, theirs);
    const std::vector<hf_tensor> map = hf_whisper_tensors(config, "ear", theirs);
    std::vector<std::vector<float>> held;
    std::vector<loaded_tensor> to;
    for (const hf_tensor& row : map) held.emplace_back(static_cast<std::size_t>(row.elements()), -1.0f);
    for (std::size_t i = 0; i < map.size(); ++i)
      to.push_back({map[i].ours, {map[i].elements()}, held[i].data()});
    load_hf_tensors(files, map, to, hf_whisper_unread(theirs));
    for (std::size_t i = 0; i < map.size(); ++i) {
      CHECK(held[i].front() > 0);
      if (map[i].ours == "ear.blocks.0.attention.qkv.bias") {
        CHECK(held[i].size() == 12);
        for (std::size_t k = 0; k < 12; ++k) CHECK((held[i][k] == 0) == (k >= 4 && k < 8));
      }
    }
  }
}

TEST_CASE("a decoder's tensors stand beside the encoder's, its head where it has one of its own") {
  hf_whisper_config config = read_hf_whisper_config(small, "c");
  const auto names = [&](const std::string& theirs) {
    std::string all;
    for (const hf_tensor& row : hf_whisper_whole(config, theirs))
      for (const hf_part& part : row.theirs) all += part.name + "\n";
    return all;
  };
  CHECK(contains(names("encoder."), "\nencoder.layers.0.fc1.weight\n"));
  CHECK(contains(names("encoder."), "\ndecoder.layers.0.encoder_attn.v_proj.bias\n"));
  CHECK(contains(names("model.encoder."), "\nmodel.decoder.embed_positions.weight\n"));
  CHECK_FALSE(contains(names("model.encoder."), "proj_out"));
  config.tied = false;
  CHECK(contains(names("model.encoder."), "\nproj_out.weight\n"));
}

TEST_CASE("positions that are no sines and cosines are refused") {
  const auto said = [](const std::function<float(motet::isize, motet::isize)>& position) {
    const scratch folder;
    const tensor_set files(write_small(folder, "encoder.", position));
    return refusal([&] { check_hf_positions(files, read_hf_whisper_config(small, "c"), "encoder."); });
  };
  CHECK(said(sines).empty());
  CHECK(said([](motet::isize t, motet::isize c) { return sines(t, c) + 1e-3f; }).empty());
  CHECK(contains(
      said([](motet::isize t, motet::isize c) { return sines(t, c) + (t == 1 && c == 2 ? 0.1f : 0.0f); }),
      "is not the sines and cosines that Whisper begins with: row 1, column 2 is 0.64"));
}

TEST_CASE("a folder of a model is read by its config.json, which errors name") {
  const scratch folder;
  write_file(folder / "config.json", std::string_view(small));
  CHECK(read_hf_whisper_config(folder.path()).vocabulary == 7);
  write_file(folder / "config.json", std::string_view("{}"));
  const std::string name = (folder / "config.json").string();
  CHECK(refusal([&] { read_hf_whisper_config(folder.path()); }).find(name) != std::string::npos);
}
