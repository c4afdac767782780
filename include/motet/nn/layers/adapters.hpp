// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>
#include <motet/nn/core/cut_rows.hpp>
#include <motet/nn/core/rules.hpp>
#include <motet/tensor/random.hpp>

#include <array>
#include <cmath>

namespace motet {

// Adapters (LoRA, Hu et al. 2021): a product y = x W^T gains scale (x A^T) B^T, with A (rank, in) and B (out,
// rank), and these learn alone. Scale is alpha / rank. The products are those of attention, and of gated
// mlps.
struct adapter_config {
  isize rank = 0;   // 0: there are none
  float alpha = 0;  // 0: as much as the rank
  bool queries = true, keys = false, values = true, out = false;
  bool gate = false, up = false, down = false;
  float dropout = 0;  // the part of what goes into adapters that falls out in a step

  constexpr bool any() const { return rank > 0; }
  constexpr bool of_mlp() const { return gate || up || down; }
  constexpr double scale() const {
    return alpha == 0 ? 1 : static_cast<double>(alpha) / static_cast<double>(rank);
  }
};

constexpr verdict check(const adapter_config& c, bool gated) {
  if (c.rank < 0) return {reason::adapters_do_not_fit, 0, c.rank, 1};
  if (!c.any()) return {};
  if (c.alpha < 0) return {reason::adapters_do_not_fit, 1, static_cast<isize>(c.alpha), 0};
  if (!(c.queries || c.keys || c.values || c.out || c.of_mlp()))
    return {reason::adapters_do_not_fit, 2, 0, 1};
  if (c.of_mlp() && !gated) return {reason::adapters_do_not_fit, 3, 0, 1};
  if (!(c.dropout >= 0 && c.dropout < 1))
    return {reason::adapters_drop, 0,
            c.dropout > 0 || c.dropout < 0 ? static_cast<isize>(c.dropout * 1000) : -1, 1000};
  return {};
}

// One product here may be several of a model's: the columns of its outputs that have an adapter each.
struct adapted_outputs {
  std::array<interval, 3> of{};
  isize count = 0;
  constexpr adapted_outputs with(bool chosen, interval outputs) const {
    adapted_outputs more = *this;
    if (chosen) more.of[as_size(more.count++)] = outputs;
    return more;
  }
  // B's rows of those before.
  constexpr isize rows(isize before) const {
    isize sum = 0;
    for (isize k = 0; k < before; ++k) sum += of[as_size(k)].size();
    return sum;
  }
};

// The outputs of attention's first product that have adapters, and of a gated mlp's, by the columns of each
// part.
constexpr adapted_outputs adapted_of(const adapter_config& c, interval queries, interval keys,
                                     interval values) {
  return adapted_outputs{}.with(c.queries, queries).with(c.keys, keys).with(c.values, values);
}
constexpr adapted_outputs adapted_of(const adapter_config& c, interval gate, interval up) {
  return adapted_outputs{}.with(c.gate, gate).with(c.up, up);
}

// What a tensor member holds of a product with adapters: so many of its inputs, and outputs, by their columns
// here. A product is cut along one of the two.
struct adapted_part {
  isize inputs = 0;
  adapted_outputs outputs{};
};

// The adapters of one product, their A one below the other in one matrix and their B in another, so that rows
// are read once for all of them. With dropout they read x with some numbers zero and the others larger, the
// same in all adapters of the product; which ones follows from the seed, the step, `Place`, the block, the
// global row and the column, so backward draws the same again and nothing is stored. They start as B A = 0,
// and A as the peft package has its deviation. What each function does comes on top of what the product did.
// Where a product is cut along its outputs, B is, and A is whole; along its inputs, A is, and B is whole. The
// gradient of what is whole is a sum over members: each has a part of the rows between A and B, or of theirs.
// Asks for: rows of the product's inputs, and its outputs without a gap; with dropout a whole product.
// Memory: (rows, rank) for each adapter, and once more in backward; with dropout (rows, In) while it is read.
// Errors: none of its own.
// Example:
//   constexpr adapter_config small{.rank = 4};
//   using values = product_adapters<64, small, adapted_outputs{}.with(small.values, {128, 192}), "qkv">;
//   static_assert(values::size == 4 * 64 + 64 * 4);
template <isize In, adapter_config Config, adapted_outputs Outputs, fixed_string Place>
struct product_adapters {
  static constexpr isize rank = Config.rank, thin = Outputs.count * rank,
                         outputs = Outputs.rows(Outputs.count);
  static constexpr bool none = thin == 0;
  // Read by the compiler: clang 16 reads floats of such an argument from wrong bytes when a program runs.
  static constexpr double scale = Config.scale(), rate = static_cast<double>(Config.dropout);
  static constexpr bool drops = Config.dropout > 0;
  static constexpr std::uint64_t key_of(isize block) {
    return random_stream::hash(Place.view()) ^ static_cast<std::uint64_t>(block + 1) * 0xd1b54a32d192ed03ull;
  }
  static constexpr adapted_part whole{In, Outputs};
  static constexpr isize b_at(const adapted_part& held) { return parameter_space(thin * held.inputs); }
  static constexpr isize size_of(const adapted_part& held) {
    return b_at(held) + parameter_space(held.outputs.rows(Outputs.count) * rank);
  }
  static constexpr isize size = size_of(whole);

  // Cut along its outputs, a list holds these columns of the weight's; along its inputs, these inputs.
  static void parameters(parameter_list& list, std::string_view name, const adapted_outputs& held) {
    std::vector<interval> rows;
    for (isize k = 0; k < Outputs.count; ++k) {
      const isize first = Outputs.rows(k) - Outputs.of[as_size(k)].begin;
      rows.push_back({first + held.of[as_size(k)].begin, first + held.of[as_size(k)].end});
    }
    list_both(
        list, name, [&] { list_a(list); }, [&] { list.of_rows(std::move(rows), [&] { list_b(list); }); });
  }
  static void parameters(parameter_list& list, std::string_view name, interval held) {
    list_both(
        list, name, [&] { list.of_columns(held, [&] { list_a(list); }); }, [&] { list_b(list); });
  }

  template <class N>
  struct saved {
    matrix<typename N::value> rows;    // (rows, thin): scale x A^T
    matrix<typename N::value> d_rows;  // likewise, between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    if constexpr (!none) s.rows = cut_rows::take<typename N::value>(ctx, seq, thin);
  }
  // A caller that gives memory back before the weight part calls this before.
  template <class N, class C>
  static void reserve_backward(C& ctx, const sequences& seq, saved<N>& s) {
    if constexpr (!none) s.d_rows = cut_rows::take<typename N::value>(ctx, seq, thin);
  }

  // y += scale (x A^T) B^T, of these rows of all that are saved; adapters that drop take all at once. w are
  // those of this product, as they are held.
  template <class C, class M, class X, class Y, class S>
  static void forward(C& ctx, const adapted_part& held, const M* w, isize block, const sequences& seq,
                      interval rows, matrix<X> x, matrix<Y> y, S& s) {
    if constexpr (!none) {
      [[maybe_unused]] const isize mark = ctx.memory.mark();
      const auto thin_rows = cut_rows::some_rows(s.rows, rows);
      linear_forward(ctx, seq, remaining(ctx, block, seq, x, s), a(held, w), nullptr, thin_rows);
      if constexpr (drops) release(ctx, mark);
      scale_rows(ctx, seq, scale, thin_rows, thin_rows);
      for (isize k = 0; k < Outputs.count; ++k)
        linear_forward(ctx, seq, of(k, thin_rows), b(held, k, w), nullptr, outputs_of(held, k, y),
                       outputs_of(held, k, y));
    }
  }
  template <class C, class M, class X, class Y, class S>
  static void forward(C& ctx, const adapted_part& held, const M* w, isize block, const sequences& seq,
                      matrix<X> x, matrix<Y> y, S& s) {
    forward(ctx, held, w, block, seq, {0, x.rows}, x, y, s);
  }
  // dx += scale (dy B) A, likewise.
  template <class C, class M, class DY, class DX, class S>
  static void backward_input(C& ctx, const adapted_part& held, const M* w, isize block, const sequences& seq,
                             interval rows, matrix<DY> dy, matrix<DX> dx, S& s) {
    if constexpr (!none) {
      const auto thin_rows = cut_rows::some_rows(s.d_rows, rows);
      for (isize k = 0; k < Outputs.count; ++k)
        linear_backward_input(ctx, seq, outputs_of(held, k, dy), b(held, k, w), of(k, thin_rows));
      scale_rows(ctx, seq, scale, thin_rows, thin_rows);
      if constexpr (drops) {
        const isize mark = ctx.memory.mark();
        const auto own = cut_rows::take<std::remove_const_t<DX>>(ctx, seq, dx.width);
        linear_backward_input(ctx, seq, thin_rows, a(held, w), own);
        dropout_apply(ctx, seq, rate, key_of(block), own, own);
        add(ctx, seq, dx, own, dx);
        release(ctx, mark);
      } else {
        linear_backward_input(ctx, seq, thin_rows, a(held, w), dx, dx);
      }
    }
  }
  template <class C, class M, class DY, class DX, class S>
  static void backward_input(C& ctx, const adapted_part& held, const M* w, isize block, const sequences& seq,
                             matrix<DY> dy, matrix<DX> dx, S& s) {
    backward_input(ctx, held, w, block, seq, {0, dy.rows}, dy, dx, s);
  }
  template <class C, class M, class X, class DY, class S>
  static void backward_weight(C& ctx, const adapted_part& held, isize block, const sequences& seq,
                              matrix<X> x, matrix<DY> dy, const S& s, M* g) {
    if constexpr (!none) {
      [[maybe_unused]] const isize mark = ctx.memory.mark();
      const auto read = remaining(ctx, block, seq, x, s);
      if constexpr (drops) synchronize(ctx);
      linear_backward_weight(ctx, read, s.d_rows, a(held, g), nullptr);
      if constexpr (drops) release(ctx, mark);
      for (isize k = 0; k < Outputs.count; ++k)
        linear_backward_weight(ctx, of(k, s.rows), outputs_of(held, k, dy), b(held, k, g), nullptr);
    }
  }

 private:
  template <class A, class B>
  static void list_both(parameter_list& list, std::string_view name, A&& of_a, B&& of_b) {
    if constexpr (!none)
      list.child(name, [&] {
        of_a();
        of_b();
      });
  }
  static void list_a(parameter_list& list) {
    list.adapter("a", thin, In, {fill::normal, std::sqrt(1 / (3 * static_cast<float>(In)))});
  }
  static void list_b(parameter_list& list) {
    list.adapter("b", outputs, rank, {}, {Outputs.of.begin(), Outputs.of.begin() + Outputs.count});
  }

  // What of x goes into adapters in this step.
  template <class C, class X, class S>
  static auto remaining(C& ctx, isize block, const sequences& seq, matrix<X> x, const S& s) {
    if constexpr (drops) {
      const auto some = cut_rows::take<std::remove_pointer_t<decltype(s.rows.data)>>(ctx, seq, x.width);
      dropout_apply(ctx, seq, rate, key_of(block), x, some);
      return some;
    } else {
      return x;
    }
  }
  // The matrices are those of weights, or of gradients.
  template <class M>
  static matrix<M> a(const adapted_part& held, M* data) {
    return {data, thin, held.inputs, held.inputs};
  }
  template <class M>
  static matrix<M> b(const adapted_part& held, isize k, M* data) {
    return {data + b_at(held) + held.outputs.rows(k) * rank, held.outputs.of[as_size(k)].size(), rank, rank};
  }
  template <class T>
  static matrix<T> of(isize k, matrix<T> rows) {
    return rows.columns(k * rank, rank);
  }
  template <class T>
  static matrix<T> outputs_of(const adapted_part& held, isize k, matrix<T> y) {
    return y.columns(held.outputs.of[as_size(k)].begin, held.outputs.of[as_size(k)].size());
  }
};

}  // namespace motet
