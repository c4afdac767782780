// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/entering_stage.hpp>

namespace motet {

// A layer as a module of its own: rows of another module enter it, and what it makes of them goes on. One
// stage holds it. `Rows`: the most of a sample, which a model with edges finds by itself.
// Asks for: a layer, and an edge of the model that brings rows as wide as it takes.
// Memory: what the layer keeps.
// Errors: MT-N08
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using glue = rows_through<linear<32, 64>>;
//   static_assert(glue::takes_rows == 32 && glue::embedding == 64 && glue::gives_rows);
template <class Layer, isize Rows = 0>
struct rows_through {
  using input = through_rows;
  using layer_type = Layer;
  static constexpr isize embedding = Layer::out, parameter_size = Layer::parameter_size;
  static constexpr isize takes_rows = Layer::in, most_rows = Rows;
  static constexpr bool gives_rows = true;
  template <isize Most>
  using with_rows = rows_through<Layer, Most>;

  static void parameters(parameter_list& list) { list.part<Layer>(); }
  static sequences rows(const input& batch) { return batch.seq; }

  using stage = detail::entering_stage<Layer, false>;
};

}  // namespace motet
