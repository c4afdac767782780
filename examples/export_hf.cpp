// SPDX-License-Identifier: Apache-2.0

// Writes a checkpoint as a folder that from_pretrained of the transformers package loads: of two towers as
// CLIPModel, of a decoder as LlamaForCausalLM, Qwen2ForCausalLM or Qwen3ForCausalLM, of one
// that sees as LlavaForConditionalGeneration, of one that looks at sounds as WhisperForConditionalGeneration.
#include "hf_program.hpp"

#include <motet/data/file.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/hf/hf_clip_write.hpp>
#include <motet/format/hf/hf_llava_write.hpp>
#include <motet/format/hf/hf_whisper_write.hpp>
#include <motet/format/hf/peft_adapters.hpp>
#include <motet/model/join.hpp>

#include <charconv>

namespace motet::export_hf {
namespace {

constexpr const char* usage =
    "export_hf --checkpoint DIR --output DIR [--adapters DIR] [--ema] [--precision fp32|bf16|fp16] "
    "[--file-bytes N]\n"
    "\n"
    "  --checkpoint DIR   one checkpoint, or a run of which the newest is taken\n"
    "  --output DIR       gets config.json, model.safetensors and the run's tokenizer.json; other files "
    "there "
    "stay\n"
    "  --adapters DIR     gets the adapters, as PeftModel reads them, and --output weights without them; "
    "else they are "
    "merged\n"
    "  --ema              the moving averages of the weights, in place of those of the last step\n"
    "  --precision P      how weights are stored: fp32 (default), bf16 or fp16, rounded to the nearest\n"
    "  --file-bytes N     larger models become several files with an index (5000000000)\n";

struct options {
  std::string checkpoint, output, adapters;
  weights_of which = weights_of::last_step;
  tensor_storage as;
};

dtype read_precision(const std::string& word) {
  if (word == "fp32") return dtype::f32;
  if (word == "bf16") return dtype::bf16;
  if (word == "fp16") return dtype::f16;
  fail(hf_command_line, "--precision is fp32, bf16 or fp16, got " + word);
}
std::uint64_t read_file_bytes(const std::string& word) {
  std::uint64_t bytes = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), bytes);
  if (problem != std::errc{} || end != word.data() + word.size() || bytes == 0)
    fail(hf_command_line, "--file-bytes is a count of one or more, got " + word);
  return bytes;
}

options read_options(int count, char** words) {
  options out;
  read_hf_flags(count, words, [&](const std::string& flag, auto&& value) {
    if (flag == "--checkpoint") out.checkpoint = value();
    else if (flag == "--output") out.output = value();
    else if (flag == "--adapters") out.adapters = value();
    else if (flag == "--ema") out.which = weights_of::averages;
    else if (flag == "--precision") out.as.kind = read_precision(value());
    else if (flag == "--file-bytes") out.as.most_bytes = read_file_bytes(value());
    else return false;
    return true;
  });
  if (out.checkpoint.empty()) fail(hf_command_line, "--checkpoint is missing");
  if (out.output.empty()) fail(hf_command_line, "--output is missing");
  return out;
}

void save_pairs(const options& given, hf_described described, const std::vector<saved_tensor>& weights) {
  for (const saved_tensor& tensor : weights) {
    if (tensor.name == name_in_model(info_nce::scale_name) && tensor.shape == std::vector<isize>{1})
      described.config.logit_scale = static_cast<double>(tensor.data[0]);
  }
  save_hf_clip(given.output, described.config, weights, described.picture, described.caption, given.as);
}

void run(const options& given) {
  const motet::checkpoint from(given.checkpoint);
  std::vector<std::vector<float>> values;
  std::vector<loaded_tensor> loaded;
  std::vector<saved_tensor> weights;
  for (const checkpoint_tensor& tensor : from.weights()) {
    auto& own = values.emplace_back(static_cast<std::size_t>(tensor.elements()));
    loaded.push_back({tensor.name, tensor.shape, own.data()});
    weights.push_back({tensor.name, tensor.shape, own.data()});
  }
  from.load_weights(from.model(), loaded, given.which);
  described_adapters described = describe_adapters(from.description());
  if (!given.adapters.empty() && !described.adapters)
    fail(hf_command_line, "--adapters " + given.adapters + ": " + from.path().string() + " has none");
  // Adapters go out as they are, or into the weights that they are beside.
  const auto adapt = [&](const std::vector<hf_tensor>& map, const char* part) {
    if (!described.adapters) return;
    described.adapters->part = part;
    if (given.adapters.empty()) merge_adapters(map, *described.adapters, loaded);
    else save_peft_adapters(given.adapters, map, *described.adapters, weights, given.output);
    for (const hf_tensor& each : peft_tensors(map, *described.adapters))
      std::erase_if(weights, [&](const saved_tensor& tensor) { return tensor.name == each.ours; });
  };
  if (described_seeing_decoder(described.merged)) {
    const hf_described_llava llava = describe_as_hf_llava(described.merged);
    adapt(hf_llava_tensors(llava.config, llava.names), "language_model.");
    save_hf_llava(given.output, llava.config, weights, llava.names, given.as);
  } else if (described_hearing_decoder(described.merged)) {
    const hf_described_whisper hears = describe_as_hf_whisper(described.merged);
    if (!given.adapters.empty()) fail(hf_command_line, "--adapters: this model has none that go out");
    save_hf_whisper(given.output, hears, weights, given.as);
  } else if (is_described_decoder(described.merged)) {
    const hf_described_decoder decoder = describe_as_hf_decoder(described.merged);
    adapt(hf_decoder_tensors(decoder.config, decoder.module), "");
    save_hf_decoder(given.output, decoder.config, weights, decoder.module, given.as);
  } else {
    save_pairs(given, describe_as_hf_clip(described.merged), weights);
  }
  // The vocabulary goes along where the run's data have words.
  std::error_code absent;
  if (const auto words = from.path().parent_path() / "tokenizer.json"; std::filesystem::exists(words, absent))
    write_file(std::filesystem::path(given.output) / "tokenizer.json", read_text(words.string()));
  std::printf("%s: step %lld of %s\n", given.output.c_str(), static_cast<long long>(from.step()),
              from.model().c_str());
}

}  // namespace
}  // namespace motet::export_hf

int main(int count, char** words) {
  return motet::hf_program(count, words, motet::export_hf::usage, [](int given, char** from) {
    motet::export_hf::run(motet::export_hf::read_options(given, from));
  });
}
