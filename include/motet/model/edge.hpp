// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace motet {

// The parts of a model whose modules feed one another:
//   using say = model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">,
//                     loss<next_token, "talk">>;
template <class... Modules>
struct modules {};

// The rows that one module ends with enter another module of the same model, and their gradients come back.
// Asks for: names of modules of the model; the first module gives rows, the second takes rows of that width.
// Memory: none; whoever runs the modules holds the rows.
// Errors: none of its own.
// Example:
//   using into = edge<"glue", "talk">;
//   static_assert(into::from == "glue" && into::to == "talk");
template <fixed_string From, fixed_string To>
struct edge {
  static constexpr std::string_view from = From.view(), to = To.view();
};

// A loss is what a module's samples lose, or what several lose that it compares.
template <class Loss, fixed_string... Of>
struct loss {
  using type = Loss;
  static constexpr std::array<std::string_view, sizeof...(Of)> of{Of.view()...};
  static constexpr double weight = 1;
};

// A loss counts so many times in the sum of a model's losses: weighted<loss<next_token, "talk">, times{2}>.
struct times {
  double of = 1;
};
template <class Part, times Weight>
struct weighted : Part {
  static constexpr double weight = Weight.of;
};

// An edge has the numbers of its modules, and its own number among those into the second module, and among
// those out of the first.
struct edge_ends {
  std::size_t from = 0, to = 0;
  std::size_t into = 0, out_of = 0;
};

}  // namespace motet
