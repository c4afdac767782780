// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/model/rules.hpp>

#include <algorithm>
#include <span>

namespace motet {

namespace detail {

// Modules, edges and losses as values.
template <class... Modules>
struct graph_facts {
  static constexpr std::size_t size = sizeof...(Modules);
  static constexpr std::array<std::string_view, size> names{Modules::name...};
  static constexpr std::array<bool, size> frozen{Modules::frozen...},
      gives{gives_rows<typename Modules::net>...}, several{takes_rows_of_several<typename Modules::net>...};
  static constexpr std::array<own_head, size> heads{Modules::head...};
  static constexpr std::array<isize, size> widths{Modules::embedding...},
      takes{takes_rows<typename Modules::net>...};

  static constexpr std::size_t find(std::string_view name) {
    std::size_t k = 0;
    while (k < size && names[k] != name) ++k;
    return k;
  }
  // The same where names are known to be right; any other is the first, so that one mistake is told once.
  static constexpr std::size_t place(std::string_view name) { return find(name) % size; }
};

// A finding says what is wrong with a graph, at a module; for an unknown one, at the name that is none.
struct graph_finding {
  verdict found;
  std::string_view name;
};

// A loss as values: the modules that it names, and what it asks of them.
struct loss_facts {
  std::span<const std::string_view> of;
  own_head head = own_head::none;
  bool own = false;
  double weight = 1;
};

// The losses of a model by themselves: whether each can take its modules.
template <class Facts, std::size_t Losses>
constexpr graph_finding check_losses(const std::array<loss_facts, Losses>& losses,
                                     std::array<std::int32_t, Facts::size>& join_of) {
  join_of.fill(-1);
  for (std::size_t j = 0; j < Losses; ++j) {
    const loss_facts& each = losses[j];
    std::size_t first = Facts::size;
    for (const std::string_view name : each.of) {
      const std::size_t k = Facts::find(name);
      if (k == Facts::size) return {{reason::unknown_module, 0, 0, 0}, name};
      const auto at = [&](broken_rule why, isize got, isize wanted) {
        return graph_finding{{why, static_cast<isize>(k), got, wanted}, name};
      };
      if (join_of[k] >= 0) return at(reason::module_in_two_losses, 2, 1);
      join_of[k] = static_cast<std::int32_t>(j);
      if (Facts::heads[k] != each.head)
        return at(reason::loss_lacks_head, static_cast<isize>(Facts::heads[k]),
                  static_cast<isize>(each.head));
      if (first == Facts::size) first = k;
      if (Facts::widths[k] != Facts::widths[first])
        return at(reason::join_widths_differ, Facts::widths[k], Facts::widths[first]);
    }
    const auto of_first = [&](broken_rule why, isize got, isize wanted) {
      return graph_finding{{why, static_cast<isize>(first), got, wanted}, each.of[0]};
    };
    const auto count = static_cast<isize>(each.of.size());
    if (each.own && count != 1) return of_first(reason::own_loss_of_several, count, 1);
    if (!each.own && count < 2) return of_first(reason::join_too_small, count, 2);
    if (!(each.weight > 0) || each.weight > 1e9)
      return of_first(reason::weight_not_positive, static_cast<isize>(each.weight), 1);
  }
  return {};
}

template <class Facts, std::size_t Edges, std::size_t Losses>
constexpr graph_finding check_graph(const std::array<std::array<std::string_view, 2>, Edges>& edges,
                                    const std::array<loss_facts, Losses>& losses) {
  constexpr std::size_t size = Facts::size;
  const auto at = [](broken_rule why, std::size_t k, isize got, isize wanted) {
    return graph_finding{{why, static_cast<isize>(k), got, wanted}, Facts::names[k]};
  };
  for (std::size_t k = 0; k < size; ++k)
    if (const std::size_t first = Facts::find(Facts::names[k]); first != k)
      return at(reason::duplicate_module, k, static_cast<isize>(first), static_cast<isize>(k));
  const auto unknown = [](std::string_view name) {
    return graph_finding{{reason::unknown_module, 0, 0, 0}, name};
  };
  std::array<isize, size> in{}, out{};
  std::array<std::array<bool, size>, size> feeds{};
  for (const auto& [from, to] : edges) {
    for (const std::string_view name : {from, to})
      if (Facts::find(name) == size) return unknown(name);
    const std::size_t f = Facts::find(from), t = Facts::find(to);
    if (!Facts::gives[f]) return at(reason::no_rows_to_feed, f, 0, 1);
    if (Facts::takes[t] == 0) return at(reason::no_rows_to_feed, t, 0, 1);
    if (Facts::widths[f] != Facts::takes[t])
      return at(reason::edge_widths_differ, t, Facts::takes[t], Facts::widths[f]);
    if (feeds[f][t]) return at(reason::duplicate_edge, t, 2, 1);
    ++out[f], ++in[t];
    feeds[f][t] = true;
  }
  std::array<std::int32_t, size> join_of{};
  if (const graph_finding found = check_losses<Facts>(losses, join_of); !found.found.ok()) return found;
  for (std::size_t k = 0; k < size; ++k) {
    if (Facts::takes[k] > 0 && in[k] == 0) return at(reason::edge_missing, k, 0, 1);
    if (in[k] > 1 && !Facts::several[k]) return at(reason::edges_into_one_place, k, in[k], 1);
    if (join_of[k] < 0 && out[k] == 0) return at(reason::module_unused, k, 0, 1);
  }
  // Those that feed none but what is done are done; where none is left to do so, the others are in a circle.
  std::array<bool, size> done{};
  std::array<bool, Losses> learns{};
  for (std::size_t round = 0; round < size; ++round)
    for (std::size_t k = 0; k < size; ++k) {
      bool ready = true;
      for (std::size_t t = 0; t < size; ++t) ready = ready && (!feeds[k][t] || done[t]);
      done[k] = ready;
    }
  for (std::size_t k = 0; k < size; ++k) {
    if (!done[k]) return at(reason::edges_in_a_circle, k, 0, 1);
  }
  // Each loss teaches some module, be it one that its own stand on.
  std::array<bool, size> taught{};
  for (std::size_t k = 0; k < size; ++k) taught[k] = !Facts::frozen[k];
  for (std::size_t round = 0; round < size; ++round)
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t t = 0; t < size; ++t) taught[t] = taught[t] || (feeds[k][t] && taught[k]);
  for (std::size_t k = 0; k < size; ++k)
    if (join_of[k] >= 0) learns[static_cast<std::size_t>(join_of[k])] |= taught[k];
  for (std::size_t j = 0; j < Losses; ++j)
    if (!learns[j]) return at(reason::own_loss_frozen, Facts::find(losses[j].of[0]), 0, 1);
  return {};
}

// The losses of a model, in their order.
template <class... Losses>
struct losses_of {};

template <class Losses, class Modules, class... Edges>
struct graph_text;
template <class... Losses, class... Modules, class... Edges>
struct graph_text<losses_of<Losses...>, modules<Modules...>, Edges...> {
  using facts = graph_facts<Modules...>;
  static constexpr std::array<loss_facts, sizeof...(Losses)> losses{loss_facts{
      Losses::of, head_for<typename Losses::type>, is_own_loss<typename Losses::type>, Losses::weight}...};
  static constexpr std::array<std::array<std::string_view, 2>, sizeof...(Edges)> ends{
      {{{Edges::from, Edges::to}}...}};
  static constexpr graph_finding answer = check_graph<facts>(ends, losses);
  static constexpr short_text value = answer.found.why == reason::unknown_module
                                          ? not_among(answer.name, facts::names)
                                          : numbers_of(answer.found, answer.name);
};

// Edges, each with its own number at both ends.
template <std::size_t Edges>
constexpr std::array<edge_ends, Edges> numbered(std::array<edge_ends, Edges> edges) {
  for (std::size_t k = 0; k < Edges; ++k)
    for (std::size_t before = 0; before < k; ++before) {
      edges[k].into += edges[before].to == edges[k].to ? 1 : 0;
      edges[k].out_of += edges[before].from == edges[k].from ? 1 : 0;
    }
  return edges;
}

// Rows pass through a module to the first behind it that says how many a sample has at most.
template <class Facts, std::size_t Edges>
constexpr std::size_t end_of_rows(std::size_t k, const std::array<edge_ends, Edges>& edges,
                                  const std::array<bool, Facts::size>& through) {
  for (std::size_t step = 0; step < Facts::size && through[k]; ++step)
    for (const edge_ends& each : edges)
      if (each.from == k) {
        k = each.to;
        break;
      }
  return k;
}

template <class Net>
inline constexpr bool is_through = std::is_same_v<typename Net::input, through_rows>;

template <class Part>
concept is_loss_part = requires {
  typename Part::type;
  Part::of;
};

// The parts of a model sorted: its losses and its edges, each in their order.
template <class... Edges>
struct edges_of {};
template <class Found, class Seen, class... Parts>
struct sorted_parts {
  using losses = Found;
  using edges = Seen;
};
template <class Found, class... Seen, class First, class... Parts>
struct sorted_parts<Found, edges_of<Seen...>, First, Parts...>
    : sorted_parts<Found, edges_of<Seen..., First>, Parts...> {};
template <class... Found, class... Seen, is_loss_part First, class... Parts>
struct sorted_parts<losses_of<Found...>, edges_of<Seen...>, First, Parts...>
    : sorted_parts<losses_of<Found..., First>, edges_of<Seen...>, Parts...> {};

template <class Losses, class Modules, class Edges>
struct graph;
template <class Modules, class... Parts>
struct sorted_graph {
  static_assert(
      (0 + ... + (is_loss_part<Parts> ? 1 : 0)) >= 1,
      "motet: a model of modules and edges says its losses, as in loss<next_token, \"talk\"> [MT-M12]");
  using sorted = sorted_parts<losses_of<>, edges_of<>, Parts...>;
  using type = graph<typename sorted::losses, Modules, typename sorted::edges>;
};

// One loss is itself; several are a list of numbers.
template <class... Parts>
struct all_losses {
  using type = several_losses<Parts...>;
};
template <class Part>
struct all_losses<Part> {
  using type = typename Part::type;
};

template <class... Losses, class... Modules, class... Edges>
struct graph<losses_of<Losses...>, modules<Modules...>, edges_of<Edges...>> {
  static_assert((has_members_of_loss<typename Losses::type>() && ...));
  using text = graph_text<losses_of<Losses...>, modules<Modules...>, Edges...>;
  static_assert(require_said<text::answer.found.why, text>());
  using losses = std::tuple<typename Losses::type...>;
  using facts = typename text::facts;
  static constexpr std::size_t size = facts::size;
  static constexpr std::array<edge_ends, sizeof...(Edges)> edges =
      numbered(std::array<edge_ends, sizeof...(Edges)>{
          edge_ends{facts::place(Edges::from), facts::place(Edges::to)}...});
  static constexpr std::array<bool, size> through{is_through<typename Modules::net>...};

  static constexpr isize sources(std::size_t k) {
    isize count = 0;
    for (const edge_ends& each : edges) count += each.to == k ? 1 : 0;
    return count;
  }
  // Each module, with room for the rows that pass through it, and for those of all that feed it.
  template <std::size_t I>
  static auto bound() {
    using own = std::tuple_element_t<I, std::tuple<Modules...>>;
    if constexpr (through[I]) {
      constexpr std::size_t end = end_of_rows<facts>(I, edges, through);
      using last = typename std::tuple_element_t<end, std::tuple<Modules...>>::net;
      if constexpr (requires { last::most_rows; })
        return std::type_identity<module_with<own, typename own::net::template with_rows<last::most_rows>>>{};
      else return std::type_identity<own>{};
    } else if constexpr (sources(I) > 1 && takes_rows_of_several<typename own::net>) {
      return std::type_identity<module_with<own, typename own::net::template with_sources<sources(I)>>>{};
    } else {
      return std::type_identity<own>{};
    }
  }
  template <std::size_t... I>
  static auto parts_of(std::index_sequence<I...>)
      -> model_parts<typename all_losses<Losses...>::type, typename decltype(bound<I>())::type...>;
  using parts = decltype(parts_of(std::make_index_sequence<size>()));

  static constexpr isize pairs_of(const loss_facts& each) {
    const auto count = static_cast<isize>(each.of.size());
    return each.own ? 1 : count * (count - 1) / 2;
  }
  static constexpr std::array<join_facts, sizeof...(Losses)> joins{join_facts{
      name_of_loss<typename Losses::type>, Losses::of, facts::widths[facts::place(Losses::of[0])],
      Losses::weight / static_cast<double>(std::max<isize>(
                           1, pairs_of(loss_facts{Losses::of, {}, is_own_loss<typename Losses::type>}))),
      Losses::weight}...};
  // The loss that each module ends in; -1: it feeds others alone.
  static constexpr std::array<std::int32_t, size> join_of = [] {
    std::array<std::int32_t, size> out{};
    check_losses<facts>(text::losses, out);
    return out;
  }();
};

}  // namespace detail

// Modules that feed one another, and the losses at the ends of them, each of modules that nobody else ends
// in. A model's loss is the sum of its losses, each times its weight, which is 1 unless weighted<> says more.
// The batch has an input for each module that reads data, in their order; what only passes rows on needs
// none.
// Asks for: edges by the modules' names, which make no circle, and a loss or several. A module that takes
// rows has an edge into it, or several where it has a place for each (fed_decoder); one that gives them feeds
// one or several, whose gradients add up.
// Memory: nothing; the trainer's, where rows between modules are rows between stages.
// Errors: MT-M03, MT-M04, MT-M06, MT-M07, MT-M09, MT-M10, MT-M11, MT-M12, MT-M13, MT-M14, MT-M15,
// MT-M16, MT-M17
// Example:
//   #include <motet/nn/towers/fed_decoder.hpp>
//   #include <motet/nn/towers/seeing_decoder.hpp>
//   #include <motet/nn/towers/vit_rows.hpp>
//   constexpr vit_config sight{.image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 2};
//   constexpr decoder_config words{.vocabulary = 300, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   using say = model<modules<module<"eye", frozen<vit_rows<sight>>>,
//                             module<"glue", projector<32, 64>>,
//                             module<"talk", fed_decoder<words>>>,
//                     edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
//   static_assert(std::tuple_size_v<say::batch> == 2);
template <class... Modules, class... Parts>
struct model<modules<Modules...>, Parts...>
    : detail::sorted_graph<modules<Modules...>, Parts...>::type::parts {
  using graph = typename detail::sorted_graph<modules<Modules...>, Parts...>::type;
  using parts = typename graph::parts;
  static constexpr std::array<edge_ends, graph::edges.size()> edges = graph::edges;
  using losses = typename graph::losses;
  static constexpr auto joins = graph::joins;
  static constexpr auto join_of = graph::join_of;
  static constexpr isize embedding = joins[0].embedding;
  static constexpr std::array<bool, graph::size> meets = [] {
    std::array<bool, graph::size> out{};
    for (std::size_t k = 0; k < graph::size; ++k) out[k] = join_of[k] >= 0;
    return out;
  }();
  // Frozen modules behind one that learns: gradients go on through them.
  static constexpr std::array<bool, graph::size> passes = [] {
    std::array<bool, graph::size> out{};
    for (std::size_t round = 0; round < graph::size; ++round)
      for (const edge_ends& each : edges)
        if (graph::facts::frozen[each.to] && (!graph::facts::frozen[each.from] || out[each.from]))
          out[each.to] = true;
    return out;
  }();
  static constexpr std::array<bool, graph::size> through = graph::through;

 private:
  template <class Module>
  static auto data_of() {
    if constexpr (detail::is_through<typename Module::net>) return std::tuple<>{};
    else return std::tuple<typename Module::input>{};
  }

 public:
  using batch = decltype(std::tuple_cat(data_of<Modules>()...));
};

}  // namespace motet
