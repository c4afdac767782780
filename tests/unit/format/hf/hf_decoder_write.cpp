// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_decoder_write.hpp>
#include <motet/format/text/json_read.hpp>

#include <doctest/doctest.h>

using motet::json;

namespace {

const std::string plain =
    R"("net": "decoder", "vocabulary": 9, "context": 5, "width": 12, "layers": 2, "heads": 3, "kv_heads": 1, "head_width": 4,
  "hidden": 7, "act": "silu", "gated": true, "norm": "rms", "epsilon": 9.999999974752427e-07, "rotary": 10000.0)";
json described(const std::string& flags) {
  return motet::read_json(
      R"({"modules": [{"name": "talk", "frozen": false, "net": {)" + plain + flags + "}}]}", "d");
}
const std::string llama = R"(, "bias": false, "out_bias": false, "mlp_bias": true, "head_norm": false)",
                  qwen2 = R"(, "bias": true, "out_bias": false, "mlp_bias": false, "head_norm": false)",
                  qwen3 = R"(, "bias": true, "out_bias": true, "mlp_bias": false, "head_norm": true)",
                  slowed = R"(, "scaling": {"factor": 8.0, "slow": 1.0, "fast": 4.0, "context": 3})";

}  // namespace

TEST_CASE("a decoder becomes the family that has its biases and norms, and is the same when read again") {
  for (const auto& [flags, family] :
       {std::pair(llama, "llama"), std::pair(qwen2, "qwen2"), std::pair(qwen3, "qwen3"),
        std::pair(llama + slowed, "llama"), std::pair(qwen3 + R"(, "tied": true)", "qwen3")}) {
    const json description = described(flags);
    const auto found = motet::describe_as_hf_decoder(description);
    CHECK(found.module == "talk");
    CHECK(found.config.family == family);
    const auto again = motet::read_hf_decoder_config(motet::write_hf_decoder_config(found.config), "again");
    CHECK(again.family == family);
    CHECK(motet::same_net(again, description.at("modules").items()[0].at("net")));
    auto other = again;
    other.rotary *= 2;
    CHECK_FALSE(motet::same_net(other, description.at("modules").items()[0].at("net")));
    other = again;
    other.factor *= 2;
    CHECK_FALSE(motet::same_net(other, description.at("modules").items()[0].at("net")));
    other = again;
    other.tied = !again.tied;
    CHECK_FALSE(motet::same_net(other, description.at("modules").items()[0].at("net")));
  }
}

TEST_CASE("what no family has is named") {
  for (const auto& [flags, part] :
       {std::pair(R"(, "bias": false, "out_bias": true, "mlp_bias": false, "head_norm": false)",
                  "talk.bias is not .out_bias"),
        std::pair(R"(, "bias": true, "out_bias": false, "mlp_bias": true, "head_norm": false)",
                  "as only llama has it"),
        std::pair(
            R"(, "mixture": {}, "bias": false, "out_bias": false, "mlp_bias": false, "head_norm": false)",
            "talk has experts")})
    CHECK_THROWS_WITH_AS(motet::describe_as_hf_decoder(described(flags)), doctest::Contains(part),
                         motet::error);
  CHECK_THROWS_WITH_AS(motet::describe_as_hf_decoder(motet::read_json("{}", "d")),
                       doctest::Contains("not one decoder"), motet::error);
}
