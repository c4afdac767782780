// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json.hpp>
#include <motet/model/graph.hpp>
#include <motet/model/model.hpp>
#include <motet/nn/towers/drawer.hpp>
#include <motet/nn/towers/pooled_rows.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/nn/towers/sound_rows.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

namespace motet {

constexpr const char* name_of(activation act) {
  constexpr const char* names[] = {"none", "gelu", "gelu_tanh", "quick_gelu", "relu", "silu"};
  return names[static_cast<int>(act)];
}
constexpr const char* name_of(norm_kind norm) { return norm == norm_kind::layer ? "layer" : "rms"; }
constexpr const char* name_of(pool_kind pool) {
  constexpr const char* names[] = {"first", "last", "mean", "attention"};
  return names[static_cast<int>(pool)];
}
constexpr const char* name_of(gate_kind gates) {
  return gates == gate_kind::normalised ? "normalised" : "probability";
}

// The net as data: every field of its configuration that is a fact about the function it computes (how it is
// computed, e.g. recompute, is not).
json describe(const vit_config& c);
json describe(const text_config& c);
json describe(const decoder_config& c);
json describe(const sound_config& c);
json describe(const drawer_config& c);
json describe(const pooled_config& c);
json describe(const mixture_config& c);
json describe(const adapter_config& c);

namespace detail {

template <class Layer>
struct glue_description {
  static json get() { return json{{"in", Layer::in}, {"out", Layer::out}}; }
};
template <isize In, isize Hidden, isize Out, bool Up, bool Down, activation Act>
struct glue_description<
    sequential<named<"up", linear<In, Hidden, Up, Act>>, named<"down", linear<Hidden, Out, Down>>>> {
  static json get() {
    return json{{"in", In}, {"out", Out}, {"hidden", Hidden}, {"act", name_of(Act)}, {"bias", Up && Down}};
  }
};

template <class Module>
json describe_module() {
  json out{{"name", Module::name}, {"frozen", Module::frozen}};
  using net = typename Module::net;
  if constexpr (requires {
                  net::most_pictures;
                  typename net::embed::glue;
                }) {
    json eye = describe(net::eye::config);
    eye.set("normed", net::eye::normed);
    if constexpr (requires { net::eye::squares; }) eye.set("squares", net::eye::squares);
    out.set("net", json{{"net", "seeing_decoder"},
                        {"pictures", net::most_pictures},
                        {"eye", std::move(eye)},
                        {"glue", glue_description<typename net::embed::glue>::get()},
                        {"words", describe(net::config)}});
  } else if constexpr (requires { typename net::layer_type; }) {
    json through = glue_description<typename net::layer_type>::get();
    through.set("net", "rows_through");
    out.set("net", std::move(through));
  } else if constexpr (requires { describe(net::config); }) {
    json own = describe(net::config);
    // What goes on from it to another module, and what comes to it from one.
    if constexpr (requires { net::most_sounds; }) {
      own.set("net", "sound_rows");
      own.set("sounds", net::most_sounds);
    } else if constexpr (requires { net::most_pictures; }) {
      own.set("net", "vit_rows");
      own.set("normed", net::normed);
      own.set("pictures", net::most_pictures);
      if (net::squares > 1) own.set("squares", net::squares);
    } else if constexpr (gives_rows<net>) {
      own.set("net", takes_rows<net> > 0 ? "fed_decoder_rows" : "decoder_rows");
    } else if constexpr (requires { net::reads_tokens; }) {
      own.set("net", "upper_decoder");
    } else if constexpr (takes_rows<net> > 0 && !requires { net::pools_rows; }) {
      own.set("net", head_of<net> == own_head::noise ? "fed_drawer"
                     : looks_beside<net>             ? "cross_decoder"
                                                     : "fed_decoder");
    }
    if constexpr (takes_rows<net> > 0) own.set("rows", net::most_rows);
    if constexpr (head_of<net> == own_head::noise && takes_rows<net> > 0) own.set("fed", net::takes_rows);
    if constexpr (looks_beside<net>) own.set("beside", net::takes_rows);
    if constexpr (looks_beside<net>)
      if (net::looks_every > 1) own.set("looks_every", net::looks_every);
    if constexpr (looks_beside<net>)
      if (net::looks_gated) own.set("looks_gated", true);
    out.set("net", std::move(own));
  }
  return out;
}
template <class Model, std::size_t... I>
json describe_model(std::index_sequence<I...>) {
  json out{{"modules", json::array{describe_module<typename Model::template module_at<I>>()...}}};
  json::array edges;
  for (const edge_ends& each : Model::edges)
    edges.push_back(json::array{std::string(Model::names[each.from]), std::string(Model::names[each.to])});
  if (!edges.empty()) out.set("edges", std::move(edges));
  return out;
}

}  // namespace detail

// The modules of a model and their nets, as data: what a checkpoint says of its model and planners read. A
// net of the user's own appears by its module's name alone unless describe() knows its config.
// Asks for: a model. A config of one's own is known by a describe(config) beside it.
// Memory: the text that it returns.
// Errors: none of its own.
// Example:
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   const json said = describe<pair>();
template <class Model>
json describe() {
  return detail::describe_model<Model>(std::make_index_sequence<Model::size>{});
}

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {
template <class Config>
void add_experts(json& net, const Config& c) {
  if (c.tower().has_experts()) net.set("mixture", describe(c.tower().experts_of_block()));
}
}  // namespace detail

MOTET_BODY json describe(const mixture_config& c) {
  return json{
      {"experts", c.experts},   {"hidden", c.hidden},   {"top_k", c.top_k}, {"gates", name_of(c.gates)},
      {"capacity", c.capacity}, {"balance", c.balance}, {"z", c.z}};
}
MOTET_BODY json describe(const vit_config& c) {
  json out{{"net", "vit"},
           {"image", c.image},
           {"patch", c.patch},
           {"channels", c.channels},
           {"width", c.width},
           {"layers", c.layers},
           {"heads", c.heads},
           {"kv_heads", c.tower().attention.shape().kv_heads},
           {"head_width", c.tower().attention.columns_of_head()},
           {"hidden", c.tower().hidden},
           {"embedding", c.embedding},
           {"act", name_of(c.act)},
           {"epsilon", c.epsilon},
           {"pool", name_of(c.pool)},
           {"position", c.position == position_kind::learned ? "learned" : "sine"},
           {"patch_bias", c.patch_bias},
           {"pre_norm", c.pre_norm},
           {"norm", name_of(c.norm)},
           {"gated", c.gated}};
  if (c.patches().learned_side() != c.image / c.patch) out.set("learned_image", c.learned_image);
  if (c.most_patches > 0) out.set("most_patches", c.most_patches);
  detail::add_experts(out, c);
  return out;
}
MOTET_BODY json describe(const sound_config& c) {
  json out{{"net", "sound_tower"},
           {"bins", c.bins},
           {"frames", c.frames},
           {"width", c.width},
           {"layers", c.layers},
           {"heads", c.heads},
           {"kv_heads", c.tower().attention.shape().kv_heads},
           {"head_width", c.tower().attention.columns_of_head()},
           {"hidden", c.tower().hidden},
           {"embedding", c.embedding},
           {"act", name_of(c.act)},
           {"epsilon", c.epsilon},
           {"pool", name_of(c.pool)},
           {"norm", name_of(c.norm)},
           {"gated", c.gated}};
  detail::add_experts(out, c);
  return out;
}
MOTET_BODY json describe(const text_config& c) {
  json out{{"net", "text_tower"},
           {"vocabulary", c.vocabulary},
           {"context", c.context},
           {"width", c.width},
           {"layers", c.layers},
           {"heads", c.heads},
           {"kv_heads", c.tower().attention.shape().kv_heads},
           {"head_width", c.tower().attention.columns_of_head()},
           {"hidden", c.tower().hidden},
           {"embedding", c.embedding},
           {"act", name_of(c.act)},
           {"epsilon", c.epsilon},
           {"pool", name_of(c.pool)},
           {"mask", c.mask == mask_kind::causal ? "causal" : "full"},
           {"rotary", c.rotary},
           {"norm", name_of(c.norm)},
           {"gated", c.gated}};
  detail::add_experts(out, c);
  return out;
}
MOTET_BODY json describe(const adapter_config& c) {
  json::array products;
  for (const auto& [chosen, name] :
       std::initializer_list<std::pair<bool, const char*>>{{c.queries, "queries"},
                                                           {c.keys, "keys"},
                                                           {c.values, "values"},
                                                           {c.out, "out"},
                                                           {c.gate, "gate"},
                                                           {c.up, "up"},
                                                           {c.down, "down"}})
    if (chosen) products.push_back(name);
  json out{{"rank", c.rank}, {"scale", c.scale()}, {"products", std::move(products)}};
  if (c.dropout > 0) out.set("dropout", c.dropout);
  return out;
}
MOTET_BODY json describe(const decoder_config& c) {
  const attention_config attention = c.tower().attention;
  json out{{"net", "decoder"},
           {"vocabulary", c.vocabulary},
           {"context", c.context},
           {"width", c.width},
           {"layers", c.layers},
           {"heads", c.heads},
           {"kv_heads", attention.shape().kv_heads},
           {"head_width", attention.columns_of_head()},
           {"hidden", c.tower().hidden},
           {"act", name_of(c.act)},
           {"gated", c.gated},
           {"norm", name_of(c.norm)},
           {"epsilon", c.epsilon},
           {"rotary", c.rotary},
           {"bias", c.bias},
           {"out_bias", c.bias && c.out_bias},
           {"mlp_bias", c.mlp_bias},
           {"head_norm", c.head_norm}};
  if (c.z_loss > 0) out.set("z_loss", c.z_loss);
  if (c.tied) out.set("tied", true);
  if (c.scaling.factor != 1)
    out.set("scaling", json{{"factor", c.scaling.factor},
                            {"slow", c.scaling.slow},
                            {"fast", c.scaling.fast},
                            {"context", c.scaling.context}});
  if (c.adapters.any()) out.set("adapters", describe(c.adapters));
  detail::add_experts(out, c);
  return out;
}
MOTET_BODY json describe(const drawer_config& c) {
  return json{{"net", "drawer"},          {"image", c.image},           {"patch", c.patch},
              {"channels", c.channels},   {"width", c.width},           {"layers", c.layers},
              {"heads", c.heads},         {"hidden", c.hidden_units()}, {"classes", c.classes},
              {"forgotten", c.forgotten}, {"act", name_of(c.act)}};
}
MOTET_BODY json describe(const pooled_config& c) {
  json out{{"net", "pooled_rows"},     {"width", c.width},        {"pool", name_of(c.pool)},
           {"embedding", c.embedding}, {"norm", name_of(c.norm)}, {"epsilon", c.epsilon}};
  if (c.pool == pool_kind::attention) out.set("heads", c.heads);
  return out;
}
#endif

}  // namespace motet
