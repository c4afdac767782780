// SPDX-License-Identifier: Apache-2.0

// Trains a picture tower and a caption tower on captioned pictures, on one rank or spread over many by a
// plan, and tells how well they recognise held-out ones.
#include "train_clip/models.hpp"
#include "train_clip/plans.hpp"

#include <motet/plan/describe/model_facts.hpp>
#include <motet/run/run_program.hpp>

namespace motet::train_clip {

// Each is null where the program was linked without it.
[[gnu::weak]] std::unique_ptr<session> make_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_tiny(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_small(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_b16(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> make_l14(const session_request& wanted);

// These are on GPUs, in units that nvcc compiles.
[[gnu::weak]] std::unique_ptr<session> cuda_quick(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_tiny(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_small(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_b16(const session_request& wanted);
[[gnu::weak]] std::unique_ptr<session> cuda_l14(const session_request& wanted);

namespace {

template <vit_config Picture, text_config Caption>
constexpr auto facts =
    facts_of<model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>>;

const trained_model models[] = {{"quick", make_quick, cuda_quick, facts<quick_picture, quick_caption>},
                                {"tiny", make_tiny, cuda_tiny, facts<tiny_picture, tiny_caption>},
                                {"small", make_small, cuda_small, facts<small_picture, small_caption>},
                                {"b16", make_b16, cuda_b16, facts<b16_picture, b16_caption>},
                                {"l14", make_l14, cuda_l14, facts<l14_picture, l14_caption>}};
constexpr std::string_view known_losses[] = {"infonce", "sigmoid"};
constexpr next_program next_programs[] = {{"embed", "--images FOLDER --output features.safetensors"},
                                          {"export_hf", "--output FOLDER"},
                                          {"compare_runs", "--run ANOTHER --output compared.html", true}};

const training_program program{
    .name = "train_clip",
    .about = "trains two towers, pictures and captions, on captioned pictures",
    .models = models,
    .plans = plans,
    .losses = known_losses,
    .next = next_programs,
    .models_help = "which towers",
    .losses_help = "softmax over all pairs, or a yes or no for each pair",
    .batch_help = "pairs in a step; the loss compares all with all",
    .data_help =
        "shards with tokenizer.json and classes.json (see make_shapes), a pattern of shards, or: random",
    .rebuild =
        [](std::string_view model) {
          return sentence({"configure with -DMOTET_MODELS=", model,
                           " or the whole list, quick;tiny;small;b16;l14, and build again"});
        },
};

}  // namespace
}  // namespace motet::train_clip

int main(int count, char** words) { return motet::run_program(motet::train_clip::program, count, words); }
