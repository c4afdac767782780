// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/ranks/launched_world.hpp>
#include <motet/plan/describe/plan.hpp>
#if !defined(MOTET_COMPILED_RANKS)
#include <motet/meta/nearest.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#endif

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// A plan that has a name in a program's own catalogue.
struct named_plan {
  std::string_view name, about;
  plan (*make)();
};

// The result is null where the catalogue has none of this name.
constexpr const named_plan* find_plan(std::span<const named_plan> among, std::string_view name) {
  for (const named_plan& each : among)
    if (each.name == name) return &each;
  return nullptr;
}

// Messages name these plans for a model without a catalogue of its own.
inline constexpr std::string_view plans_of_any_model =
    "one, apart, data-N, context-N, tensor-N, and batch_sync-N, 1f1b-N and gpipe-N, pipelines, with a number "
    "for N";

// Plans that any model has, by name: "one"; "data-N", "context-N" and "tensor-N", all modules on the same N
// ranks; "apart", each module on a rank of its own; and by the name of a schedule, such as "batch_sync-N",
// the module of the most layers in N stages, what comes before it on the first one's rank and the others on
// the last one's. Nothing is proven yet.
std::optional<plan> plan_of_name(std::string_view name, const list<module_facts>& model);

// A plan by its name in the catalogue, or, where that is empty, by one of those that any model has; or a file
// *.json.
plan plan_of(std::string_view word, const list<module_facts>& model,
             std::span<const named_plan> catalogue = {});

// The word behind `--name WORD` or `--name=WORD` among words of which others may be somebody else's; empty
// where it is not there.
inline std::string_view word_behind(int count, const char* const* words, std::string_view name) {
  for (int i = 1; i < count; ++i) {
    std::string_view word = words[i];
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.empty()) return i + 1 < count ? words[i + 1] : "";
    if (word.front() == '=') return word.substr(1);
  }
  return {};
}

// The plan that a command line names by --plan NAME or --plan FILE.json, for trainer<Model>, which proves it;
// without that option all modules are on one rank. The rest of the command line is left alone.
// Asks for: a model; perhaps a catalogue of plans with names, which takes the place of those that any has.
// Memory: the plan.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P73, MT-P84
// Example:
//   #include <motet/front/trainer.hpp>
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 2, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   int main(int count, char** words) {
//     const auto world = launch(count, words);
//     trainer<pair> train(world, plan_of<pair>(count, words), {.batch = 64});
//     return train.of().cluster.ranks == 1 ? 0 : 1;  // with --plan data-2 there are two
//   }
template <class Model>
plan plan_of(int count, const char* const* words, std::span<const named_plan> catalogue = {}) {
  const std::string_view word = word_behind(count, words, "--plan");
  const list<module_facts> model = facts_of<Model>();
  return word.empty() ? *plan_of_name("one", model) : plan_of(word, model, catalogue);
}

#if !defined(MOTET_COMPILED_RANKS)

MOTET_BODY std::optional<plan> plan_of_name(std::string_view name, const list<module_facts>& model) {
  const std::size_t dash = name.find('-');
  std::int32_t ranks = name == "apart" ? static_cast<std::int32_t>(model.size()) : 1;
  if (dash != std::string_view::npos) {
    const std::string_view number = name.substr(dash + 1);
    const char* const end = number.data() + number.size();
    if (std::from_chars(number.data(), end, ranks) != std::from_chars_result{end, std::errc{}} || ranks < 1 ||
        2 * std::int64_t{ranks} >= most_of_plan)
      return {};
  }
  const std::string_view kind = name.substr(0, dash);
  if ((dash == std::string_view::npos) != (kind == "one" || kind == "apart")) return {};
  const bool pipeline = kind == batch_sync::name || kind == one_f_one_b::name || kind == gpipe::name;
  degrees all{}, heavy{};
  if (kind == "data") all.data = ranks;
  else if (kind == "context") all.context = ranks;
  else if (kind == "tensor") all.tensor = ranks;
  else if (pipeline) heavy.stages = ranks;
  else if (kind != "one" && kind != "apart") return {};

  const auto layers = [](const module_facts& a, const module_facts& b) { return a.layers < b.layers; };
  const isize most = std::max_element(model.begin(), model.end(), layers) - model.begin();
  const bool through = has_edges(model), flows = pipeline || (kind == "apart" && through);
  plan out;
  out.cluster.ranks = ranks;
  if (pipeline) out.schedule = label(kind);
  else if (through) out.schedule = one_f_one_b::name;
  for (isize k = 0; k < model.size(); ++k) {
    const std::int32_t first = kind == "apart"        ? static_cast<std::int32_t>(k)
                               : pipeline && k > most ? ranks - 1
                                                      : 0;
    module_plan own =
        on_ranks(model[k].name, first, pipeline && k == most ? heavy : all, flows ? 2 * ranks : 1);
    // One forward one backward cannot wait for a loss of all microbatches.
    if (through || kind == one_f_one_b::name) own.group = 1;
    out.modules.push(own);
  }
  return out;
}

namespace detail {

// Who writes "data2" means data-2; where no number ends the word, data-N.
inline std::string plan_meant(std::string_view word, std::span<const named_plan> catalogue) {
  std::vector<std::string> names;
  for (const named_plan& each : catalogue) names.emplace_back(each.name);
  if (catalogue.empty()) {
    const std::string number(word.substr(word.find_last_not_of("0123456789") + 1));
    names = {"one", "apart"};
    for (const std::string_view kind : {"data", "context", "tensor", "batch_sync", "1f1b", "gpipe"})
      names.push_back(std::string(kind) + "-" + (number.empty() ? "N" : number));
    std::erase(names, word);  // a number out of range
  }
  return std::string(nearest(word, std::vector<std::string_view>(names.begin(), names.end())));
}

}  // namespace detail

MOTET_BODY plan plan_of(std::string_view word, const list<module_facts>& model,
                        std::span<const named_plan> catalogue) {
  if (const named_plan* const known = find_plan(catalogue, word)) return known->make();
  if (word.ends_with(".json")) return load_plan(std::string(word));
  if (catalogue.empty())
    if (const std::optional<plan> known = plan_of_name(word, model)) return *known;
  std::string all(catalogue.empty() ? plans_of_any_model : "");
  for (const named_plan& each : catalogue) all += (all.empty() ? "" : ", ") + std::string(each.name);
  if (const std::string near = detail::plan_meant(word, catalogue); !near.empty())
    all += "; did you mean " + near;
  fail(no_such_plan, "\"" + std::string(word) + "\"; there are " + all);
}

#endif
}  // namespace motet
