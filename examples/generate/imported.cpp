// SPDX-License-Identifier: Apache-2.0

// The model of the folder that this program was built for (-DMOTET_EMBED_HF=DIR).
#include "../embed/language.hpp"
#include "../embed/seeing.hpp"
#include "listening_model.hpp"
#include "typed_model.hpp"

#include <motet/format/text/json_write.hpp>

#include <imported_model.hpp>

namespace motet::generate {
namespace {

std::optional<json> read_if_there(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  return read_json(read_text(file.string()), file.string());
}

// One token or a list of them, by the file that counts most.
std::vector<std::int32_t> ends_of(const std::filesystem::path& folder) {
  for (const char* const name : {"generation_config.json", "config.json"}) {
    const std::optional<json> file = read_if_there(folder / name);
    if (!file) continue;
    const json* found = file->find("eos_token_id");
    if (const json* const text = file->find("text_config"); found == nullptr && text != nullptr)
      found = text->find("eos_token_id");
    if (found == nullptr || !(found->is_integer() || found->is_array())) continue;
    if (found->is_integer()) return {static_cast<std::int32_t>(found->integer())};
    std::vector<std::int32_t> all;
    for (const json& each : found->items()) all.push_back(static_cast<std::int32_t>(each.integer()));
    return all;
  }
  return {};
}

// Where the folder says how late the first segment may begin, it counts.
isize latest_begin_of(const std::filesystem::path& folder, isize otherwise) {
  const std::filesystem::path path = folder / "generation_config.json";
  const char* const name = "max_initial_timestamp_index";
  const std::optional<json> file = read_if_there(path);
  const json* const found = file ? file->find(name) : nullptr;
  if (found == nullptr || found->is_null()) return otherwise;
  if (!found->is_integer() || found->integer() < 0)
    fail(json_wrong_kind, path.string() + ": " + name + " is " + write_json(*found) + ", wanted 0 or more");
  return static_cast<isize>(found->integer());
}

// CLIP's and SigLIP's own, where the folder has no file that says others.
resampler::colours colours_of(const std::filesystem::path& folder, bool siglip) {
  resampler::colours out;
  if (!siglip) out = {{0.48145466f, 0.4578275f, 0.40821073f}, {0.26862954f, 0.26130258f, 0.27577711f}};
  const std::optional<json> file = read_if_there(folder / "preprocessor_config.json");
  if (!file) return out;
  const auto take = [&](const char* name, float* to) {
    const json* const found = file->find(name);
    if (found == nullptr || !found->is_array() || found->items().size() != 3) return;
    for (std::size_t i = 0; i < 3; ++i) to[i] = static_cast<float>(found->items()[i].number());
  };
  take("image_mean", out.mean);
  take("image_std", out.deviation);
  return out;
}

// A model of one module, which may see.
template <class Model>
std::unique_ptr<spoken_model> make_of_one(spoken_facts facts, const model_request& wanted) {
  using net = typename Model::template module_at<0>::net;
  const std::string folder = facts.name;
  buffer<float> weights(Model::parameter_size);
  isize lead = 0;
  if constexpr (seeing<net>) {
    const hf_llava_config config = embed::load_seeing<Model>(folder, wanted.adapters, weights);
    // Where positions are interpolated, pictures are those of the net.
    if (!net::eye::config.patches().resizes()) facts.side = config.image;
    facts.colours = colours_of(folder, config.siglip);
    facts.picture_token = static_cast<std::int32_t>(config.picture_token);
    lead = config.lead;
  } else if constexpr (is_own_loss<typename Model::loss>) {
    embed::load_language<Model>(folder, wanted.adapters, weights);
  }
  return make_typed<net>(std::move(facts), lead, std::move(weights), wanted);
}

template <class Model>
inline constexpr bool hears = requires { Model::template module_at<0>::net::most_sounds; };
template <class Model>
inline constexpr bool speaks = [] {
  if constexpr (hears<Model>) return true;
  else return is_own_loss<typename Model::loss>;
}();

template <class Model>
std::unique_ptr<spoken_model> make(const model_request& wanted) {
  spoken_facts facts;
  facts.name = wanted.folder.string();
  facts.ends = ends_of(wanted.folder);
  facts.latest_begin = latest_begin_of(wanted.folder, facts.latest_begin);
  if constexpr (hears<Model>) return make_listening<Model>(std::move(facts), wanted);
  else return make_of_one<Model>(std::move(facts), wanted);
}

}  // namespace

std::unique_ptr<spoken_model> make_imported(const model_request& wanted) {
  using model = imported_model::model;
  if constexpr (speaks<model>) return make<model>(wanted);
  else fail(embed_model, wanted.folder.string() + " has towers, and no model that speaks");
}

}  // namespace motet::generate
