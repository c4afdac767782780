// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/peft_lora.hpp>

#include <doctest/doctest.h>

#include "unit/format/scratch.hpp"

namespace {

using motet::isize;
using named_tensors = std::vector<std::pair<std::string, std::vector<isize>>>;

const std::string plain =
    R"("peft_type": "LORA", "r": 2, "lora_alpha": 6, "use_dora": false, "rank_pattern": {})";

// Tensor k has 1, 2, 3, ... times k + 1.
void write(const scratch& folder, const std::string& config, const named_tensors& tensors) {
  motet::write_file(folder / "adapter_config.json", "{" + config + "}");
  std::vector<motet::declared_tensor> declared;
  for (const auto& [name, shape] : tensors) declared.push_back({name, motet::dtype::f32, shape});
  motet::safetensors_writer out(folder / "adapter_model.safetensors", declared);
  float times = 0;
  for (const auto& [name, shape] : tensors) {
    times += 1;
    isize size = 1;
    for (const isize extent : shape) size *= extent;
    std::vector<float> numbers;
    for (isize i = 1; i <= size; ++i) numbers.push_back(times * static_cast<float>(i));
    out.write(name, numbers.data());
  }
  out.commit();
}

// Two products that are one tensor here, a table that is read twice, and a vector.
struct weights {
  std::vector<motet::hf_tensor> map{{"qk", {{"model.q.weight", {2, 3}}, {"model.k.weight", {1, 3}}}},
                                    {"in", {{"model.table.weight", {2, 2}}}},
                                    {"out", {{"model.table.weight", {2, 2}}}},
                                    {"n", {{"model.norm.weight", {2}}}}};
  std::vector<float> qk = std::vector<float>(9, 100), in = std::vector<float>(4, 100), out = in,
                     n = std::vector<float>(2, 100);
  std::vector<motet::loaded_tensor> all() {
    return {{"qk", {3, 3}, qk.data()},
            {"in", {2, 2}, in.data()},
            {"out", {2, 2}, out.data()},
            {"n", {2}, n.data()}};
  }
};
const std::string of = "base_model.model.model.";

}  // namespace

TEST_CASE("adapters are added to their part of a tensor, by their scale") {
  const scratch folder;
  for (const bool by_root : {false, true}) {
    // A is (1, 2, 3; 4, 5, 6) and B is (2, 4), so that B A is (18, 24, 30).
    write(folder, plain + (by_root ? R"(, "use_rslora": true)" : ""),
          {{of + "k.lora_A.weight", {2, 3}}, {of + "k.lora_B.weight", {1, 2}}});
    weights of_model;
    motet::merge_peft_lora(folder.path(), of_model.map, of_model.all());
    const double scale = by_root ? 6 / std::sqrt(2.0) : 3;
    for (std::size_t i = 0; i < 6; ++i) CHECK(of_model.qk[i] == 100);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(of_model.qk[6 + i] == doctest::Approx(100 + scale * (18 + 6 * static_cast<double>(i))));
    CHECK(of_model.n == std::vector<float>{100, 100});
  }
}

TEST_CASE("whole tensors take the place of the model's, wherever it is read") {
  const scratch folder;
  write(folder, plain,
        {{of + "norm.weight", {2}},
         {of + "table.base_layer.weight", {2, 2}},
         {of + "table.lora_A.weight", {2, 2}},
         {of + "table.lora_B.weight", {2, 2}}});
  weights of_model;
  motet::merge_peft_lora(folder.path(), of_model.map, of_model.all());
  CHECK(of_model.n == std::vector<float>{1, 2});
  // 2 (1, 2; 3, 4) + 3 x 4 (1, 2; 3, 4) x 3 (1, 2; 3, 4)
  CHECK(of_model.in == std::vector<float>{2 + 36 * 7, 4 + 36 * 10, 6 + 36 * 15, 8 + 36 * 22});
  CHECK(of_model.out == of_model.in);
}

TEST_CASE("parts of models that see have other names in files; layers that nobody computes are left out") {
  const scratch folder;
  std::vector<motet::hf_tensor> map{{"a", {{"language_model.model.q.weight", {1, 1}}}},
                                    {"b", {{"language_model.lm_head.weight", {1, 1}}}},
                                    {"c", {{"multi_modal_projector.linear_1.weight", {1, 1}}}},
                                    {"d", {{"vision_tower.vision_model.q.weight", {1, 1}}}}};
  std::vector<float> numbers(4, 0);
  std::vector<motet::loaded_tensor> to;
  for (std::size_t i = 0; i < 4; ++i) to.push_back({map[i].ours, {1, 1}, &numbers[i]});
  named_tensors tensors;
  for (const char* const name : {"model.language_model.q", "lm_head", "model.multi_modal_projector.linear_1",
                                 "model.vision_tower.q", "model.vision_tower.last.q"}) {
    tensors.push_back({std::string("base_model.model.") + name + ".lora_A.weight", {1, 1}});
    tensors.push_back({std::string("base_model.model.") + name + ".lora_B.weight", {1, 1}});
  }
  write(folder, R"("peft_type": "LORA", "r": 1, "lora_alpha": 1)", tensors);
  CHECK_THROWS_WITH_AS(
      motet::merge_peft_lora(folder.path(), map, to),
      doctest::Contains("unexpected  base_model.model.model.vision_tower.last.q.lora_B.weight"),
      motet::error);
  CHECK(numbers == std::vector<float>(4, 0));
  motet::merge_peft_lora(folder.path(), map, to, {"vision_tower.vision_model.last."});
  CHECK(numbers == std::vector<float>{1 * 2, 3 * 4, 5 * 6, 7 * 8});
}

TEST_CASE("what does not fit is named, and nothing changes") {
  const scratch folder;
  weights of_model;
  for (const auto& [tensors, part] :
       {std::pair(named_tensors{{of + "k.lora_A.weight", {3, 3}}, {of + "k.lora_B.weight", {1, 3}}},
                  "k.lora_A.weight is [3, 3], wanted [2, 3]"),
        std::pair(named_tensors{{of + "norm.weight", {2}}, {of + "k.lora_A.weight", {2, 3}}},
                  "missing     lora_B of model.k.weight"),
        std::pair(named_tensors{{of + "norm.lora_A.weight", {2, 2}}}, "model.norm.weight [2] is no matrix"),
        std::pair(named_tensors{{of + "norm.weight", {3}}}, "norm.weight is [3], wanted [2]"),
        std::pair(named_tensors{{of + "v.lora_A.weight", {2, 3}}},
                  "unexpected  base_model.model.model.v.lora_A"),
        std::pair(named_tensors{{"model.k.lora_A.weight", {2, 3}}}, "unexpected  model.k.lora_A")}) {
    write(folder, plain, tensors);
    CHECK_THROWS_WITH_AS(motet::merge_peft_lora(folder.path(), of_model.map, of_model.all()),
                         doctest::Contains(part), motet::error);
  }
  CHECK(of_model.n == std::vector<float>{100, 100});
  CHECK(of_model.qk == std::vector<float>(9, 100));
  CHECK_THROWS_WITH_AS(motet::merge_peft_lora(folder / "absent", of_model.map, of_model.all()),
                       doctest::Contains("[MT-F04]"), motet::error);
}

TEST_CASE("variants that do more than add a product are refused by name") {
  const auto read = [](const std::string& text) { return motet::read_peft_lora("{" + text + "}", "c"); };
  CHECK(read(plain).rank == 2);
  CHECK(read(plain).scale == 3);
  for (const auto& [text, part] :
       {std::pair(std::string(R"("peft_type": "IA3")"), "c.peft_type is not LORA"),
        std::pair(std::string(R"("peft_type": "LORA", "r": 2, "lora_alpha": 6, "use_dora": true)"),
                  "c.use_dora is set"),
        std::pair(std::string(R"("peft_type": "LORA", "r": 2, "lora_alpha": 6, "alpha_pattern": {"q": 3})"),
                  "c.alpha_pattern is set"),
        std::pair(std::string(R"("peft_type": "LORA", "r": 2, "lora_alpha": 6, "target_parameters": ["w"])"),
                  "c.target_parameters is set"),
        std::pair(std::string(R"("peft_type": "LORA", "r": 0, "lora_alpha": 6)"), "c.r is not a count"),
        std::pair(std::string(R"("peft_type": "LORA", "r": 2)"), "c.lora_alpha is not a number")})
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(part), motet::error);
  CHECK_THROWS_WITH_AS(read(R"("peft_type": "IA3")"), doctest::Contains("[MT-F17]"), motet::error);
}
