// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/text/json_read.hpp>

#include <doctest/doctest.h>

using motet::json;

namespace {

constexpr const char* vit =
    R"({"net": "vit", "image": 37, "patch": 7, "channels": 3, "width": 48, "layers": 3, "heads": 4, "kv_heads": 4, "head_width": 12, "hidden": 100,
  "embedding": 24, "act": "quick_gelu", "epsilon": 9.999999747378752e-06, "pool": "first", "position": "learned", "patch_bias": false, "pre_norm": true})";
constexpr const char* text =
    R"({"net": "text_tower", "vocabulary": 99, "context": 11, "width": 40, "layers": 2, "heads": 5, "kv_heads": 5, "head_width": 8, "hidden": 96,
  "embedding": 24, "act": "gelu_tanh", "epsilon": 1e-05, "pool": "last", "mask": "causal", "rotary": 0.0})";

json described(const json& picture, const json& caption) {
  return json{{"modules", json::array{json{{"name", "p"}, {"frozen", false}, {"net", picture}},
                                      json{{"name", "c"}, {"frozen", true}, {"net", caption}}}}};
}
std::string refusal(const json& description) {
  try {
    motet::describe_as_hf_clip(description);
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& said, std::string_view part) { return said.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a vit and a text tower become a configuration") {
  const auto found = motet::describe_as_hf_clip(described(motet::read_json(vit), motet::read_json(text)));
  CHECK(found.picture == "p");
  CHECK(found.caption == "c");
  CHECK(found.config.image == 37);
  CHECK(found.config.vision.hidden == 100);
  CHECK(found.config.text.heads == 5);
  CHECK(found.config.text.activation == "gelu_tanh");
  CHECK(found.config.end_token == 98);
  CHECK(found.config.projection == 24);
  motet::hf_clip_config other = found.config;
  CHECK(motet::same_net(found.config, other));
  other.vision.epsilon = 1e-5;  // the same as a float
  other.image = 35;             // the same patches
  CHECK(motet::same_net(found.config, other));
  other.text.activation = "gelu";
  CHECK_FALSE(motet::same_net(found.config, other));
}

TEST_CASE("everything without a counterpart is named at once") {
  json picture = motet::read_json(vit), caption = motet::read_json(text);
  picture.set("pre_norm", false)
      .set("pool", "mean")
      .set("kv_heads", 2)
      .set("position", "sine")
      .set("patch_bias", true)
      .set("most_patches", 30);
  caption.set("mask", "full").set("rotary", 1e4).set("head_width", 9).set("pool", "mean").set("act", "none");
  const std::string said = refusal(described(picture, caption));
  for (const char* part :
       {"p.pre_norm", "p.pool", "p.kv_heads", "p.position", "p.patch_bias", "c.mask", "c.rotary",
        "c.heads times", "c.pool", "c.act", "p sees pictures of any shape", "[MT-F14]"}) {
    CAPTURE(part);
    CHECK(contains(said, part));
  }
}

TEST_CASE("other modules have no form there") {
  const json picture = motet::read_json(vit), caption = motet::read_json(text);
  CHECK(contains(refusal(described(picture, picture)), "module c is one more"));
  CHECK(contains(refusal(described(picture, picture)), "there is no text_tower"));
  CHECK(contains(refusal(json{}), "no description"));
  CHECK(contains(refusal(json{{"modules", json::array{json{{"name", "own"}}}}}), "module own"));
}
