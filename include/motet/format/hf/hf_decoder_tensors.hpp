// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_decoder.hpp>
#include <motet/format/hf/hf_tensors.hpp>

namespace motet {

// All tensors of a language model, by the names that a decoder has in a module called `module`. Theirs begin
// with `before` where it is part of another model.
inline std::vector<hf_tensor> hf_decoder_tensors(const hf_decoder_config& config,
                                                 const std::string& module = "text",
                                                 const std::string& before = "") {
  std::vector<hf_tensor> out;
  const isize width = config.width, query = config.heads * config.head_width,
              key = config.kv_heads * config.head_width;
  const auto one = [&](const std::string& ours, const std::string& theirs, const std::vector<isize>& shape) {
    out.push_back({ours, {{before + theirs, shape}}});
  };
  one(module + ".embed.token", "model.embed_tokens.weight", {config.vocabulary, width});
  for (isize i = 0; i < config.layers; ++i) {
    const std::string block = sentence({module, ".blocks.", i}), layer = sentence({"model.layers.", i});
    const std::string attention = layer + ".self_attn.", mlp = layer + ".mlp.";
    // `of` products to `rows` numbers each, which we have as one.
    const auto product = [&](const std::string& ours, const std::vector<std::pair<std::string, isize>>& of,
                             isize columns, bool bias) {
      hf_tensor weight{ours + ".weight", {}}, added{ours + ".bias", {}};
      for (const auto& [theirs, rows] : of) {
        weight.theirs.push_back({before + theirs + ".weight", {rows, columns}});
        added.theirs.push_back({before + theirs + ".bias", {rows}});
      }
      out.push_back(std::move(weight));
      if (bias) out.push_back(std::move(added));
    };
    one(block + ".attention.norm.weight", layer + ".input_layernorm.weight", {width});
    product(block + ".attention.qkv",
            {{attention + "q_proj", query}, {attention + "k_proj", key}, {attention + "v_proj", key}}, width,
            config.bias);
    product(block + ".attention.out", {{attention + "o_proj", width}}, query, config.out_bias);
    if (config.head_norm) {
      one(block + ".attention.query_norm.weight", attention + "q_norm.weight", {config.head_width});
      one(block + ".attention.key_norm.weight", attention + "k_norm.weight", {config.head_width});
    }
    one(block + ".mlp.norm.weight", layer + ".post_attention_layernorm.weight", {width});
    product(block + ".mlp.gate_up", {{mlp + "gate_proj", config.hidden}, {mlp + "up_proj", config.hidden}},
            width, config.mlp_bias);
    product(block + ".mlp.down", {{mlp + "down_proj", width}}, config.hidden, config.mlp_bias);
  }
  one(module + ".norm.weight", "model.norm.weight", {width});
  if (!config.tied) one(module + ".head.weight", "lm_head.weight", {config.vocabulary, width});
  return out;
}

}  // namespace motet
