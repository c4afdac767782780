// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>

namespace motet {

// A model's description (model/describe.hpp) as a Hugging Face CLIP configuration, with the names of its two
// modules.
struct hf_described {
  hf_clip_config config;
  std::string picture, caption;
};

// A part that has no counterpart there is MT-F14; all of them are named in one error.
inline hf_described describe_as_hf_clip(const json& description) {
  std::string wrong;
  const json *vit = nullptr, *text = nullptr;
  hf_described out;
  const json* modules = description.is_object() ? description.find("modules") : nullptr;
  if (modules == nullptr) fail(hf_not_expressible, "there is no description of its modules");
  for (const json& module : modules->items()) {
    const std::string& name = module.at("name").string();
    const json* net = module.find("net");
    const std::string kind = net == nullptr ? "" : net->at("net").string();
    if (kind == "vit" && vit == nullptr) {
      vit = net;
      out.picture = name;
    } else if (kind == "text_tower" && text == nullptr) {
      text = net;
      out.caption = name;
    } else {
      wrong += "\n  module " + name + " is one more than a vit and a text_tower";
    }
  }
  if (vit == nullptr) wrong += "\n  there is no vit";
  if (text == nullptr) wrong += "\n  there is no text_tower";
  const auto wanted = [&](const std::string& module, const json& net, const char* field, const json& value) {
    if (!(net.at(field) == value)) wrong += "\n  " + module + "." + field + " differs";
  };
  const auto tower = [&](const std::string& module, const json& net) {
    hf_tower t;
    t.width = static_cast<isize>(net.at("width").integer());
    t.layers = static_cast<isize>(net.at("layers").integer());
    t.heads = static_cast<isize>(net.at("heads").integer());
    t.hidden = static_cast<isize>(net.at("hidden").integer());
    t.activation = net.at("act").string();
    t.epsilon = net.at("epsilon").number();
    // Descriptions of nets that have no choice of these leave them out.
    for (const auto& [field, value] : {std::pair<const char*, json>{"norm", "layer"}, {"gated", false}})
      if (net.find(field) != nullptr) wanted(module, net, field, value);
    if (t.activation == "none") wrong += "\n  " + module + ".act is none";
    if (net.at("kv_heads").integer() != t.heads) wrong += "\n  " + module + ".kv_heads is not heads";
    if (net.at("head_width").integer() * t.heads != t.width)
      wrong += "\n  " + module + ".heads times head_width is not width";
    return t;
  };
  if (vit != nullptr) {
    out.config.vision = tower(out.picture, *vit);
    out.config.image = hf_learned_image(*vit);
    out.config.patch = static_cast<isize>(vit->at("patch").integer());
    out.config.channels = static_cast<isize>(vit->at("channels").integer());
    out.config.projection = static_cast<isize>(vit->at("embedding").integer());
    wanted(out.picture, *vit, "pool", "first");
    wanted(out.picture, *vit, "position", "learned");
    wanted(out.picture, *vit, "patch_bias", false);
    wanted(out.picture, *vit, "pre_norm", true);
    if (vit->find("most_patches") != nullptr) wrong += "\n  " + out.picture + " sees pictures of any shape";
  }
  if (text != nullptr) {
    out.config.text = tower(out.caption, *text);
    out.config.vocabulary = static_cast<isize>(text->at("vocabulary").integer());
    out.config.context = static_cast<isize>(text->at("context").integer());
    out.config.end_token = out.config.vocabulary - 1;  // where the tokenizers here put it
    wanted(out.caption, *text, "pool", "last");
    wanted(out.caption, *text, "mask", "causal");
    if (text->at("rotary").number() != 0) wrong += "\n  " + out.caption + ".rotary is not zero";
  }
  if (!wrong.empty()) fail(hf_not_expressible, wrong + "\n");
  return out;
}

// Two configurations may describe the same function of pictures and tokens. Epsilons are compared as the
// nets hold them.
inline bool same_net(const hf_clip_config& a, const hf_clip_config& b) {
  const auto same_tower = [](const hf_tower& x, const hf_tower& y) {
    return x.width == y.width && x.hidden == y.hidden && x.layers == y.layers && x.heads == y.heads &&
           x.activation == y.activation && static_cast<float>(x.epsilon) == static_cast<float>(y.epsilon);
  };
  return same_tower(a.vision, b.vision) && same_tower(a.text, b.text) && a.covered() == b.covered() &&
         a.patch == b.patch && a.channels == b.channels && a.vocabulary == b.vocabulary &&
         a.context == b.context && a.projection == b.projection;
}

}  // namespace motet
