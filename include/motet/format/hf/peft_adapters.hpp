// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <map>

namespace motet {

// Adapters that learn here, as the peft package says them: rank and scale, and the last names of the products
// that have them.
struct peft_adapters {
  peft_lora lora;
  std::vector<std::string> products;
};

// From what a model's description (model/describe.hpp) says of a decoder's adapters, by the names that
// products have in a language model of transformers.
inline peft_adapters describe_as_peft(const json& adapters) {
  static const std::map<std::string, const char*, std::less<>> theirs{
      {"queries", "q_proj"}, {"keys", "k_proj"}, {"values", "v_proj"}, {"out", "o_proj"},
      {"gate", "gate_proj"}, {"up", "up_proj"},  {"down", "down_proj"}};
  peft_adapters out;
  out.lora.rank = static_cast<isize>(adapters.at("rank").integer());
  out.lora.scale = adapters.at("scale").number();
  for (const json& each : adapters.at("products").items()) out.products.push_back(theirs.at(each.string()));
  return out;
}

namespace detail {

// Names of weights in files begin unlike those that the peft package has where a model has parts.
inline std::string name_in_peft(const std::string& in_files) {
  for (const peft_beginning& begins : peft_beginnings)
    if (!begins.here.empty() && in_files.starts_with(begins.here))
      return std::string(begins.there) + in_files.substr(begins.here.size());
  return in_files;
}

}  // namespace detail

// The tensors of adapters by both names, from the map of the weights that they stand beside: A and B of the
// products that we have as one lie one below the other here.
inline std::vector<hf_tensor> peft_tensors(const std::vector<hf_tensor>& weights, const peft_adapters& of) {
  constexpr std::string_view end = ".weight";
  std::vector<hf_tensor> out;
  for (const hf_tensor& row : weights) {
    if (!row.ours.ends_with(end)) continue;
    const std::string ours = row.ours.substr(0, row.ours.size() - end.size());
    hf_tensor a{ours + ".a", {}}, b{ours + ".b", {}};
    for (const hf_part& part : row.theirs) {
      if (!part.name.ends_with(end) || part.shape.size() != 2) continue;
      const std::string theirs = part.name.substr(0, part.name.size() - end.size());
      const std::string last = theirs.substr(theirs.rfind('.') + 1);
      if (std::find(of.products.begin(), of.products.end(), last) == of.products.end()) continue;
      const std::string named = "base_model.model." + detail::name_in_peft(theirs);
      a.theirs.push_back({named + ".lora_A.weight", {of.lora.rank, part.shape[1]}});
      b.theirs.push_back({named + ".lora_B.weight", {part.shape[0], of.lora.rank}});
    }
    if (a.theirs.empty()) continue;
    out.push_back(std::move(a));
    out.push_back(std::move(b));
  }
  return out;
}

// Fills adapters from FOLDER, where the peft package wrote adapter_config.json and adapter_model.safetensors.
// Another rank or scale than the net's is MT-F17; tensors that lack, are too many or differ are named in one
// error (MT-R53), before anything changes.
// Asks for: the map of the weights that these stand beside.
// Memory: nothing; bytes are read where they are mapped.
// Errors: MT-F04, MT-F05, MT-F06, MT-F17, MT-R53
// Example:
//   void read(const std::string& folder, const std::vector<hf_tensor>& weights, const peft_adapters& of,
//             const std::vector<loaded_tensor>& adapters) {
//     load_peft_adapters(folder, weights, of, adapters);
//   }
inline void load_peft_adapters(const std::filesystem::path& folder, const std::vector<hf_tensor>& weights,
                               const peft_adapters& of, std::span<const loaded_tensor> to) {
  const std::filesystem::path config = folder / "adapter_config.json";
  const peft_lora found = read_peft_lora(mapped_file(config).text(), config.string());
  if (found.rank != of.lora.rank)
    fail(adapters_unsupported,
         sentence({config.string(), ".r is ", found.rank, ", and the net has ", of.lora.rank}));
  // A net's alpha is a float.
  if (std::abs(found.scale - of.lora.scale) > 1e-6 * std::abs(of.lora.scale))
    fail(adapters_unsupported, sentence({config.string(), ".lora_alpha makes a scale of ", found.scale,
                                         ", and the net has ", of.lora.scale}));
  load_hf_tensors(tensor_set(folder / "adapter_model.safetensors"), peft_tensors(weights, of), to);
}

// Writes adapters into FOLDER as PeftModel.from_pretrained reads them. `base` names the model that they are
// of. `from` must hold A and B of every adapted product (MT-R53 names what lacks), and may hold more.
// A folder that cannot be written is MT-F05, a full disk MT-F06.
inline void save_peft_adapters(const std::filesystem::path& folder, const std::vector<hf_tensor>& weights,
                               const peft_adapters& of, std::span<const saved_tensor> from,
                               const std::string& base = "") {
  const std::vector<hf_tensor> map = peft_tensors(weights, of);
  std::unordered_map<std::string_view, const saved_tensor*> by_name;
  for (const saved_tensor& tensor : from) by_name.emplace(tensor.name, &tensor);
  std::string differences;
  std::vector<declared_tensor> declared;
  for (const hf_tensor& row : map) {
    const auto found = by_name.find(row.ours);
    isize elements = 1;
    if (found == by_name.end()) differences += "\n  missing     " + row.ours;
    else
      for (const isize extent : found->second->shape) elements *= extent;
    if (found != by_name.end() && elements != row.elements())
      differences += sentence({"\n  differs     ", row.ours, " is ", shape_text(found->second->shape),
                               ", wanted ", row.parts_text()});
    for (const hf_part& part : row.theirs) declared.push_back({part.name, dtype::f32, part.shape});
  }
  if (!differences.empty())
    fail(checkpoint_mismatch, "the adapters cannot be written for the peft package:" + differences + "\n");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) fail(file_unwritable, folder.string() + ": " + failed.message());
  safetensors_writer writer(folder / "adapter_model.safetensors", std::move(declared), {{"format", "pt"}});
  for (const hf_tensor& row : map) {
    const float* at = by_name.at(row.ours)->data;
    for (const hf_part& part : row.theirs) {
      writer.write(part.name, at);
      at += part.elements();
    }
  }
  writer.commit();
  json::array products;
  for (const std::string& each : of.products) products.push_back(each);
  const json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base},
                    {"r", of.lora.rank},
                    {"lora_alpha", of.lora.scale * static_cast<double>(of.lora.rank)},
                    {"lora_dropout", 0.0},
                    {"target_modules", std::move(products)},
                    {"bias", "none"},
                    {"fan_in_fan_out", false},
                    {"use_rslora", false},
                    {"inference_mode", true}};
  write_file(folder / "adapter_config.json", write_json(config, 2) + "\n");
}

}  // namespace motet
