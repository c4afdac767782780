// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/peft_adapters.hpp>

#include <motet/format/hf/hf_decoder_tensors.hpp>
#include <motet/format/hf/hf_llava.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

namespace {

using namespace motet;

const hf_decoder_config small{.family = "llama",
                              .vocabulary = 7,
                              .context = 8,
                              .width = 4,
                              .hidden = 6,
                              .layers = 1,
                              .heads = 2,
                              .kv_heads = 1,
                              .head_width = 3};
const peft_adapters chosen{{2, 1.5}, {"q_proj", "v_proj", "down_proj"}};

// Adapters of these products: queries and values one below the other.
struct adapters {
  std::vector<float> qv_a, qv_b, down_a, down_b;
  explicit adapters(float from) : qv_a(4 * 4), qv_b(9 * 2), down_a(2 * 6), down_b(4 * 2) {
    for (std::vector<float>* each : {&qv_a, &qv_b, &down_a, &down_b})
      for (float& number : *each) number = from == 0 ? 0 : from++;
  }
  template <class Tensor>
  std::vector<Tensor> all() {
    const std::string block = "talk.blocks.0.";
    return {{block + "attention.qkv.a", {4, 4}, qv_a.data()},
            {block + "attention.qkv.b", {9, 2}, qv_b.data()},
            {block + "mlp.down.a", {2, 6}, down_a.data()},
            {block + "mlp.down.b", {4, 2}, down_b.data()}};
  }
};
std::vector<hf_tensor> weights() { return hf_decoder_tensors(small, "talk"); }

std::string refusal(const std::filesystem::path& folder, const peft_adapters& of) {
  adapters to(0);
  try {
    load_peft_adapters(folder, weights(), of, to.all<loaded_tensor>());
  } catch (const error& problem) {
    CHECK(to.qv_a == adapters(0).qv_a);
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("adapters go out and come back, each product by the name that the peft package has") {
  const scratch folder;
  adapters from(1), back(0);
  save_peft_adapters(folder / "out", weights(), chosen, from.all<saved_tensor>(), "small");
  const tensor_set written(folder / "out" / "adapter_model.safetensors");
  const std::string layer = "base_model.model.model.layers.0.";
  CHECK(written.size() == 6);
  CHECK(written.at(layer + "self_attn.q_proj.lora_A.weight").shape == std::vector<isize>{2, 4});
  CHECK(written.at(layer + "self_attn.q_proj.lora_B.weight").shape == std::vector<isize>{6, 2});
  CHECK(written.at(layer + "self_attn.v_proj.lora_B.weight").shape == std::vector<isize>{3, 2});
  CHECK(written.at(layer + "mlp.down_proj.lora_A.weight").shape == std::vector<isize>{2, 6});
  std::vector<float> values_a(8);
  copy_elements(written.at(layer + "self_attn.v_proj.lora_A.weight"), values_a.data());
  CHECK(values_a == std::vector<float>(from.qv_a.begin() + 8, from.qv_a.end()));
  load_peft_adapters(folder / "out", weights(), chosen, back.all<loaded_tensor>());
  CHECK(back.qv_a == from.qv_a);
  CHECK(back.qv_b == from.qv_b);
  CHECK(back.down_a == from.down_a);
  CHECK(back.down_b == from.down_b);
  // What merges adapters reads them, too.
  CHECK(read_peft_lora(mapped_file(folder / "out" / "adapter_config.json").text(), "c").scale == 1.5);
}

TEST_CASE("parts of models that see are named as the peft package names them") {
  const auto found = peft_tensors(hf_decoder_tensors(small, "talk", "language_model."), chosen);
  CHECK(found[0].theirs[0].name ==
        "base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight");
}

TEST_CASE("a net's description tells its adapters") {
  const peft_adapters of = describe_as_peft(
      json{{"rank", 3}, {"scale", 2.5}, {"products", json::array{"keys", "out", "gate", "up"}}});
  CHECK(of.lora.rank == 3);
  CHECK(of.lora.scale == 2.5);
  CHECK(of.dropout == 0);
  CHECK(describe_as_peft(json{{"rank", 1}, {"scale", 1}, {"products", json::array{}}, {"dropout", 0.25}})
            .dropout == 0.25);
  CHECK(of.products == std::vector<std::string>{"k_proj", "o_proj", "gate_proj", "up_proj"});
}

TEST_CASE("adapters of another rank, scale or product are refused, and nothing changes") {
  const scratch folder;
  adapters from(1);
  save_peft_adapters(folder.path(), weights(), chosen, from.all<saved_tensor>());
  const auto with = [](isize rank, double scale, std::vector<std::string> products) {
    return peft_adapters{{rank, scale}, std::move(products)};
  };
  CHECK(refusal(folder.path(), with(3, 1.5, chosen.products)).find(".r is 2, and the net has 3") !=
        std::string::npos);
  CHECK(refusal(folder.path(), with(2, 2, chosen.products)).find("[MT-F17]") != std::string::npos);
  CHECK(refusal(folder.path(), with(2, 1.5, {"q_proj", "v_proj"})).find("lora_B.weight") !=
        std::string::npos);
  CHECK(refusal(folder.path(), with(2, 1.5, chosen.products)).empty());
  auto few = from.all<saved_tensor>();
  few.pop_back();
  CHECK_THROWS_WITH_AS(save_peft_adapters(folder.path(), weights(), chosen, few),
                       doctest::Contains("missing     talk.blocks.0.mlp.down.b"), error);
}

namespace {

// Weights by the map of a model, some numbers in each, and adapters beside them.
struct adapted_weights {
  std::vector<std::vector<float>> numbers;
  std::vector<loaded_tensor> all;
  adapted_weights(const std::vector<hf_tensor>& map, const peft_adapters& of) {
    for (const std::vector<hf_tensor>& rows : {map, peft_tensors(map, of)})
      for (const hf_tensor& row : rows) {
        auto& own = numbers.emplace_back(as_size(row.elements()));
        for (std::size_t i = 0; i < own.size(); ++i)
          own[i] = static_cast<float>(static_cast<int>((i * 37 + numbers.size() * 11) % 101) - 50) / 64;
        all.push_back({row.ours, {row.elements()}, own.data()});
      }
  }
  std::vector<saved_tensor> saved() const {
    std::vector<saved_tensor> out;
    for (const loaded_tensor& each : all) out.push_back({each.name, each.shape, each.data});
    return out;
  }
};
hf_llava_config seeing() {
  hf_llava_config out;
  out.image = 4, out.patch = 2, out.seen = 1;
  out.eye = {4, 6, 1, 2, "gelu", 1e-5};
  out.words = small;
  return out;
}

}  // namespace

TEST_CASE("adapters that are merged in memory are those that go out and are merged when they are read") {
  for (const auto& [map, part] :
       {std::pair{weights(), ""}, {hf_llava_tensors(seeing(), {"eye", "glue", "talk"}), "language_model."}}) {
    CAPTURE(part);
    const scratch folder;
    peft_adapters of = chosen;
    of.part = part, of.dropout = 0.125;
    adapted_weights here(map, of), there(map, of);
    const adapted_weights before(map, of);
    save_peft_adapters(folder.path(), map, of, there.saved());
    merge_peft_lora(folder.path(), map, there.all);
    merge_adapters(map, of, here.all);
    CHECK(here.numbers == there.numbers);
    isize changed = 0;
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (here.numbers[i] == before.numbers[i]) continue;
      ++changed;
      // An eye has products of these names, too.
      CHECK(map[i].ours.starts_with("talk."));
    }
    CHECK(changed == 2);
    const json config = read_json(mapped_file(folder.path() / "adapter_config.json").text(), "config");
    CHECK(config.at("lora_dropout").number() == 0.125);
    if (*part != 0)
      CHECK(config.at("target_modules").string() == ".*language_model..*(q_proj|v_proj|down_proj)");
    else CHECK(config.at("target_modules").items().size() == 3);
  }
}

TEST_CASE("adapters that lack are not merged") {
  adapted_weights some(weights(), chosen);
  some.all.pop_back();
  CHECK_THROWS_WITH_AS(merge_adapters(weights(), chosen, some.all),
                       doctest::Contains("missing     talk.blocks.0.mlp.down.b"), error);
}

TEST_CASE("a description is told from its adapters") {
  const json whole{
      {"modules",
       json::array{
           json{{"name", "eye"}},
           json{{"name", "talk"},
                {"net",
                 json{{"width", 4},
                      {"adapters", json{{"rank", 2}, {"scale", 1.5}, {"products", json::array{"up"}}}}}}}}}};
  const described_adapters found = describe_adapters(whole);
  REQUIRE(found.adapters);
  CHECK(found.adapters->lora.rank == 2);
  CHECK(found.adapters->products == std::vector<std::string>{"up_proj"});
  const json& net = found.merged.at("modules").items()[1].at("net");
  CHECK(net.find("adapters") == nullptr);
  CHECK(net.at("width").integer() == 4);
  CHECK(!describe_adapters(found.merged).adapters);
  CHECK(describe_adapters(found.merged).merged == found.merged);
}
