// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/join.hpp>

#include <array>
#include <tuple>

namespace motet {

namespace detail {

template <class Loss, class... Modules>
constexpr verdict check_join(const join<Loss, Modules...>*) {
  constexpr std::size_t size = sizeof...(Modules);
  if (size < 2) return {reason::join_too_small, 0, static_cast<index>(size), 2};
  const index widths[] = {Modules::embedding...};
  const std::string_view names[] = {Modules::name...};
  for (std::size_t i = 0; i < size; ++i) {
    if (widths[i] != widths[0])
      return {reason::join_widths_differ, static_cast<index>(i), widths[i], widths[0]};
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j])
        return {reason::duplicate_module, static_cast<index>(i), static_cast<index>(j),
                static_cast<index>(i)};
  }
  return {};
}

}  // namespace detail

// Modules and the join in which they meet. One flat buffer holds all parameters: modules that learn in their
// order, then the numbers of the loss, then frozen modules; gradients and optimizer state cover the first
// `trainable_size` elements only.
template <class Join>
struct model;

template <class Loss, class... Modules>
struct model<join<Loss, Modules...>> {
  static_assert(require<detail::check_join(static_cast<const join<Loss, Modules...>*>(nullptr))>);
  using loss = Loss;
  static constexpr std::size_t size = sizeof...(Modules);
  template <std::size_t I>
  using module_at = std::tuple_element_t<I, std::tuple<Modules...>>;
  using batch = std::tuple<typename Modules::input...>;
  static constexpr index embedding = module_at<0>::embedding;
  static constexpr double share = 1.0 / static_cast<double>(join<Loss, Modules...>::pairs);

  static constexpr std::array<std::string_view, size> names{Modules::name...};
  static constexpr std::array<bool, size> frozen{Modules::frozen...};
  static constexpr std::array<index, size> sizes{Modules::net::parameter_size...};
  static constexpr index trainable_of_modules = [] {
    index sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += frozen[i] ? 0 : sizes[i];
    return sum;
  }();
  static constexpr index loss_at = trainable_of_modules;
  static constexpr index trainable_size = loss_at + Loss::parameter_size;
  static constexpr std::array<index, size> offsets = [] {
    std::array<index, size> at{};
    index learned = 0, fixed = trainable_size;
    for (std::size_t i = 0; i < size; ++i) {
      index& next = frozen[i] ? fixed : learned;
      at[i] = next;
      next += sizes[i];
    }
    return at;
  }();
  static constexpr index parameter_size = [] {
    index sum = Loss::parameter_size;
    for (const index s : sizes) sum += s;
    return sum;
  }();

  // The position of the module called Name; a name that the model lacks does not compile.
  template <fixed_string Name>
  static constexpr std::size_t position() {
    constexpr std::size_t found = [] {
      std::size_t i = 0;
      while (i < size && names[i] != Name.view()) ++i;
      return i;
    }();
    static_assert(require < found < size ? verdict{}
                                         : verdict{reason::unknown_module, 0, 0, static_cast<index>(size)} >);
    return found < size ? found : 0;
  }

  // All parameters by global name ("picture.blocks.0.mlp.up.weight"), with offsets into the flat buffer.
  static std::vector<parameter> parameters() {
    std::vector<parameter> all;
    const auto append = [&all](std::vector<parameter> items, index offset) {
      for (auto& item : items) {
        item.offset += offset;
        all.push_back(std::move(item));
      }
    };
    std::size_t i = 0;
    (append(layer::parameters_of<typename Modules::net>(Modules::name), offsets[i++]), ...);
    append(layer::parameters_of<Loss>("join"), loss_at);
    return all;
  }
};

}  // namespace motet
