// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace motet {

// Adapters that learn here, as the peft package says them: rank and scale, and the last names of the products
// that have them. Where a model has parts, `part` is how names in files begin of the one that is adapted.
struct peft_adapters {
  peft_lora lora;
  std::vector<std::string> products;
  std::string part{};
  double dropout = 0;
};

// Makes them from what a model's description (model/describe.hpp) says of a decoder's adapters, by the names
// that products have in a language model of transformers.
inline peft_adapters describe_as_peft(const json& adapters) {
  static const std::map<std::string, const char*, std::less<>> theirs{
      {"queries", "q_proj"}, {"keys", "k_proj"}, {"values", "v_proj"}, {"out", "o_proj"},
      {"gate", "gate_proj"}, {"up", "up_proj"},  {"down", "down_proj"}};
  peft_adapters out;
  out.lora.rank = static_cast<isize>(adapters.at("rank").integer());
  out.lora.scale = adapters.at("scale").number();
  if (const json* const dropout = adapters.find("dropout")) out.dropout = dropout->number();
  for (const json& each : adapters.at("products").items()) out.products.push_back(theirs.at(each.string()));
  return out;
}

namespace detail {

inline const json* first_adapters(const json& of) {
  const json* found = nullptr;
  if (of.is_array()) {
    for (const json& each : of.items())
      if (found == nullptr) found = first_adapters(each);
  } else if (of.is_object()) {
    for (const auto& [name, value] : of.members())
      if (found == nullptr) found = name == "adapters" ? &value : first_adapters(value);
  }
  return found;
}
inline json without_adapters(const json& of) {
  if (of.is_array()) {
    json::array kept;
    for (const json& each : of.items()) kept.push_back(without_adapters(each));
    return kept;
  }
  if (!of.is_object()) return of;
  json kept{json::object{}};
  for (const auto& [name, value] : of.members())
    if (name != "adapters") kept.set(name, without_adapters(value));
  return kept;
}

}  // namespace detail

// What a model's description says of its adapters, if it has such, and what it is where they are merged.
struct described_adapters {
  std::optional<peft_adapters> adapters;
  json merged;
};
inline described_adapters describe_adapters(const json& description) {
  described_adapters out{{}, detail::without_adapters(description)};
  if (const json* const found = detail::first_adapters(description)) out.adapters = describe_as_peft(*found);
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

// Says by its name and shape in files whether a weight has adapters.
inline bool is_adapted(const hf_part& part, const peft_adapters& of) {
  constexpr std::string_view end = ".weight";
  if (!part.name.starts_with(of.part) || !part.name.ends_with(end) || part.shape.size() != 2) return false;
  const std::string product = part.name.substr(0, part.name.size() - end.size());
  return std::ranges::find(of.products, product.substr(product.rfind('.') + 1)) != of.products.end();
}
inline std::string without_weight(const std::string& name) {
  return name.substr(0, name.size() - std::string_view(".weight").size());
}

// The last names of products; where an eye has such names, too, an expression that names the part.
inline json target_modules(const peft_adapters& of) {
  json::array names;
  std::string one_of;
  for (const std::string& each : of.products) {
    names.push_back(each);
    one_of += (one_of.empty() ? "" : "|") + each;
  }
  if (of.part.empty()) return names;
  return ".*" + of.part + ".*(" + one_of + ")";
}

// Finds them by name. What lacks, or has another size, is named in one error.
template <class Tensor>
std::unordered_map<std::string_view, const Tensor*> find_all(const std::vector<hf_tensor>& wanted,
                                                             std::span<const Tensor> from,
                                                             std::string_view what) {
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : from) by_name.emplace(tensor.name, &tensor);
  std::string differences;
  for (const hf_tensor& row : wanted) {
    const auto found = by_name.find(row.ours);
    isize elements = 1;
    if (found == by_name.end()) differences += "\n  missing     " + row.ours;
    else
      for (const isize extent : found->second->shape) elements *= extent;
    if (found != by_name.end() && elements != row.elements())
      differences += sentence({"\n  differs     ", row.ours, " is ", shape_text(found->second->shape),
                               ", wanted ", row.parts_text()});
  }
  if (!differences.empty()) fail(checkpoint_mismatch, sentence({what, differences, "\n"}));
  return by_name;
}

}  // namespace detail

// The tensors of adapters by both names, from the map of the weights that they stand beside: A and B of the
// products that we have as one lie one below the other here.
inline std::vector<hf_tensor> peft_tensors(const std::vector<hf_tensor>& weights, const peft_adapters& of) {
  std::vector<hf_tensor> out;
  for (const hf_tensor& row : weights) {
    if (!row.ours.ends_with(".weight")) continue;
    const std::string ours = detail::without_weight(row.ours);
    hf_tensor a{ours + ".a", {}}, b{ours + ".b", {}};
    for (const hf_part& part : row.theirs) {
      if (!detail::is_adapted(part, of)) continue;
      const std::string named = "base_model.model." + detail::name_in_peft(detail::without_weight(part.name));
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

// Adds adapters to the weights that they learned beside, all of them in memory by our names. What lacks is
// MT-R53.
inline void merge_adapters(const std::vector<hf_tensor>& weights, const peft_adapters& of,
                           std::span<const loaded_tensor> all) {
  const auto by_name =
      detail::find_all(peft_tensors(weights, of), all, "the adapters cannot be merged with the weights:");
  for (const hf_tensor& row : weights) {
    if (!std::ranges::any_of(row.theirs, [&](const auto& part) { return detail::is_adapted(part, of); }))
      continue;
    const std::string ours = detail::without_weight(row.ours);
    const float *a = by_name.at(ours + ".a")->data, *b = by_name.at(ours + ".b")->data;
    float* weight = by_name.at(row.ours)->data;
    for (const hf_part& part : row.theirs) {
      if (detail::is_adapted(part, of)) {
        add_thin_product(part.shape[0], part.shape[1], of.lora.rank, of.lora.scale, b, a, weight);
        a += of.lora.rank * part.shape[1];
        b += part.shape[0] * of.lora.rank;
      }
      weight += part.elements();
    }
  }
}

// Writes adapters into FOLDER as PeftModel.from_pretrained reads them. `base` names the model that they are
// of. `from` must hold A and B of every adapted product (MT-R53 names what lacks), and may hold more.
// A folder that cannot be written is MT-F05, a full disk MT-F06.
inline void save_peft_adapters(const std::filesystem::path& folder, const std::vector<hf_tensor>& weights,
                               const peft_adapters& of, std::span<const saved_tensor> from,
                               const std::string& base = "") {
  const std::vector<hf_tensor> map = peft_tensors(weights, of);
  const auto by_name = detail::find_all(map, from, "the adapters cannot be written for the peft package:");
  std::vector<declared_tensor> declared;
  for (const hf_tensor& row : map)
    for (const hf_part& part : row.theirs) declared.push_back({part.name, dtype::f32, part.shape});
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
  const json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base},
                    {"r", of.lora.rank},
                    {"lora_alpha", of.lora.scale * static_cast<double>(of.lora.rank)},
                    {"lora_dropout", of.dropout},
                    {"target_modules", detail::target_modules(of)},
                    {"bias", "none"},
                    {"fan_in_fan_out", false},
                    {"use_rslora", false},
                    {"inference_mode", true}};
  write_file(folder / "adapter_config.json", write_json(config, 2) + "\n");
}

}  // namespace motet
