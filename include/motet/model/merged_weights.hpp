// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/tensor/thin_product.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace motet {

// weights += scale B A for all adapters of a list: the net without adapters then computes what the net with
// them computes. Sums are taken in double. The lists say where each lies from `from` and `to` on.
template <class Master>
void merge_adapters(std::span<const parameter> adapters, const Master* from, double scale,
                    std::span<const parameter> weights, Master* to) {
  const auto find = [](std::span<const parameter> list, const std::string& name) -> const parameter& {
    return *std::find_if(list.begin(), list.end(), [&](const parameter& each) { return each.name == name; });
  };
  for (const parameter& b : adapters) {
    if (b.adapts.empty()) continue;
    const std::string product = b.name.substr(0, b.name.size() - 1);
    const parameter &a = find(adapters, product + "a"), &weight = find(weights, product + "weight");
    const Master *of_a = from + a.offset, *of_b = from + b.offset;
    for (const interval& rows : b.adapts) {
      add_thin_product(rows.size(), a.width, b.width, scale, of_b, of_a,
                       to + weight.offset + rows.begin * weight.width);
      of_b += rows.size() * b.width;
      of_a += b.width * a.width;
    }
  }
}

// So many numbers are what merged_weights() returns.
template <class Model>
inline constexpr isize merged_size = []<std::size_t... I>(std::index_sequence<I...>) {
  return (Model::template module_at<I>::net::parameter_size + ... + Model::loss::parameter_size);
}(std::make_index_sequence<Model::size>{});

// The weights of all modules one behind the other, then the numbers of the loss, from numbers in the model's
// flat order; those of modules with adapters have these merged. That is the flat order of a model of the same
// nets without adapters, all of which learn.
// Asks for: numbers in the model's flat order, as trainer::weights() gives them.
// Memory: the numbers that it returns.
// Errors: none of its own.
// Example:
//   #include <motet/nn/towers/decoder.hpp>
//   constexpr decoder_config words{
//       .vocabulary = 256, .context = 64, .width = 64, .layers = 2, .heads = 4, .adapters = {.rank = 4}};
//   using talk = model<join<next_token, module<"talk", decoder<words>>>>;
//   std::vector<float> of_plain_decoder(const std::vector<float>& learned) {
//     return merged_weights<talk>(learned);
//   }
template <class Model, class Master>
std::vector<Master> merged_weights(const std::vector<Master>& flat) {
  std::vector<Master> out;
  out.reserve(flat.size());
  const auto append = [&]<std::size_t I>() {
    using module = typename Model::template module_at<I>;
    using net = typename module::net;
    constexpr bool adapted = adapters_of<net> > 0;
    const isize begin = adapted ? Model::resting_offsets[I] : Model::offsets[I];
    const std::size_t at = out.size();
    out.insert(out.end(), flat.begin() + begin, flat.begin() + begin + net::parameter_size);
    if constexpr (adapted)
      merge_adapters<Master>(layer::parameters_of<net>({}, {}, listed::adapters),
                             flat.data() + Model::offsets[I], net::adapter_scale, layer::parameters_of<net>(),
                             out.data() + at);
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (append.template operator()<I>(), ...);
  }(std::make_index_sequence<Model::size>{});
  out.insert(out.end(), flat.begin() + Model::loss_at,
             flat.begin() + Model::loss_at + Model::loss::parameter_size);
  return out;
}

}  // namespace motet
