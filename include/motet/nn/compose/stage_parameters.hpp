// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>
#include <motet/nn/core/rules.hpp>

#include <algorithm>

namespace motet {

// The blocks [first, last) of a tower.
struct stage_range {
  isize first = 0;
  isize last = 0;
};

// Which parameters of a tower a stage holds, and in which stretches their gradients become final. A tower
// that is cut into stages is one (stage.hpp).
// Asks for: a tower, and ranges of blocks that check() accepts.
// Memory: none.
// Errors: MT-N08
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 32, .patch = 8, .width = 64, .layers = 4, .heads = 2}>;
//   static_assert(stage_parameters<eye>::parameter_end({0, 2}) == stage_parameters<eye>::parameter_begin({2, 4}));
template <class Tower>
struct stage_parameters {
  using embed = typename Tower::embed;
  using body = typename Tower::body;
  using tail = typename Tower::tail;
  static constexpr isize layers = Tower::layers, width = Tower::width, embedding = Tower::embedding;
  // Where layers are halves of blocks, these are so many blocks.
  static constexpr isize whole_blocks = [] {
    if constexpr (requires { Tower::whole_blocks; }) return Tower::whole_blocks;
    else return Tower::layers;
  }();
  // An embedding that is a net of its own tells the gradients of its parts itself.
  static constexpr bool tells_parts = requires { embed::gradient_sizes(tensor_cut{}); };

  static constexpr bool is_first(stage_range r) { return r.first == 0; }
  static constexpr bool is_last(stage_range r) { return r.last == layers; }
  // The range without a block that is folded into the tail; that may leave none.
  static constexpr interval blocks(stage_range r) {
    return {r.first, r.last < body::count ? r.last : body::count};
  }
  static constexpr verdict check(stage_range r) {
    if (r.first < 0 || r.first >= layers)
      return {reason::stage_outside, 0, r.first, r.first < 0 ? 0 : layers - 1};
    if (r.last <= r.first || r.last > layers)
      return {reason::stage_outside, 1, r.last, r.last > layers ? layers : r.first + 1};
    return {};
  }
  static constexpr isize parameter_begin(stage_range r, tensor_cut cut = {}) {
    return is_first(r) ? 0 : layer::size<embed>(cut) + body::size_before(r.first, cut);
  }
  static constexpr isize parameter_end(stage_range r, tensor_cut cut = {}) {
    if (is_last(r)) return layer::size<embed>(cut) + layer::size<body>(cut) + layer::size<tail>(cut);
    return layer::size<embed>(cut) + body::size_before(r.last, cut);
  }
  // Its adapters are so many of the tower's; they are of blocks alone.
  static constexpr interval adapters_of(stage_range r, tensor_cut cut = {}) {
    return {body::adapters_before(r.first, cut), body::adapters_before(r.last, cut)};
  }
  // The stretches of a stage's gradients that backward completes one after the other, from the last one on.
  static std::vector<interval> gradient_parts(stage_range r, tensor_cut cut = {}) {
    std::vector<interval> parts;
    isize at = 0;
    const auto push = [&](isize size) {
      if (size > 0) parts.push_back({at, at + size});
      at += size;
    };
    if constexpr (motet::adapters_of<typename body::block> > 0) {
      each_of_blocks(r, [&](isize i, isize next) {
        push(body::adapters_before(next, cut) - body::adapters_before(i, cut));
      });
      return parts;
    }
    if (is_first(r)) {
      if constexpr (tells_parts) std::ranges::for_each(embed::gradient_sizes(cut), push);
      else push(layer::size<embed>(cut));
    }
    each_of_blocks(
        r, [&](isize i, isize next) { push(body::size_before(next, cut) - body::size_before(i, cut)); });
    if (is_last(r)) push(layer::size<tail>(cut));
    return parts;
  }
  // The stretches of a stage's weights each of which is asked for by itself: an embedding that is a net of
  // its own is one. Those of adapters are not told apart from weights that rest.
  static std::vector<interval> weight_parts(stage_range r, tensor_cut cut = {}) {
    std::vector<interval> parts;
    isize at = 0;
    const auto push = [&](isize size) {
      if (size > 0) parts.push_back({at, at + size});
      at += size;
    };
    if (is_first(r)) push(layer::size<embed>(cut));
    each_of_blocks(
        r, [&](isize i, isize next) { push(body::size_before(next, cut) - body::size_before(i, cut)); });
    if (is_last(r)) push(layer::size<tail>(cut));
    return parts;
  }
  // A stage holds these, with offsets from its own first element. Names are those of the whole tower, after
  // `prefix`.
  static std::vector<parameter> parameters_of(std::string_view prefix, stage_range r, tensor_cut cut = {},
                                              listed what = listed::weights) {
    parameter_list list(cut, what);
    const auto write = [&] {
      if (is_first(r)) list.in_block(parameter::before_blocks, [&] { list.child<embed>("embed"); });
      list.child("blocks", [&] { body::parameters(list, blocks(r)); });
      if (is_last(r)) list.part<tail>();
    };
    if (prefix.empty()) write();
    else list.child(prefix, write);
    return list.items();
  }

 private:
  // visit(i, next): the blocks [i, next) run as one.
  template <class Visit>
  static void each_of_blocks(stage_range r, Visit&& visit) {
    const interval of = blocks(r);
    for (isize i = of.begin, next; i < of.end; i = next) visit(i, next = body::next(i, of.end));
  }
};

}  // namespace motet
