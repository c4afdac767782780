// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>
#include <motet/nn/core/rounded_rows.hpp>
#include <motet/nn/core/rules.hpp>

#include <utility>

namespace motet {

// A name for a part: its parameters are called "name.weight" instead of "0.weight".
template <fixed_string Name, class L>
struct named : L {
  static constexpr std::string_view name = Name.view();
};

namespace detail {
// A named part's cost is filed under its name.
template <class L, class C>
auto enter_part(C& ctx) {
  if constexpr (requires { L::name; }) return enter(ctx, L::name.data());
  else return 0;
}
}  // namespace detail

// Layers one after the other. Parameters are called by position, or by the name that `named` gives a part.
// Asks for: layers each of which takes rows as wide as the one before it makes.
// Memory: what each layer keeps, and the rows between them.
// Errors: MT-N05
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using two = sequential<named<"up", linear<64, 256>>, named<"down", linear<256, 64>>>;
//   static_assert(two::in == 64 && two::out == 64);
template <class First, class... Rest>
struct sequential {
  using rest = sequential<Rest...>;
  static constexpr isize in = First::in, out = rest::out;
  static constexpr bool rounds_gradient = motet::rounds_gradient<First>;
  static constexpr bool spares_input_gradient = motet::spares_input_gradient<First>;
  static_assert(require < First::out == rest::in
                    ? verdict{}
                    : verdict{reason::widths_do_not_chain, 0, rest::in, First::out} >);
  static constexpr isize parameter_size = First::parameter_size + rest::parameter_size;
  static constexpr isize adapter_size = adapters_of<First> + adapters_of<rest>;
  static constexpr isize rest_at(tensor_cut cut) { return layer::size<First>(cut); }
  static constexpr isize size(tensor_cut cut) { return rest_at(cut) + layer::size<rest>(cut); }
  static constexpr isize held_adapters(tensor_cut cut) {
    return layer::held_adapters<First>(cut) + layer::held_adapters<rest>(cut);
  }

  static void parameters(parameter_list& list) { parameters_from(list, 0); }
  static void parameters_from(parameter_list& list, int position) {
    sequential<First>::parameters_from(list, position);
    rest::parameters_from(list, position + 1);
  }

  template <class N>
  struct saved {
    typename First::template saved<N> first;
    typename rest::template saved<N> rest_saved;
    view<typename N::stream, First::out> between;
    rounded_rows<typename N::stream, typename N::value, First::out> d_between;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    layer::reserve<First, N>(ctx, seq, s.first, cut);
    s.between = ctx.memory.template take_rows<typename N::stream, First::out>(seq.rows());
    layer::reserve<rest, N>(ctx, seq, s.rest_saved, cut);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    {
      [[maybe_unused]] const auto part = detail::enter_part<First>(ctx);
      First::forward(ctx, layer::part<First>(w), seq, x, s.between, s.first);
    }
    {
      [[maybe_unused]] const auto part = detail::enter_part<rest>(ctx);
      rest::forward(ctx, of_rest(w), seq, s.between, y, s.rest_saved);
    }
  }
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y) {
    const isize mark = ctx.memory.mark();
    const auto between = ctx.memory.template take_rows<typename N::stream, First::out>(seq.rows());
    {
      [[maybe_unused]] const auto part = detail::enter_part<First>(ctx);
      layer::infer<First>(ctx, layer::part<First>(w), seq, x, between);
    }
    {
      [[maybe_unused]] const auto part = detail::enter_part<rest>(ctx);
      layer::infer<rest>(ctx, of_rest(w), seq, between, y);
    }
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, DX dx, saved<N>& s,
                       gradients<N> g) {
    const isize mark = ctx.memory.mark();
    reserve_between(ctx, seq, s);
    {
      [[maybe_unused]] const auto part = detail::enter_part<rest>(ctx);
      layer::backward<rest>(ctx, of_rest(w), seq, s.between, dy, s.d_between, s.rest_saved, of_rest(g));
    }
    {
      [[maybe_unused]] const auto part = detail::enter_part<First>(ctx);
      layer::backward<First>(ctx, layer::part<First>(w), seq, x, s.d_between, dx, s.first,
                             layer::part<First>(g));
    }
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, DX dx,
                             saved<N>& s) {
    reserve_between(ctx, seq, s);
    {
      [[maybe_unused]] const auto part = detail::enter_part<rest>(ctx);
      rest::backward_input(ctx, of_rest(w), seq, s.between, dy, s.d_between, s.rest_saved);
    }
    {
      [[maybe_unused]] const auto part = detail::enter_part<First>(ctx);
      First::backward_input(ctx, layer::part<First>(w), seq, x, s.d_between, dx, s.first);
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, saved<N>& s,
                              gradients<N> g) {
    {
      [[maybe_unused]] const auto part = detail::enter_part<rest>(ctx);
      layer::backward_weight<rest>(ctx, of_rest(w), seq, s.between, dy, s.rest_saved, of_rest(g));
    }
    {
      [[maybe_unused]] const auto part = detail::enter_part<First>(ctx);
      layer::backward_weight<First>(ctx, layer::part<First>(w), seq, x, s.d_between, s.first,
                                    layer::part<First>(g));
    }
  }

 private:
  // Weights or gradients of the layers behind the first.
  template <class W>
  static constexpr W of_rest(W w) {
    return layer::part<rest>(w, rest_at(w.cut), layer::held_adapters<First>(w.cut));
  }
  template <class C, class N>
  static void reserve_between(C& ctx, const sequences& seq, saved<N>& s) {
    s.d_between = ctx.memory.template take_rows<typename N::stream, First::out>(seq.rows());
    s.d_between.rounded = take_rounded<rest, N>(ctx, seq);
  }
};

// One layer alone is itself; only its name is added.
template <class Only>
struct sequential<Only> : Only {
  static void parameters(parameter_list& list) { parameters_from(list, 0); }
  static void parameters_from(parameter_list& list, int position) {
    if constexpr (requires { Only::name; }) list.child<Only>(Only::name);
    else list.child<Only>(std::to_string(position));
  }
};

}  // namespace motet
