// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/model/model.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// The facts are what a plan must know of a module to say whether it fits.
struct module_facts {
  label name;
  isize layers = 1;     // that stages share
  isize key_heads = 0;  // that a tensor group shares; 0: unknown
  bool attends = true;
  bool frozen = false;
  // A model with edges says more: the modules whose rows enter it, whether gradients go on through it though
  // it is frozen, and whether it ends in the loss.
  list<std::int32_t> from{};
  bool passes = false;
  bool meets = true;
  std::int32_t join = 0;  // which of the model's losses that is
  // Where ranks cut its samples, each takes the rows that enter its part.
  bool takes_parts = false;
  // Likewise each gives the rows that it has made, where they go on to another module.
  bool gives_parts = false;
  // A sample takes about so many multiplications forward, so that modules can be compared; 0: unknown.
  double work = 0;
  isize blocks = 0;   // layers may be halves of these; 0: they are blocks
  isize experts = 0;  // of each mixture among them; 0: there is none
  isize rows = 0;     // that look at each other: of a text, a picture or a sound, at most; 0: unknown
  constexpr isize whole_blocks() const { return blocks > 0 ? blocks : layers; }
};

namespace detail {

// All layers of a tower count, and a head.
template <class Tower>
constexpr double work_of_sample(const Tower& of, isize rows, isize vocabulary) {
  const isize hidden = of.hidden > 0 ? of.hidden : 4 * of.width, mlps = of.has_experts() ? of.mix.top_k : 1,
              weights = of.width * (4 * of.width + (of.gated ? 3 : 2) * hidden * mlps);
  return static_cast<double>(rows) *
         (static_cast<double>(of.layers) * static_cast<double>(weights + 2 * rows * of.width) +
          static_cast<double>(of.width) * static_cast<double>(vocabulary));
}

// And what its blocks make of rows beside a sample, where they look at such: of as many as it may have.
template <class Net>
constexpr double work_beside(isize rows) {
  if constexpr (looks_beside<Net>) {
    const isize width = Net::config.width, others = Net::most_rows;
    return static_cast<double>(Net::config.layers / Net::looks_every) *
           (static_cast<double>(rows) * static_cast<double>(2 * width * width + 2 * others * width) +
            static_cast<double>(others) * static_cast<double>(2 * Net::takes_rows * width));
  } else {
    return 0;
  }
}

// So do all layers of a net that draws.
template <class Drawer>
constexpr double work_of_picture(const Drawer& of) {
  const isize rows = of.noised().patches(), weights = of.width * (4 * of.width + 2 * of.hidden_units());
  return static_cast<double>(rows) * static_cast<double>(of.layers) *
         static_cast<double>(weights + 2 * rows * of.width);
}

// The vocabulary is that of a head, where the net ends in one.
template <class Net>
constexpr isize vocabulary_of_head() {
  if constexpr (requires {
                  Net::config.vocabulary;
                  requires Net::own_loss;
                })
    return Net::config.vocabulary;
  else return 0;
}

template <class Module>
constexpr module_facts facts_of_module() {
  using net = typename Module::net;
  module_facts out;
  out.name = label(Module::name);
  out.frozen = Module::frozen;
  if constexpr (requires { net::stage::layers; }) out.layers = net::stage::layers;
  if constexpr (requires { net::stage::whole_blocks; }) out.blocks = net::stage::whole_blocks;
  if constexpr (requires { net::stage::embeds_parts; }) out.takes_parts = net::stage::embeds_parts;
  if constexpr (requires { net::stage::ends_parts; }) out.gives_parts = net::stage::ends_parts;
  if constexpr (requires { net::config.tower().attention; })
    out.key_heads = net::config.tower().attention.shape().kv_heads;
  else out.attends = false;
  if constexpr (requires { net::config.noised(); }) out.work = work_of_picture(net::config);
  if constexpr (requires { net::config.tower().mix; }) out.experts = net::config.tower().mix.experts;
  if constexpr (requires { net::config.tower(); }) {
    if constexpr (requires { net::config.patches(); }) out.rows = net::config.patches().rows();
    else if constexpr (requires { net::config.heard(); }) out.rows = net::config.heard().rows();
    else if constexpr (requires { net::config.context; }) out.rows = net::config.context;
    out.work =
        work_of_sample(net::config.tower(), out.rows, vocabulary_of_head<net>()) + work_beside<net>(out.rows);
  }
  return out;
}

}  // namespace detail

// About what a sample of so many rows takes forward, in multiplications; of a net without a tower, its rows.
// Rows of an eye or an ear are those of whole pictures or sounds, which do not look at each other.
template <class Net>
constexpr double work_of_rows(isize rows) {
  const auto of_whole = [&](const auto& config, isize each) {
    return static_cast<double>(rows) / static_cast<double>(each) *
           detail::work_of_sample(config.tower(), each, 0);
  };
  if constexpr (requires { Net::config.patches(); }) {
    return of_whole(Net::config, Net::config.patches().rows());
  } else if constexpr (requires { Net::config.heard(); }) {
    return of_whole(Net::config, Net::config.heard().rows());
  } else if constexpr (requires { Net::config.tower(); }) {
    return detail::work_of_sample(Net::config.tower(), rows, detail::vocabulary_of_head<Net>()) +
           detail::work_beside<Net>(rows);
  } else {
    return static_cast<double>(rows);
  }
}

// Some module's rows enter another where this holds.
constexpr bool has_edges(const list<module_facts>& facts) {
  for (const module_facts& each : facts)
    if (!each.from.empty()) return true;
  return false;
}

// Modules are written as one pipeline where some feed others, or where not all meet in one loss.
constexpr bool one_way(const list<module_facts>& facts) {
  for (const module_facts& each : facts)
    if (each.meets && each.join != 0) return true;
  return has_edges(facts);
}

// The facts of every module, in the model's order.
template <class Model>
constexpr list<module_facts> facts_of() {
  list<module_facts> out;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (out.push(detail::facts_of_module<typename Model::template module_at<I>>()), ...);
  }(std::make_index_sequence<Model::size>{});
  for (const edge_ends& each : Model::edges)
    out[static_cast<isize>(each.to)].from.push(static_cast<std::int32_t>(each.from));
  for (std::size_t k = 0; k < Model::size; ++k) {
    out[static_cast<isize>(k)].passes = Model::passes[k];
    out[static_cast<isize>(k)].meets = Model::meets[k];
    out[static_cast<isize>(k)].join = Model::meets[k] ? Model::join_of[k] : 0;
  }
  return out;
}

}  // namespace motet
