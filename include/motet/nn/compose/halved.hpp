// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/sequential.hpp>

namespace motet {

// The blocks of a tower with bounds in the middle of each as well: half a block is its first layer, as
// attention is, or all that is behind it. A part [begin, end) of them counts halves. It runs as whole blocks
// do, with half a block before and behind those where it begins or ends within one. So parameters, their
// names and order, and all numbers are those of whole blocks.
// Asks for: repeated blocks of two layers or more, one behind the other (has_halves).
// Memory: what the layers keep, and the rows (rows, width) between whole blocks and halves.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using deep = repeat<recompute<sequential<linear<8, 16>, linear<16, 8>>, recomputed::when_asked>, 4>;
//   static_assert(has_halves<repeat<recompute<sequential<linear<8, 8>, linear<8, 8>>>, 4>>);
//   static_assert(!has_halves<deep>);  // rows between halves are as wide as those between blocks
template <class Blocks>
struct halved;

template <class Blocks>
inline constexpr bool has_halves = false;
template <class First, class... Rest, recomputed When, isize Count>
inline constexpr bool has_halves<repeat<recompute<sequential<First, Rest...>, When>, Count>> =
    sizeof...(Rest) > 0 && First::in == First::out;

template <class First, class... Rest, recomputed When, isize Count>
struct halved<repeat<recompute<sequential<First, Rest...>, When>, Count>> {
  using whole = repeat<recompute<sequential<First, Rest...>, When>, Count>;
  using block = typename whole::block;
  using lower = recompute<sequential<First>, When>;
  using upper = recompute<sequential<Rest...>, When>;
  static constexpr isize in = whole::in, out = whole::out, count = 2 * Count;
  static constexpr isize parameter_size = whole::parameter_size, adapter_size = whole::adapter_size;
  static constexpr isize size(tensor_cut cut) { return whole::size(cut); }
  static constexpr isize held_adapters(tensor_cut cut) { return whole::held_adapters(cut); }
  static constexpr isize size_before(isize half, tensor_cut cut) {
    return whole::size_before(half / 2, cut) + half % 2 * layer::size<lower>(cut);
  }
  static constexpr isize adapters_before(isize half, tensor_cut cut) {
    return whole::adapters_before(half / 2, cut) + half % 2 * layer::held_adapters<lower>(cut);
  }
  static constexpr isize next(isize half, isize end) {
    return half + (half % 2 == 0 && half + 1 < end ? 2 : 1);
  }

  static void parameters(parameter_list& list, interval part) {
    for (isize half = part.begin; half < part.end; ++half)
      list.in_block(half / 2, [&] {
        list.child(std::to_string(half / 2), [&] {
          if (half % 2 == 0) sequential<First>::parameters_from(list, 0);
          else sequential<Rest...>::parameters_from(list, 1);
        });
      });
  }

  template <class N>
  struct saved {
    typename upper::template saved<N> head;
    typename whole::template saved<N> middle;
    typename lower::template saved<N> tail;
    view<typename N::stream, in> behind_head, before_tail;
    // their gradients, between the two parts of backward
    view<typename N::stream, in> d_behind_head, d_before_tail;
  };
  template <class N, class C>
  static void reserve(C& ctx, interval part, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    const pieces of(part);
    if (of.head) layer::reserve<upper, N>(ctx, seq, s.head, cut);
    if (of.has_middle()) whole::template reserve<N>(ctx, of.middle, seq, s.middle, cut);
    if (of.tail) layer::reserve<lower, N>(ctx, seq, s.tail, cut);
    take_between<N>(ctx, of, seq, s.behind_head, s.before_tail);
  }

  template <class C, class N, class T>
  static void forward(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                      view<typename N::stream, out> y, saved<N>& s) {
    const pieces of(part);
    run<N>(ctx, of, seq, x, y, s.behind_head, s.before_tail, [&]<place At>(here<At>, auto from, auto to) {
      const auto own = of.template within<At>(w);
      if constexpr (At == place::middle) whole::forward(ctx, of.middle, own, seq, from, to, s.middle);
      else half<At>::forward(ctx, layer::lend<half<At>>(ctx, own), seq, from, to, kept<At>(s));
    });
  }
  template <class C, class N, class T>
  static void infer(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                    view<typename N::stream, out> y) {
    const isize mark = ctx.memory.mark();
    const pieces of(part);
    view<typename N::stream, in> behind_head, before_tail;
    take_between<N>(ctx, of, seq, behind_head, before_tail);
    run<N>(ctx, of, seq, x, y, behind_head, before_tail, [&]<place At>(here<At>, auto from, auto to) {
      const auto own = of.template within<At>(w);
      if constexpr (At == place::middle) whole::infer(ctx, of.middle, own, seq, from, to);
      else layer::infer<half<At>>(ctx, layer::lend<half<At>>(ctx, own), seq, from, to);
    });
    release(ctx, mark);
  }

  template <class C, class N, class T, class D>
  static void backward(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                       view<D, out> dy, view<typename N::stream, in> dx, saved<N>& s, gradients<N> g) {
    const isize mark = ctx.memory.mark();
    const pieces of(part);
    take_between<N>(ctx, of, seq, s.d_behind_head, s.d_before_tail);
    run_back<N>(ctx, of, seq, x, dy, dx, s, [&]<place At>(here<At>, auto from, auto d_to, auto d_from) {
      const auto own = of.template within<At>(w);
      const auto sums = of.template within<At>(g);
      if constexpr (At == place::middle) {
        whole::backward(ctx, of.middle, own, seq, from, d_to, d_from, s.middle, sums);
      } else {
        collect<half<At>>(ctx, sums, [&](gradients<N> to) {
          layer::backward<half<At>>(ctx, layer::lend<half<At>>(ctx, own), seq, from, d_to, d_from,
                                    kept<At>(s), to);
        });
      }
    });
    release(ctx, mark);
  }
  template <class C, class N, class T, class D>
  static void backward_input(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                             view<D, out> dy, view<typename N::stream, in> dx, saved<N>& s) {
    const pieces of(part);
    take_between<N>(ctx, of, seq, s.d_behind_head, s.d_before_tail);
    run_back<N>(ctx, of, seq, x, dy, dx, s, [&]<place At>(here<At>, auto from, auto d_to, auto d_from) {
      const auto own = of.template within<At>(w);
      if constexpr (At == place::middle)
        whole::backward_input(ctx, of.middle, own, seq, from, d_to, d_from, s.middle);
      else
        half<At>::backward_input(ctx, layer::lend<half<At>>(ctx, own), seq, from, d_to, d_from, kept<At>(s));
    });
  }
  template <class C, class N, class T, class D>
  static void backward_weight(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                              view<D, out> dy, saved<N>& s, gradients<N> g) {
    const pieces of(part);
    const view<typename N::stream, in> none;
    run_back<N>(ctx, of, seq, x, dy, none, s, [&]<place At>(here<At>, auto from, auto d_to, auto) {
      const auto own = of.template within<At>(w);
      const auto sums = of.template within<At>(g);
      if constexpr (At == place::middle) {
        whole::backward_weight(ctx, of.middle, own, seq, from, d_to, s.middle, sums);
      } else {
        collect<half<At>>(ctx, sums, [&](gradients<N> to) {
          layer::backward_weight<half<At>>(ctx, layer::lend<half<At>>(ctx, own), seq, from, d_to, kept<At>(s),
                                           to);
        });
      }
    });
  }

 private:
  enum class place { head, middle, tail };
  template <place>
  struct here {};
  template <place At>
  using half = std::conditional_t<At == place::head, upper, lower>;
  template <place At, class N>
  static auto& kept(saved<N>& s) {
    if constexpr (At == place::head) return s.head;
    else return s.tail;
  }

  // Half a block, whole ones, and half a block, as far as a part has them.
  struct pieces {
    interval part, middle;
    bool head = false, tail = false;
    constexpr explicit pieces(interval of)
        : part(of),
          middle{(of.begin + 1) / 2, of.end / 2},
          head(of.size() > 0 && of.begin % 2 == 1),
          tail(of.size() > 0 && of.end % 2 == 1) {}
    constexpr bool has_middle() const { return middle.size() > 0; }
    constexpr bool has_behind_head() const { return head && (has_middle() || tail); }
    constexpr bool has_before_tail() const { return tail && has_middle(); }
    // Weights or gradients of a piece within those of the part; half a block knows the block's number.
    template <place At, class W>
    constexpr W within(W w) const {
      constexpr bool middle_one = At == place::middle;
      const isize first = At == place::head ? part.begin : middle_one ? 2 * middle.begin : part.end - 1;
      if constexpr (!middle_one && requires { w.block; }) w.block = first / 2;
      return layer::part<std::conditional_t<middle_one, whole, half<At>>>(
          w, size_before(first, w.cut) - size_before(part.begin, w.cut),
          adapters_before(first, w.cut) - adapters_before(part.begin, w.cut));
    }
  };

  // Where a net learns by adapters, a half without any has no gradients.
  template <class Half, class C, class N, class Add>
  static void collect(C& ctx, gradients<N> g, Add&& add) {
    if constexpr (adapter_size > 0 && adapters_of<Half> == 0) add(g);
    else layer::collect<Half>(ctx, g, std::forward<Add>(add));
  }
  template <class N, class C>
  static void take_between(C& ctx, const pieces& of, const sequences& seq,
                           view<typename N::stream, in>& behind_head,
                           view<typename N::stream, in>& before_tail) {
    if (of.has_behind_head()) behind_head = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
    if (of.has_before_tail()) before_tail = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
  }

  // Calls forward(piece, rows that enter, rows that leave) for each piece, the first one first.
  template <class N, class C, class T, class Forward>
  static void run(C& ctx, const pieces& of, const sequences& seq, view<T, in> x,
                  view<typename N::stream, out> y, view<typename N::stream, in> behind_head,
                  view<typename N::stream, in> before_tail, Forward&& forward) {
    if (of.part.size() == 0) return copy(ctx, seq, x, y);
    view<const typename N::stream, in> from = x;
    if (of.head) {
      const auto to = of.has_behind_head() ? behind_head : y;
      [[maybe_unused]] const auto named = detail::enter_part<sequential<Rest...>>(ctx);
      forward(here<place::head>{}, from, to);
      from = to;
    }
    if (of.has_middle()) {
      const auto to = of.tail ? before_tail : y;
      forward(here<place::middle>{}, from, to);
      from = to;
    }
    if (!of.tail) return;
    [[maybe_unused]] const auto named = detail::enter_part<First>(ctx);
    forward(here<place::tail>{}, from, y);
  }
  // Calls backward(piece, rows that entered, gradient of those that left, gradient of those that entered) for
  // each piece, the last one first.
  template <class N, class C, class T, class D, class Backward>
  static void run_back(C& ctx, const pieces& of, const sequences& seq, view<T, in> x, view<D, out> dy,
                       view<typename N::stream, in> dx, const saved<N>& s, Backward&& backward) {
    if (of.part.size() == 0) {
      if (dx) copy(ctx, seq, dy, dx);
      return;
    }
    const view<const typename N::stream, in> entry = x;
    const view<const typename N::stream, in> into_middle = of.head ? s.behind_head : entry,
                                             into_tail = of.has_middle() ? s.before_tail : into_middle;
    view<const typename N::stream, in> d_to = dy;
    if (of.tail) {
      const auto d_from = of.has_middle() ? s.d_before_tail : of.head ? s.d_behind_head : dx;
      [[maybe_unused]] const auto named = detail::enter_part<First>(ctx);
      backward(here<place::tail>{}, into_tail, d_to, d_from);
      d_to = d_from;
    }
    if (of.has_middle()) {
      const auto d_from = of.head ? s.d_behind_head : dx;
      backward(here<place::middle>{}, into_middle, d_to, d_from);
      d_to = d_from;
    }
    if (!of.head) return;
    [[maybe_unused]] const auto named = detail::enter_part<sequential<Rest...>>(ctx);
    backward(here<place::head>{}, entry, d_to, dx);
  }
};

}  // namespace motet
