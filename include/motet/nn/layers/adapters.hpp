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
// rank), and these learn alone. Scale is alpha / rank. The products are those of attention, and of gated mlps.
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

// The adapters of one product, their A one below the other in one matrix and their B in another, so that rows
// are read once for all of them. With dropout they read x with some numbers zero and the others larger, the
// same in all adapters of the product; which ones follows from the seed, the step, `Place`, the block, the
// global row and the column, so backward draws the same again and nothing is stored. They start as B A = 0,
// and A as the peft package has its deviation. What each function does comes on top of what the product did.
// Asks for: rows of the product's inputs, and its outputs without a gap.
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
  static constexpr isize b_at = parameter_space(thin * In), size = b_at + parameter_space(outputs * rank);

  static void parameters(parameter_list& list, std::string_view name) {
    if constexpr (!none)
      list.child(name, [&] {
        list.adapter("a", thin, In, {fill::normal, std::sqrt(1 / (3 * static_cast<float>(In)))});
        list.adapter("b", outputs, rank, {}, {Outputs.of.begin(), Outputs.of.begin() + Outputs.count});
      });
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

  // y += scale (x A^T) B^T. w are the adapters of this product.
  template <class C, class M, class X, class Y, class S>
  static void forward(C& ctx, const M* w, isize block, const sequences& seq, matrix<X> x, matrix<Y> y, S& s) {
    if constexpr (!none) {
      [[maybe_unused]] const isize mark = ctx.memory.mark();
      linear_forward(ctx, seq, remaining(ctx, block, seq, x, s), a(w), nullptr, s.rows);
      if constexpr (drops) release(ctx, mark);
      scale_rows(ctx, seq, scale, s.rows, s.rows);
      for (isize k = 0; k < Outputs.count; ++k)
        linear_forward(ctx, seq, of(k, s.rows), b(k, w), nullptr, outputs_of(k, y), outputs_of(k, y));
    }
  }
  // dx += scale (dy B) A
  template <class C, class M, class DY, class DX, class S>
  static void backward_input(C& ctx, const M* w, isize block, const sequences& seq, matrix<DY> dy,
                             matrix<DX> dx, S& s) {
    if constexpr (!none) {
      for (isize k = 0; k < Outputs.count; ++k)
        linear_backward_input(ctx, seq, outputs_of(k, dy), b(k, w), of(k, s.d_rows));
      scale_rows(ctx, seq, scale, s.d_rows, s.d_rows);
      if constexpr (drops) {
        const isize mark = ctx.memory.mark();
        const auto own = cut_rows::take<std::remove_const_t<DX>>(ctx, seq, In);
        linear_backward_input(ctx, seq, s.d_rows, a(w), own);
        dropout_apply(ctx, seq, rate, key_of(block), own, own);
        add(ctx, seq, dx, own, dx);
        release(ctx, mark);
      } else {
        linear_backward_input(ctx, seq, s.d_rows, a(w), dx, dx);
      }
    }
  }
  template <class C, class M, class X, class DY, class S>
  static void backward_weight(C& ctx, isize block, const sequences& seq, matrix<X> x, matrix<DY> dy,
                              const S& s, M* g) {
    if constexpr (!none) {
      [[maybe_unused]] const isize mark = ctx.memory.mark();
      const auto read = remaining(ctx, block, seq, x, s);
      if constexpr (drops) synchronize(ctx);
      linear_backward_weight(ctx, read, s.d_rows, a(g), nullptr);
      if constexpr (drops) release(ctx, mark);
      for (isize k = 0; k < Outputs.count; ++k)
        linear_backward_weight(ctx, of(k, s.rows), outputs_of(k, dy), b(k, g), nullptr);
    }
  }

 private:
  // What of x goes into adapters in this step.
  template <class C, class X, class S>
  static auto remaining(C& ctx, isize block, const sequences& seq, matrix<X> x, const S& s) {
    if constexpr (drops) {
      const auto some = cut_rows::take<std::remove_pointer_t<decltype(s.rows.data)>>(ctx, seq, In);
      dropout_apply(ctx, seq, rate, key_of(block), x, some);
      return some;
    } else {
      return x;
    }
  }
  // The matrices are those of weights, or of gradients.
  template <class M>
  static matrix<M> a(M* data) {
    return {data, thin, In, In};
  }
  template <class M>
  static matrix<M> b(isize k, M* data) {
    return {data + b_at + Outputs.rows(k) * rank, Outputs.of[as_size(k)].size(), rank, rank};
  }
  template <class T>
  static matrix<T> of(isize k, matrix<T> rows) {
    return rows.columns(k * rank, rank);
  }
  template <class T>
  static matrix<T> outputs_of(isize k, matrix<T> y) {
    return y.columns(Outputs.of[as_size(k)].begin, Outputs.of[as_size(k)].size());
  }
};

}  // namespace motet
