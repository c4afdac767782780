// SPDX-License-Identifier: Apache-2.0

// Trains an eye, and an ear by choice, and a language model to say what pictures show and what is heard, or
// to tell a drawer what to draw, on one rank or spread over many by a plan, and tells how well they do with
// held-out ones.
#include "train_vlm/coca_model.hpp"
#include "train_vlm/draw_models.hpp"
#include "train_vlm/models.hpp"
#include "train_vlm/plans.hpp"
#include "train_vlm/sense_model.hpp"

#include <motet/plan/describe/model_facts.hpp>
#include <motet/run/run_program.hpp>

#include <algorithm>
#include <string>

namespace motet::train_vlm {

// Each is null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<session> make_say_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_quick_glue(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_quick_adapted(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_quick_joined(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_quick_experts(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_coca_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_say_small(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_draw_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_sense_quick(const session_request& wanted);

namespace {

const trained_model models[] = {
    {"say-quick", make_say_quick, nullptr, facts_of<say_quick_model>},
    {"say-quick-glue", make_say_quick_glue, nullptr, facts_of<say_quick_glue_model>},
    {"say-quick-adapted", make_say_quick_adapted, nullptr, facts_of<say_quick_adapted_model>},
    {"say-quick-joined", make_say_quick_joined, nullptr, facts_of<say_quick_joined_model>},
    {"say-quick-experts", make_say_quick_experts, nullptr, facts_of<say_quick_experts_model>},
    {"coca-quick", make_coca_quick, nullptr, facts_of<coca_quick_model>},
    {"say-small", make_say_small, nullptr, facts_of<say_small_model>},
    {"draw-quick", make_draw_quick, nullptr, facts_of<draw_quick_model>, denoise::name},
    {"sense-quick", make_sense_quick, nullptr, facts_of<sense_quick_model>}};
constexpr std::string_view known_losses[] = {"next_token"};
constexpr next_program next_programs[] = {{"generate", "--picture FILE", false, "say-"},
                                          {"generate", "--sound FILE", false, "sense-"},
                                          {"export_hf", "--output FOLDER", false, "say-"},
                                          {"draw", "--prompt TEXT --output FILE.png", false, "draw-"},
                                          {"compare_runs", "--run ANOTHER --output compared.html", true}};

const training_program program{
    .name = "train_vlm",
    .about = "trains an eye and a language model to say what captioned pictures show",
    .models = models,
    .plans = plans,
    .losses = known_losses,
    .next = next_programs,
    .speaks = true,
    .models_help = "which eye and language model",
    .data_help =
        "shards, conversations (.json, .jsonl) or plain text (.txt, .md), with tokenizer.json; a pattern of "
        "such files, or: random",
    .rebuild =
        [](std::string_view model) {
          // Sizes of models that speak are those of all programs.
          if (model.starts_with("say-")) model.remove_prefix(std::string_view("say-").size());
          std::string name(model), all(MOTET_ALL_MODELS);
          std::ranges::replace(name, '-', '_');
          std::ranges::replace(all, ',', ';');
          return sentence(
              {"configure with -DMOTET_MODELS=", name, " or the whole list, ", all, ", and build again"});
        },
};

}  // namespace
}  // namespace motet::train_vlm

int main(int count, char** words) { return motet::run_program(motet::train_vlm::program, count, words); }
