// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/plan/describe/tower.hpp>
#include <motet/plan/search/search_result.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

// A search refuses in these words.

namespace motet {

inline std::string in_words(double bytes) {
  char text[64];
  if (bytes >= 1e9) std::snprintf(text, sizeof text, "%.0f bytes (%.2f GB)", bytes, bytes / 1e9);
  else std::snprintf(text, sizeof text, "%.0f bytes", bytes);
  return text;
}

namespace detail {

// The two multiples of `step` next to `samples`.
inline std::string nearest_batches(isize samples, isize step) {
  const isize below = samples / step * step;
  if (below == 0) return sentence({step, " or ", 2 * step});
  return sentence({below, " or ", below + step});
}

// Pins of a tower as one; two that say different things are refused.
inline tower_pin merged_pin(const model_shape& model, isize k, const search_options& options) {
  tower_pin out;
  out.name = model.towers[k].name;
  const std::string who(out.name.view());
  const tower_pin nothing;
  for (const tower_pin& each : options.pins) {
    if (!(each.name == out.name)) continue;
    const auto merge = [&](const char* field, auto& into, auto value, auto usual) {
      if (value == usual) return;
      if (into != usual && into != value)
        fail(pins_contradict, sentence({who, ": ", field, "=", into, " and ", field, "=", value}));
      into = value;
    };
    merge("stages", out.stages, each.stages, nothing.stages);
    merge("data", out.data, each.data, nothing.data);
    merge("context", out.context, each.context, nothing.context);
    merge("experts", out.experts, each.experts, nothing.experts);
    merge("tensor", out.tensor, each.tensor, nothing.tensor);
    merge("ranks", out.ranks, each.ranks, nothing.ranks);
    merge("microbatches", out.microbatches, each.microbatches, nothing.microbatches);
    merge("stash", out.stash, each.stash, nothing.stash);
    merge("recompute", out.recompute, each.recompute, nothing.recompute);
    merge("zero", out.zero, each.zero, nothing.zero);
  }
  return out;
}

inline void require_pin(const tower_outline& net, const tower_pin& pin, const cluster_facts& on,
                        isize samples, isize joins) {
  const auto number = [](const char* field, auto value) { return sentence({field, "=", value}); };
  const auto refuse = [&](const std::string& one, const std::string& other) {
    fail(pins_contradict, std::string(net.name.view()) + ": " + one + " and " + other);
  };
  const auto devices = std::to_string(on.devices()) + " devices",
             node = std::to_string(on.devices_per_node) + " devices of a node";
  for (const auto& [field, value] : {std::pair{"stages", pin.stages},
                                     {"data", pin.data},
                                     {"context", pin.context},
                                     {"tensor", pin.tensor},
                                     {"ranks", pin.ranks}})
    if (value < 0 || value > on.devices()) refuse(number(field, value), devices);
  if (pin.tensor > 0 && (pin.tensor > net.keyed_heads() || net.keyed_heads() % pin.tensor != 0))
    refuse(number("tensor", pin.tensor), std::to_string(net.keyed_heads()) + " heads");
  const std::int32_t shards = std::max(pin.tensor, 1) * std::max(pin.context, 1);
  if (shards > on.devices_per_node) {
    if (pin.tensor > on.devices_per_node || pin.context <= 1) refuse(number("tensor", pin.tensor), node);
    refuse(number("context", pin.context), pin.tensor > 1 ? number("tensor", pin.tensor) : node);
  }
  if (pin.stages > net.layers) refuse(number("stages", pin.stages), std::to_string(net.layers) + " layers");
  if (pin.experts > 1 && isize{pin.experts} * std::max(pin.tensor, 1) > net.experts)
    refuse(number("experts", pin.experts), (pin.tensor > 1 ? number("tensor", pin.tensor) + " and " : "") +
                                               std::to_string(net.experts) + " experts");
  if (pin.experts > 0 && pin.data > 0 && pin.data % pin.experts != 0)
    refuse(number("experts", pin.experts), number("data", pin.data));
  if (pin.context > net.tokens)
    refuse(number("context", pin.context), std::to_string(net.tokens) + " tokens");
  std::string product;
  isize size = 1;
  bool all = true;
  for (const auto& [field, value] : {std::pair{"stages", pin.stages},
                                     {"data", pin.data},
                                     {"context", pin.context},
                                     {"tensor", pin.tensor}}) {
    all = all && value > 0;
    if (value <= 0) continue;
    size *= value;
    product += (product.empty() ? "" : " x ") + number(field, value);
  }
  if (size > on.devices()) refuse(product, devices);
  if (pin.ranks > 0 && (pin.ranks % size != 0 || (all && pin.ranks != size)))
    refuse(product, number("ranks", pin.ranks));
  const bool frozen = net.frozen || net.cached;
  if (frozen && pin.zero > 0) refuse(number("zero", pin.zero), "frozen");
  if (frozen && pin.recompute > 0) refuse(number("recompute", pin.recompute), "frozen");
  if (frozen && pin.stash >= 0) refuse(number("stash", pin.stash), "frozen");
  if (pin.recompute > 0 && pin.stash >= 0)
    refuse(number("recompute", pin.recompute), number("stash", pin.stash));
  if (pin.microbatches > 0 && pin.microbatches % joins != 0)
    refuse(number("microbatches", pin.microbatches), std::to_string(joins) + " losses in a step");
  if (pin.microbatches > 0 && pin.stash > pin.microbatches / joins)
    refuse(number("stash", pin.stash), number("microbatches", pin.microbatches));
  if (pin.zero > 0 && pin.data == 1 && pin.context == 1)
    refuse(number("zero", pin.zero), number("data", pin.data));
  const isize parts = isize{std::max(pin.data, 1)} * std::max<isize>(pin.microbatches / joins, 1);
  if (samples % parts != 0)
    fail(batch_does_not_divide, sentence({net.name.view(), ": ", samples * joins, " samples over ",
                                          parts * joins, " microbatches of all replicas; the nearest are ",
                                          nearest_batches(samples * joins, parts * joins)}));
}

}  // namespace detail

// Throws MT-P86 to MT-P89 for what no search could answer.
inline void require_question(const model_shape& model, const cluster_facts& on, isize samples,
                             const search_options& options) {
  if (on.nodes < 1 || on.devices_per_node < 1)
    fail(no_devices, sentence({on.nodes, " nodes of ", on.devices_per_node, " devices"}));
  if (model.towers.empty()) fail(no_devices, "no towers");
  const isize contrastive = options.contrastive_batch > 0 ? options.contrastive_batch : samples;
  if (samples < 1) fail(batch_does_not_divide, std::to_string(samples) + " samples; the nearest are 1 or 2");
  if (samples % contrastive != 0)
    fail(batch_does_not_divide,
         sentence({samples, " samples of a step, ", contrastive, " of each loss; the nearest are ",
                   detail::nearest_batches(samples, contrastive)}));
  if (!options.together && !options.apart)
    fail(pins_contradict, "towers may neither share ranks nor have their own");
  for (const tower_pin& each : options.pins) {
    const auto named = [&](const tower_outline& net) { return net.name == each.name; };
    if (std::any_of(model.towers.begin(), model.towers.end(), named)) continue;
    std::string names;
    for (const tower_outline& net : model.towers)
      names += (names.empty() ? "" : ", ") + std::string(net.name.view());
    fail(pins_contradict, "a pin of " + std::string(each.name.view()) + " and a model of " + names);
  }
  isize wanted = 0;
  std::string which;
  for (isize k = 0; k < model.towers.size(); ++k) {
    const tower_pin pin = detail::merged_pin(model, k, options);
    detail::require_pin(model.towers[k], pin, on, contrastive, samples / contrastive);
    isize size = std::max(pin.stages, 1) * std::max(pin.data, 1) * isize{std::max(pin.context, 1)} *
                 std::max(pin.tensor, 1);
    size = std::max<isize>(size, pin.ranks);
    wanted += size;
    if (size > 1)
      which += sentence({(which.empty() ? "" : " and "), model.towers[k].name.view(), " on ", size});
  }
  if (!options.together && wanted > on.devices())
    fail(no_plan_left,
         sentence({which, " ranks of their own, got ", on.devices(), " devices, wanted ", wanted}));
}

// The need is what a tower would take to have ranks of its own.
struct tower_need {
  isize ranks = 0;   // at least; 0: no number would do
  double bytes = 0;  // of its fullest rank in the thriftiest plan on this cluster
};

// Nothing fits: says which tower, how much is missing, and how many nodes would do (0: none found).
[[noreturn]] inline void refuse_model(const model_shape& model, const cluster_facts& on,
                                      const list<tower_need>& needs, std::int32_t nodes,
                                      const search_options& options) {
  const auto named = [&](isize k) { return std::string(model.towers[k].name.view()); };
  const std::string remedy =
      nodes == 0 ? "no number of such devices would do"
                 : sentence({"the smallest cluster of this kind that would do has ", nodes,
                             (nodes == 1 ? " node of " : " nodes of "), on.devices_per_node, " devices"});
  const double memory = on.device.memory_bytes;
  const std::string devices = std::to_string(on.devices()) + (on.devices() == 1 ? " device" : " devices");
  const std::string has = " of " + in_words(memory) + " on each of " + devices;
  isize worst = 0;
  double all = 0;
  for (isize k = 0; k < needs.size(); ++k) {
    if (needs[k].bytes > 1e200)
      fail(no_plan_left, "no plan of " + named(k) +
                             " has what is pinned, one sample for each replica at least, and " + devices +
                             "; " + remedy);
    all += needs[k].bytes;
    if (needs[k].bytes > needs[worst].bytes) worst = k;
  }
  if (const double over = needs[worst].bytes - memory; over > 0)
    fail(model_fits_nowhere,
         named(worst) + " is " + in_words(over) + " short" + has + ", however it is cut; " + remedy);
  std::string wanted;
  for (isize k = 0; k < needs.size(); ++k)
    wanted += sentence({(k == 0                 ? ""
                         : k + 1 < needs.size() ? ", "
                                                : " and "),
                        named(k), " wants ", needs[k].ranks});
  wanted += " of their own, got " + devices;
  if (!options.together) fail(no_plan_left, wanted + "; " + remedy);
  if (all > memory)
    wanted += ", and " + named(worst) + " with the others on the same ones is " + in_words(all - memory) +
              " short" + has;
  fail(model_fits_nowhere, wanted + "; " + remedy);
}

// The same on devices of several kinds; `least` has each tower's bytes on the fullest rank of its thriftiest
// plan there.
[[noreturn]] inline void refuse_on_kinds(const model_shape& model, const cluster_facts& on,
                                         const list<double>& least) {
  std::string rooms;
  double most = 0;
  for (std::int32_t kind = 0; kind < on.kinds(); ++kind) {
    const cluster_facts own = of_kinds(on, 1u << kind);
    most = std::max(most, own.device.memory_bytes);
    rooms += sentence({(kind == 0               ? ""
                        : kind + 1 < on.kinds() ? ", "
                                                : " and "),
                       own.devices(), (own.devices() == 1 ? " device" : " devices"), " with ",
                       in_words(own.device.memory_bytes)});
  }
  std::string wants;
  isize worst = 0;
  for (isize k = 0; k < least.size(); ++k) {
    const std::string who(model.towers[k].name.view());
    if (least[k] > 1e200)
      fail(no_plan_left,
           "no plan of " + who + " has what is pinned, and one sample for each replica, on " + rooms);
    if (least[k] > least[worst]) worst = k;
    wants += sentence({(k == 0 ? "" : ", "), who, " ", in_words(least[k])});
  }
  if (least[worst] > most)
    fail(model_fits_nowhere, sentence({model.towers[worst].name.view(), " is ", in_words(least[worst] - most),
                                       " short of the roomiest of ", rooms, ", however it is cut"}));
  fail(model_fits_nowhere, sentence({"the fullest ranks of the thriftiest plans have ", wants,
                                     ", which fits alone but not together on ", rooms}));
}

}  // namespace motet
