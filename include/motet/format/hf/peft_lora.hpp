// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_tensors.hpp>
#include <motet/tensor/thin_product.hpp>

#include <array>
#include <cmath>
#include <map>

namespace motet {

// An adapter is what adapter_config.json of the peft package says: products of weights (out, in) gain scale x
// B A, with A (rank, in) and B (out, rank).
struct peft_lora {
  isize rank = 0;
  double scale = 1;
};

// Reads that file's text. Adapters of another kind than LoRA, and variants that do more than add such a
// product, are MT-F17.
inline peft_lora read_peft_lora(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  const auto refuse = [&](std::string_view field, const std::string& why) {
    fail(adapters_unsupported, sentence({where, ".", field, " ", why}));
  };
  const json* const kind = whole.find("peft_type");
  if (kind == nullptr || !kind->is_string() || kind->string() != "LORA") refuse("peft_type", "is not LORA");
  // A variant that is not asked for has a field that is absent, null, false or empty.
  for (const char* const field :
       {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "fan_in_fan_out", "rank_pattern",
        "alpha_pattern", "layer_replication", "alora_invocation_tokens", "arrow_config", "kasa_config",
        "velora_config", "monteclora_config", "target_parameters", "trainable_token_indices"}) {
    const json* const found = whole.find(field);
    if (found == nullptr || found->is_null() || (found->is_boolean() && !found->boolean()) ||
        (found->is_object() && found->members().empty()) || (found->is_array() && found->items().empty()))
      continue;
    refuse(field, "is set");
  }
  peft_lora out;
  const json *const rank = whole.find("r"), *const alpha = whole.find("lora_alpha");
  if (rank == nullptr || !rank->is_integer() || rank->integer() < 1)
    refuse("r", "is not a count of one or more");
  if (alpha == nullptr || !alpha->is_number()) refuse("lora_alpha", "is not a number");
  out.rank = static_cast<isize>(rank->integer());
  const json* const rooted = whole.find("use_rslora");
  const bool by_root = rooted != nullptr && rooted->is_boolean() && rooted->boolean();
  const auto size = static_cast<double>(out.rank);
  out.scale = alpha->number() / (by_root ? std::sqrt(size) : size);
  return out;
}

namespace detail {

// Names within a model, as the peft package has them, begin unlike those in its files where it has parts.
struct peft_beginning {
  std::string_view there, here;
};
inline constexpr std::array peft_beginnings{
    peft_beginning{"", ""},
    peft_beginning{"model.language_model.", "language_model.model."},
    peft_beginning{"lm_head.", "language_model.lm_head."},
    peft_beginning{"model.multi_modal_projector.", "multi_modal_projector."},
    peft_beginning{"model.vision_tower.", "vision_tower.vision_model."},
    peft_beginning{"model.vision_tower.", "vision_tower."},
};

// A folder of adapters beside the memory that they change.
class peft_merge {
 public:
  peft_merge(const std::filesystem::path& folder, const peft_lora& lora, const std::vector<hf_tensor>& map,
             std::span<const loaded_tensor> to, const std::vector<std::string>& unread)
      : lora_(lora), unread_(unread), file_(folder / "adapter_model.safetensors") {
    find_places(map, to);
    for (const stored_tensor& each : file_.tensors()) sort_in(each);
    compare();
    if (!differences_.empty()) fail(checkpoint_mismatch, folder.string() + ":" + differences_ + "\n");
  }
  void apply() {
    for (const auto& [name, each] : whole_) {
      const auto [first, last] = places_.equal_range(name);
      std::for_each(first, last, [&](const auto& at) { copy_elements(*each, at.second.data); });
    }
    for (const auto& [name, each] : products_) add(name, each);
  }

 private:
  // A place is where memory holds a tensor of theirs.
  struct place {
    float* data = nullptr;
    const hf_part* part = nullptr;
  };
  struct product {
    const stored_tensor *a = nullptr, *b = nullptr;
  };

  void find_places(const std::vector<hf_tensor>& map, std::span<const loaded_tensor> to) {
    std::unordered_map<std::string_view, const hf_tensor*> by_name;
    for (const hf_tensor& row : map) by_name.emplace(row.ours, &row);
    for (const loaded_tensor& tensor : to) {
      const auto found = by_name.find(tensor.name);
      if (found == by_name.end()) continue;
      float* at = tensor.data;
      for (const hf_part& part : found->second->theirs) {
        places_.emplace(part.name, place{at, &part});
        at += part.elements();
      }
    }
  }

  // A product goes under the name that files have for its weight.
  void sort_in(const stored_tensor& each) {
    constexpr std::string_view before = "base_model.model.", a_end = ".lora_A.weight",
                               b_end = ".lora_B.weight", wrapped = ".base_layer.";
    const std::string_view name = each.name;
    if (!name.starts_with(before)) return unexpected(each);
    const bool is_a = name.ends_with(a_end), is_b = name.ends_with(b_end);
    std::string of(name.substr(before.size()));
    if (is_a || is_b) of.replace(of.size() - a_end.size(), a_end.size(), ".weight");
    else if (const auto at = of.find(wrapped); at != std::string::npos) of.replace(at, wrapped.size(), ".");
    bool left_out = false;
    for (const peft_beginning& begins : peft_beginnings) {
      if (!of.starts_with(begins.there)) continue;
      std::string here = std::string(begins.here) + of.substr(begins.there.size());
      if (places_.contains(here)) {
        if (is_a) products_[here].a = &each;
        else if (is_b) products_[here].b = &each;
        else whole_.emplace_back(std::move(here), &each);
        return;
      }
      left_out = left_out || std::any_of(unread_.begin(), unread_.end(),
                                         [&](const std::string& some) { return here.starts_with(some); });
    }
    if (!left_out) unexpected(each);
  }

  void compare() {
    for (const auto& [name, each] : whole_) compare(*each, shape_of(name));
    for (const auto& [name, each] : products_) {
      const std::vector<isize>& weight = shape_of(name);
      if (weight.size() != 2) {
        differences_ += "\n  differs     " + name + " " + shape_text(weight) + " is no matrix";
      } else if (each.a == nullptr || each.b == nullptr) {
        differences_ += sentence({"\n  missing     lora_", each.a == nullptr ? "A" : "B", " of ", name});
      } else {
        compare(*each.a, {lora_.rank, weight[1]});
        compare(*each.b, {weight[0], lora_.rank});
      }
    }
  }
  void compare(const stored_tensor& each, const std::vector<isize>& wanted) {
    if (each.shape != wanted)
      differences_ +=
          "\n  differs     " + each.name + " is " + shape_text(each.shape) + ", wanted " + shape_text(wanted);
  }
  void unexpected(const stored_tensor& each) {
    differences_ += "\n  unexpected  " + each.name + " " + shape_text(each.shape);
  }
  const std::vector<isize>& shape_of(const std::string& name) const {
    return places_.find(name)->second.part->shape;
  }

  void add(const std::string& name, const product& each) {
    const isize out = each.b->shape[0], in = each.a->shape[1];
    a_.resize(as_size(each.a->elements()));
    b_.resize(as_size(each.b->elements()));
    copy_elements(*each.a, a_.data());
    copy_elements(*each.b, b_.data());
    const auto [first, last] = places_.equal_range(name);
    std::for_each(first, last, [&](const auto& at) {
      add_thin_product(out, in, lora_.rank, lora_.scale, b_.data(), a_.data(), at.second.data);
    });
  }

  peft_lora lora_;
  const std::vector<std::string>& unread_;
  safetensors_file file_;
  std::unordered_multimap<std::string, place> places_;
  std::map<std::string, product> products_;
  std::vector<std::pair<std::string, const stored_tensor*>> whole_;
  std::string differences_;
  std::vector<float> a_, b_;
};

}  // namespace detail

// Adds the adapters in FOLDER (adapter_config.json and adapter_model.safetensors, as the peft package writes
// them) to weights that load_hf_tensors filled by the same map: what is computed then is what that package
// computes, at no cost. Whole tensors that stand beside the adapters, such as a head that was trained with
// them, take the place of the model's. All that does not fit is named in one error (MT-R53) before anything
// changes. What begins with one of `unread` is no part of what is computed.
// Asks for: weights in memory, by the map that names their tensors in files.
// Memory: A and B of one product at a time.
// Errors: MT-F04, MT-F10, MT-F17, MT-R53
// Example:
//   void adapt(const std::string& folder, const std::vector<hf_tensor>& map,
//              const std::vector<loaded_tensor>& weights) {
//     merge_peft_lora(folder, map, weights);
//   }
inline void merge_peft_lora(const std::filesystem::path& folder, const std::vector<hf_tensor>& map,
                            std::span<const loaded_tensor> to, const std::vector<std::string>& unread = {}) {
  const std::filesystem::path config = folder / "adapter_config.json";
  const peft_lora lora = read_peft_lora(mapped_file(config).text(), config.string());
  detail::peft_merge(folder, lora, map, to, unread).apply();
}

}  // namespace motet
