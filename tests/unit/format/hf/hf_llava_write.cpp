// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_llava_write.hpp>

#include <motet/format/tensors/tensor_set.hpp>
#include <motet/model/describe.hpp>
#include <motet/model/graph.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/joined_picture_rows.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr decoder_config words{
    .vocabulary = 9, .context = 20, .width = 8, .layers = 1, .heads = 2, .hidden = 6};
constexpr vit_config clip{.image = 4,
                          .patch = 2,
                          .width = 8,
                          .layers = 2,
                          .heads = 2,
                          .hidden = 5,
                          .act = activation::quick_gelu,
                          .pre_norm = true};
constexpr vit_config siglip{.image = 4,
                            .patch = 2,
                            .width = 8,
                            .layers = 2,
                            .heads = 2,
                            .hidden = 5,
                            .pool = pool_kind::mean,
                            .patch_bias = true};

template <class Eye, class Glue = projector<8, 8>>
using one = model<join<next_token, module<"talk", seeing_decoder<Eye, Glue, words>>>>;

template <class Model>
std::string refusal() {
  try {
    describe_as_hf_llava(describe<Model>());
    return "";
  } catch (const error& problem) {
    return problem.what();
  }
}
void check_says(const std::string& said, const char* part) {
  CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}

}  // namespace

TEST_CASE("what has LLaVA's form is the same when it is read again") {
  const auto check = [](const json& description, bool is_siglip) {
    const hf_described_llava found = describe_as_hf_llava(description);
    CHECK(found.names.talk == "talk");
    CHECK(found.config.siglip == is_siglip);
    const auto again = read_hf_llava_config(write_hf_llava_config(found.config), "again");
    CHECK(same_net(again, description));
    CHECK(again.seen == 2);
    CHECK(again.lead == (is_siglip ? 0 : 1));
    auto other = again;
    other.eye.hidden += 1;
    CHECK_FALSE(same_net(other, description));
    other = again;
    other.words.rotary *= 2;
    CHECK_FALSE(same_net(other, description));
    other = again;
    other.siglip = !other.siglip;
    CHECK_FALSE(same_net(other, description));
  };
  check(describe<one<picture_rows<clip, false>>>(), false);
  check(describe<one<picture_rows<siglip, false>>>(), true);
  CHECK_FALSE(same_net(hf_llava_config{}, json(json::object{})));
}

TEST_CASE("an eye that is a module of its own is of the same form, under its own names") {
  using apart = model<modules<module<"eye", vit_rows<clip, false>>, module<"glue", projector<8, 8>>,
                              module<"talk", fed_decoder<words, 4>>>,
                      edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
  const json description = describe<apart>();
  const hf_described_llava found = describe_as_hf_llava(description);
  CHECK(found.names.eye == "eye");
  CHECK(found.names.glue == "glue");
  CHECK(found.names.talk == "talk");
  const json whole = describe<one<picture_rows<clip, false>>>();
  CHECK(write_hf_llava_config(found.config) == write_hf_llava_config(describe_as_hf_llava(whole).config));
  CHECK(same_net(found.config, description));
  CHECK(same_net(found.config, whole));
}

TEST_CASE("what it has not is named, all at once") {
  constexpr auto odd = [] {
    vit_config c = siglip;
    c.pre_norm = true;
    c.gated = true;
    c.position = position_kind::sine;
    c.most_patches = 6;
    return c;
  }();
  const std::string said = refusal<one<picture_rows<odd>, linear<8, 8>>>();
  for (const char* part :
       {"talk.embed.eye has a norm behind its last layer", "talk.embed.eye.position is not learned",
        "talk.embed.eye.gated is set", "talk.embed.eye sees pictures of any shape",
        "has no class token, so SigLIP's form is wanted",
        "talk.embed.glue is not two products with an activation", "MT-F14"})
    check_says(said, part);
  check_says(refusal<one<picture_rows<clip, false>, projector<8, 8, 5>>>(), "the first as wide as the words");
}

TEST_CASE("an eye that joins squares of its rows has not this form") {
  using joined = model<modules<module<"eye", vit_rows<clip, false, 1, 2>>, module<"glue", projector<32, 8>>,
                               module<"talk", fed_decoder<words>>>,
                       edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
  check_says(refusal<joined>(), "eye joins squares of its rows");
  check_says(refusal<one<joined_picture_rows<clip, false, 2>, projector<32, 8>>>(),
             "joins squares of its rows");
  CHECK(describe<joined>().at("modules").items()[0].at("net").at("squares").integer() == 2);
}

TEST_CASE("files have a token of their own for rows of pictures, and a norm that changes nothing") {
  using net = one<picture_rows<siglip, false>>;
  const auto folder = std::filesystem::temp_directory_path() / "motet_hf_llava_write";
  std::filesystem::remove_all(folder);
  std::vector<float> values(as_size(net::parameter_size));
  std::vector<saved_tensor> weights;
  for (const parameter& p : net::parameters()) {
    for (motet::isize i = 0; i < p.size(); ++i) values[as_size(p.offset + i)] = static_cast<float>(1 + i % 7);
    weights.push_back(
        {p.name, p.vector ? std::vector<motet::isize>{p.width} : std::vector<motet::isize>{p.rows, p.width},
         values.data() + p.offset});
  }
  save_hf_llava(folder, describe_as_hf_llava(describe<net>()).config, weights);
  const auto config = read_hf_llava_config(folder);
  CHECK(config.words.vocabulary == 10);
  CHECK(config.picture_token == 9);
  const tensor_set files(folder.string());
  CHECK(files.at("language_model.lm_head.weight").shape == std::vector<motet::isize>{10, 8});
  std::vector<float> table(80), norm(8);
  copy_elements(files.at("language_model.model.embed_tokens.weight"), table.data());
  copy_elements(files.at("vision_tower.vision_model.post_layernorm.weight"), norm.data());
  CHECK(table[71] == static_cast<float>(1 + 71 % 7));
  CHECK(std::vector<float>(table.begin() + 72, table.end()) == std::vector<float>(8, 0.0f));
  CHECK(norm == std::vector<float>(8, 1.0f));
  CHECK(std::filesystem::exists(folder / "generation_config.json"));
  std::filesystem::remove_all(folder);
}
