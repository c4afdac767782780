// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/nearest.hpp>
#include <motet/model/edge.hpp>
#include <motet/model/join.hpp>
#include <motet/model/rules.hpp>

#include <array>
#include <tuple>

namespace motet {

namespace detail {

// Every loss has these, whatever it runs on; the compiler names what is missing.
template <class Loss>
consteval bool has_members_of_loss() {
  static_assert(
      requires { isize{Loss::parameter_size}; },
      "motet: a loss lacks parameter_size, the elements of its numbers [MT-M08]");
  static_assert(
      requires(parameter_list& list) { Loss::parameters(list); },
      "motet: a loss lacks parameters(list), the names of its numbers [MT-M08]");
  static_assert(
      requires { bool{Loss::tells}; },
      "motet: a loss lacks tells, whether rows must know a number of the other side [MT-M08]");
  return true;
}

template <class Loss, class... Modules>
constexpr verdict check_join(const join<Loss, Modules...>*) {
  constexpr std::size_t size = sizeof...(Modules);
  constexpr bool own = is_own_loss<Loss>;
  if (own && size != 1) return {reason::own_loss_of_several, 1, static_cast<isize>(size), 1};
  if (!own && size < 2) return {reason::join_too_small, 0, static_cast<isize>(size), 2};
  const isize widths[] = {Modules::embedding...};
  const std::string_view names[] = {Modules::name...};
  const own_head heads[] = {Modules::head...};
  const bool frozen[] = {Modules::frozen...};
  for (std::size_t i = 0; i < size; ++i) {
    if (heads[i] != head_for<Loss>)
      return {reason::loss_lacks_head, static_cast<isize>(i), static_cast<isize>(heads[i]),
              static_cast<isize>(head_for<Loss>)};
    if (own && frozen[i]) return {reason::own_loss_frozen, static_cast<isize>(i), 0, 1};
    if (widths[i] != widths[0])
      return {reason::join_widths_differ, static_cast<isize>(i), widths[i], widths[0]};
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j])
        return {reason::duplicate_module, static_cast<isize>(i), static_cast<isize>(j),
                static_cast<isize>(i)};
  }
  return {};
}

// Says what is wrong with a join, at the module's name.
template <class Join>
struct join_text;
template <class Loss, class... Modules>
struct join_text<join<Loss, Modules...>> {
  static constexpr verdict found = check_join(static_cast<const join<Loss, Modules...>*>(nullptr));
  static constexpr short_text value = [] {
    const std::string_view names[] = {Modules::name..., {}};
    return numbers_of(found, names[found.where < isize{sizeof...(Modules)} ? found.where : 0]);
  }();
};

}  // namespace detail

// Modules, and where they meet. One flat buffer holds all parameters: modules that learn in their order, then
// the numbers of the loss, then frozen modules; gradients and optimizer state cover the first
// `trainable_size` elements only. A module with adapters learns by these; its weights are behind, each
// module's where a frozen one would be.
template <class Loss, class... Modules>
struct model_parts {
  using loss = Loss;
  static constexpr std::size_t size = sizeof...(Modules);
  template <std::size_t I>
  using module_at = std::tuple_element_t<I, std::tuple<Modules...>>;

  static constexpr std::array<std::string_view, size> names{Modules::name...};
  static constexpr std::array<bool, size> frozen{Modules::frozen...};
  template <class Net>
  static constexpr bool adapted = adapters_of<Net> > 0;
  static constexpr std::array<isize, size> sizes{(
      adapted<typename Modules::net> ? adapters_of<typename Modules::net> : Modules::net::parameter_size)...},
      resting{(adapted<typename Modules::net> ? Modules::net::parameter_size : 0)...};
  static constexpr isize trainable_of_modules = [] {
    isize sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += frozen[i] ? 0 : sizes[i];
    return sum;
  }();
  static constexpr isize loss_at = trainable_of_modules;
  static constexpr isize trainable_size = loss_at + Loss::parameter_size;
  // Where a module's parameters begin, and where those of its weights that rest.
  static constexpr std::array<std::array<isize, size>, 2> begins = [] {
    std::array<std::array<isize, size>, 2> at{};
    isize learned = 0, fixed = trainable_size;
    for (std::size_t i = 0; i < size; ++i) {
      isize& next = frozen[i] ? fixed : learned;
      at[0][i] = next;
      next += sizes[i];
      at[1][i] = fixed;
      fixed += resting[i];
    }
    return at;
  }();
  static constexpr std::array<isize, size> offsets = begins[0], resting_offsets = begins[1];
  static constexpr isize parameter_size = [] {
    isize sum = Loss::parameter_size;
    for (std::size_t i = 0; i < size; ++i) sum += sizes[i] + resting[i];
    return sum;
  }();

  template <fixed_string Name>
  struct unknown {
    static constexpr short_text value = not_among(Name.view(), names);
  };
  // The position of the module called Name; a name that the model lacks does not compile.
  template <fixed_string Name>
  static constexpr std::size_t position() {
    constexpr std::size_t found = [] {
      std::size_t i = 0;
      while (i < size && names[i] != Name.view()) ++i;
      return i;
    }();
    constexpr broken_rule why = found < size ? reason::none : reason::unknown_module;
    static_assert(require_said<why, unknown<Name>>());
    return found < size ? found : 0;
  }

  // All parameters by global name ("picture.blocks.0.mlp.up.weight"), with offsets into the flat buffer.
  static std::vector<parameter> parameters() {
    std::vector<parameter> all;
    const auto append = [&all](std::vector<parameter> items, isize offset) {
      for (auto& item : items) {
        item.offset += offset;
        all.push_back(std::move(item));
      }
    };
    const auto append_module = [&]<class Net>(std::string_view name, std::size_t i) {
      if constexpr (adapted<Net>) append(layer::parameters_of<Net>(name, {}, listed::adapters), offsets[i]);
      append(layer::parameters_of<Net>(name), adapted<Net> ? resting_offsets[i] : offsets[i]);
    };
    std::size_t i = 0;
    (append_module.template operator()<typename Modules::net>(Modules::name, i++), ...);
    append(layer::parameters_of<Loss>(loss_name), loss_at);
    return all;
  }
};

// A model is a join of modules, or modules with edges and a loss (model/graph.hpp). Its batch has the input
// of each module.
// Asks for: modules of unlike names, which the loss can compare.
// Memory: none; a model is a type, and its parameters are one flat buffer that the trainer holds.
// Errors: MT-M01, MT-M02, MT-M03, MT-M04, MT-M05, MT-M06, MT-M07, MT-M08
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", frozen<eye>>>>;
//   static_assert(pair::position<"right">() == 1 && pair::trainable_size < pair::parameter_size);
template <class... Parts>
struct model;

template <class Loss, class... Modules>
struct model<join<Loss, Modules...>> : model_parts<Loss, Modules...> {
  static_assert(require_said<detail::join_text<join<Loss, Modules...>>::found.why,
                             detail::join_text<join<Loss, Modules...>>>());
  static_assert(detail::has_members_of_loss<Loss>());
  using parts = model_parts<Loss, Modules...>;
  using batch = std::tuple<typename Modules::input...>;
  static constexpr isize embedding = parts::template module_at<0>::embedding;
  using losses = std::tuple<Loss>;
  static constexpr std::array<join_facts, 1> joins{join_facts{
      name_of_loss<Loss>, parts::names, embedding, 1.0 / static_cast<double>(join<Loss, Modules...>::pairs)}};
  static constexpr std::array<std::int32_t, sizeof...(Modules)> join_of{};
  // All modules meet, and none feeds another.
  static constexpr std::array<edge_ends, 0> edges{};
  static constexpr std::array<bool, sizeof...(Modules)> passes{}, meets{((void)sizeof(Modules), true)...};
};

}  // namespace motet
