// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/noise_draws.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <cmath>
#include <type_traits>

// Nets ask these functions of a context. They call them unqualified, so argument-dependent lookup finds the
// overloads of the backend that the context belongs to; nn/ names no backend. A backend is a folder that
// offers them all (see backend/cpu).
//
// A step is run by a team: every thread calls every operation with the same arguments.
//   [rows]
//       touches only the rows that sequences::part gives to this thread, and reads only what this thread
//       wrote. Needs no barrier.
//   [columns] reads all rows and writes this thread's columns of a gradient. The caller puts synchronize(ctx)
//   before it.
//   [all]
//       synchronises inside.
// A context says in `spares_passes` whether nets are to take memory where that spares a pass over rows.
// Matrices may have a stride. `weight`, `gain`, `bias` are master-precision parameters; gradients of weights
// are always added to.
// A matrix or pointer marked "or none" may be empty. Sums are taken in float or better.
//
//   synchronize(ctx)
//       all threads see what all wrote
//   release(ctx, mark)
//       synchronize, then give the shared arena back down to mark
//   gradients_at(ctx, pointer, count) -> pointer
//       where to add the gradients that belong there
//   gradients_ready(ctx, pointer, count)
//       no later operation of this backward adds to them
//   enter(ctx, "name")
//       a scope: time, FLOPs and bytes until it ends are filed under the name
//   zero(ctx, seq, y)
//       [rows]
//   add(ctx, seq, a, b, y)
//       [rows] y = a + b
//   scale_rows(ctx, seq, factor, x, y)
//       [rows] y = factor x; may be the same memory
//   copy(ctx, seq, x, y)
//       [rows] y = x, converting
//
//   linear_forward(ctx, seq, x, weight, bias or none, y)
//       [rows] y = x weight^T + bias, weight is (out, in)
//   linear_forward(ctx, seq, x, weight, bias or none, residual, y)
//       [rows] y = residual + x weight^T + bias
//   linear_forward(ctx, seq, x, weight, bias or none, activation, pre, y)
//       [rows] pre = x weight^T + bias; y = activation(pre)
//   linear_backward_input(ctx, seq, dy, weight, dx)
//       [rows] dx = dy weight
//   linear_backward_input(ctx, seq, dy, weight, residual, dx)
//       [rows] dx = residual + dy weight; may be the same memory
//   linear_backward_input(ctx, seq, dy, weight, activation, pre, replayed, dx)
//       [rows] dx = (dy weight) * activation'(pre), replayed = activation(pre); may be pre's memory
//   linear_backward_weight(ctx, x, dy, dweight, dbias or none)
//       [columns]
//   linear_backward_bias(ctx, dy, dbias or none)
//       [columns] where the weight's part is made of other rows
//
//   Rows that a net makes for a product have C::product_columns<T> columns or a multiple, the last ones zero:
//   of linear_forward and
//   linear_backward_weight x may be so much wider than the weight.
//
//   norm_forward(ctx, seq, kind, x, gain, bias or none, epsilon, y, stats)
//       [rows] stats is (rows, 2): mean, 1 / deviation
//   norm_sums<M>(ctx, rows, width) -> matrix<M>
//       takes memory for what backward's input part leaves for its weight part; empty where that part sums
//       over the rows again
//   norm_backward_input(ctx, seq, kind, x, gain, stats, dy, residual or none, dx, also) [rows] dx = residual
//   + gradient; dx may be dy or residual;
//                                                            what else is wanted of the same rows says `also`
//                                                            (norm_also)
//   norm_backward_weight(ctx, kind, x, stats, dy, sums or none, dgain, dbias or none) [columns] sums: as the
//   input part left them
//
//   Where the first row of each sample is its condition (layers/modulation.hpp), seq tells rows with it, and
//   branch, stats, dy of the norm and d_branch have the others alone, one behind the other:
//   modulated_norm_forward(ctx, seq, x, modulation, epsilon, y, stats)
//       [rows] y = layer norm(x) * (1 + scale) + shift, modulation is (samples, shift | scale)
//   modulated_norm_backward(ctx, seq, x, modulation, stats, dy, residual or none, dx, d_modulation, again or
//   none)
//       [rows] dx = residual + gradient, of conditions the residual; dx may be the residual; again = y
//   gated_add_forward(ctx, seq, x, branch, gate, y)
//       [rows] y = x + gate * branch, of conditions x; gate is (samples, width)
//   gated_add_backward(ctx, seq, branch, gate, dy, d_branch, d_gate)
//       [rows]
//
//   Where one number of weights opens a branch (layers/gated_branch.hpp):
//   gate_forward(ctx, seq, x, branch, gate, y)
//       [rows] y = x + tanh(gate) * branch
//   gate_backward_input(ctx, seq, branch, gate, dy, d_branch, sums)
//       [rows] sums is (rows, 1)
//   gate_backward_weight(ctx, gate, sums, dgate)
//       [all] dgate += gradient
//
//   activation_forward(ctx, seq, activation, x, y), activation_backward(ctx, seq, activation, x, dy, dx)
//       [rows]
//   swiglu_forward(ctx, seq, x, y)
//       [rows] x is (rows, 2 w): gate, up; y = silu(gate) * up
//   swiglu_backward(ctx, seq, x, dy, dx)
//       [rows]
//   dropout_apply(ctx, seq, rate, key, x, y)
//       [rows] keeps with probability 1 - rate, by (seed, step, key, global row, column); its own backward,
//       as the same numbers are drawn again
//
//   attention_forward(ctx, q_seq, kv_seq, shape, q, k, v, y, lse)
//       [rows] lse is (query rows, heads)
//   attention_backward(ctx, q_seq, kv_seq, shape, q, k, v, y, lse, dy, dq, dk, dv)
//       [rows] dq, dk, dv may be the memory of q, k, v, which takes another pass over them where
//       C::spares_passes
//       Samples are split as kv_seq says. Where q_seq splits its rows otherwise (one pooled row for each
//       ragged sample), the caller puts
//       synchronize(ctx) before and after attention_forward and attention_backward. A query that sees no key
//       gets zeros.
//   rotary(ctx, seq, head_width, angles, direction, x)
//       [rows] turns each head of x in place; direction -1 turns back
//
//   patches(ctx, seq, geometry, pixels, y)
//       [rows] row s of pixels is a picture (channels, side, side); its patches become rows of y, after
//       geometry.lead zero rows; further columns of y become zero. Or packed pictures
//       (tensor/packed_pictures.hpp), resized here, on CPUs each to a grid of its own where it has one; they
//       take no more memory
//   class_token_forward(ctx, seq, token, x)
//       [rows] first row of each sample = token
//   class_token_backward_weight(ctx, seq, dy, dtoken)
//       [columns]
//   class_token_backward_bias(ctx, seq, dy, dbias)
//       [columns] dbias += sums of all rows but the first of each
//   sample
//   sine_position_forward(ctx, seq, geometry, x)
//       [rows] x += fixed 2-D sine position of each patch (lead rows unchanged)
//   time_position_forward(ctx, seq, x)
//       [rows] x += fixed sine position of each row within its sample, as Whisper has them: the first half of
//       the columns sines, the second cosines
//   windows_forward(ctx, seq, windows, x, y)
//       [rows] what a convolution of three neighbours along time reads: row t of a sample of y has rows
//       t stride - 1, t stride, t stride + 1 of the sample of x, number by number (column 3 c + k is number c
//       of row k of them), zeros where the sample ends; further columns of y become zero
//   windows_backward(ctx, seq, windows, dy, dx)
//       [rows] of dx, which seq tells: each row gets the sum of what was made of it
//   mix_noise(ctx, seq, draws, lead, numbers, how, y)
//       [rows] of the first so many numbers of all rows of a sample but `lead`: y = (1 - time) y + time noise,
//       or noise - y
//   time_features(ctx, seq, draws, y)
//       [rows] one row for each sample: cosines, then sines of its time
//   told_classes(ctx, seq, draws, classes or none, count, forgotten, told)
//       [rows] the class of each sample, or `count` where it has none or forgets it
//   token_forward(ctx, seq, ids, first, table, y)
//       [rows] the table begins with row `first` of a larger one; ids outside it give zeros
//   token_backward_weight(ctx, ids, first, dy, dtable)
//       [columns]
//   add_rows_at(ctx, seq, places, x, y)
//       [rows] of x: y row places[r] += x row r, where that is not negative. The caller puts synchronize(ctx)
//       before and after it, as the rows of y are those of other threads
//   position_forward(ctx, seq, table, x)
//       [rows] x += table row of the position within the sample
//   position_backward_weight(ctx, seq, dy, dtable)
//       [columns]
//   resize_positions(ctx, lead, axis, table, y)
//       [rows of y] y = the square grid behind `lead` rows of the table, interpolated along both of its sides
//   resize_positions_backward(ctx, lead, axis, dy, dtable)
//       [columns]
//   grid_position_forward(ctx, seq, grid_table, pictures, table, x)
//       [rows] x += the table, interpolated to the grid of each picture
//   grid_position_backward_weight(ctx, seq, grid_table, pictures, dy, dtable)
//       [columns]
//   grid_sine_forward(ctx, seq, lead, pictures, x)
//       [rows] x += fixed 2-D sine position of each patch of the grid of each picture
//
//   pick_forward(ctx, seq, pick, x, y)
//       [rows] y row s = first or last row of sample s
//   pick_backward(ctx, seq, pick, dy, dx)
//       [rows] dx row += dy row s
//   mean_forward(ctx, seq, x, y), mean_backward(ctx, seq, dy, dx)
//       [rows] over the rows of each sample
//   sum_forward(ctx, seq, factor, x, y), sum_backward(ctx, seq, factor, dy, dx)
//       [rows] factor times the sum over the rows of each sample
//   normalize_forward(ctx, seq, x, y, lengths)
//       [rows] y = x / |x|; lengths is (rows, 1)
//   normalize_backward(ctx, seq, y, lengths, dy, dx) [rows]
//
// Where tensor parallelism cuts the net, its members meet in these; all of them call, with the same widths,
// also those without rows.
//   rows_of_all(ctx)
//       -> sequences the rows of all members, in order of members and of samples
//   gather_rows(ctx, x, all)
//       [all] all = rows of all members, converting
//   scatter_sum_rows(ctx, partial, residual or none, y) [all] y = residual + own rows of the sum of all
//   members' partial (rows of all), taken in
//                                                            the order of members; partial is used up
//   In these products go on while rows of others come, where the plan exchanges them in pieces; products are
//   called for some rows at a time, once for all:
//   gather_rows(ctx, x, all, each), scatter_sum_rows(ctx, partial, residual or none, y, make)
//       [all] each(sequences, rows) of rows that are there, make(sequences, rows) makes rows of partial
//   gather_rows_beside(ctx, x, all, meanwhile)
//       [all] meanwhile() reads none of these rows
//
// Where context parallelism cuts the rows of each sample, its members meet in these; all of them call, with
// the same shapes, also those without rows.
// Queries, keys and values are the rows of the part of all samples of the tensor group.
//   rows_are_cut(ctx)
//       -> bool whether rows of a sample lie on other ranks
//   rows_of_blocks(ctx), rows_of_samples(ctx) -> sequences
//       what this rank has then: parts of samples, and some samples whole
//   on_whole_samples(ctx, wanted)
//       a scope: until it ends nothing is cut, as the tail wants it, and most embeddings
//   rows_to_parts(ctx, x, y), rows_to_samples(ctx, x, y) [all] y = x, from whole samples to parts and back;
//   parts have no stride
//   rotary_of_part(ctx, head_width, angles, direction, x) [rows] by the position in the whole sample
//   reserve_exchanged(ctx, shape, kept)
//       takes the memory of kept, see context_attention.hpp
//   heads_attention_forward(ctx, shape, qkv, kept, y)
//       [all] qkv is queries | keys | values
//   heads_attention_backward(ctx, shape, kept, dy, dqkv) [all] kept is used up
//   ring_attention_forward(ctx, shape, q, k, v, y, lse) [all]
//   ring_attention_backward(ctx, shape, q, k, v, y, lse, dy, dq, dk, dv) [all] dq, dk, dv may be the memory
//   of q, k, v
//
//   router_forward(ctx, seq, x, weight, logits)
//       [rows] logits = x weight^T in the precision of the weights
//   route_forward(ctx, seq, shape, logits, lse, chosen, fraction, losses)
//       [all] probabilities take the place of logits; the rest see routing.hpp and mixture.hpp
//   route_backward(ctx, seq, shape, fraction, lse, chosen, dgate, probability)
//       [rows] dlogits take the place of probabilities
//   reserve_dispatch(ctx, seq, shape, cut, to)
//       takes the memory of `to`, in every run the same
//   dispatch(ctx, seq, shape, chosen, to)
//       [all] sorts the choices of all ranks that share the experts
//   take_arrived<T>(ctx, to, width)
//       memory for the rows of other ranks
//   to_experts(ctx, to, x, arrived, sorted)
//       [all] rows go to their experts' ranks and positions; each thread has its own positions
//   sort_rows(ctx, to, x, arrived, sorted)
//       once more, from what arrived. The caller puts synchronize(ctx) before and after it
//   from_experts(ctx, seq, to, sorted, weighed, residual or none, y)
//       [all] y = residual + sum over positions of (gate or 1) sorted
//   gates_from_experts(ctx, seq, to, sorted, dgate)
//       [all]
//       Of a grouping of positions by expert; here `rows` are positions, and weights those of all experts,
//       one below the other:
//   grouped_linear_forward(ctx, by, x, weight, y)
//       [rows] also (ctx, by, x, weight, activation, pre, y)
//   grouped_linear_backward_input(ctx, by, dy, weight, dx)
//       [rows]
//   grouped_linear_backward_weight(ctx, by, x, dy, dweight)
//       [columns]
//   gate_backward(ctx, by, chosen, h, t, dgate)
//       [rows] dgate = h . t; h *= gate; t *= gate
//
//   info_nce_loss(ctx, a, b, log_scale, share, da, db, dlog_scale)
//       -> loss [all] over all pairs of rows, both directions
//   pairwise_sigmoid_loss(ctx, a, b, log_scale, bias, share, da, db, dlog_scale, dbias) -> loss
//       [all]
//   and for some rows against all columns, when ranks share a loss (tensor/pair_part.hpp):
//   info_nce_sums(ctx, part, log_scale, share, row_sums, dlog_scale)
//       -> loss [all] of their own direction; writes one number for each row
//   info_nce_gradients(ctx, part, log_scale, share, row_sums, column_sums, d_rows)
//       [all]
//   pairwise_sigmoid_part(ctx, part, log_scale, bias, share, d_rows, dlog_scale, dbias) -> loss
//       [all]
//   cross_entropy_loss(ctx, shape, logits, targets, dlogits or none)
//       -> loss [all] of the class of each row; dlogits may be logits' memory. Where a tensor group cuts the
//       classes, all members call it, each finds the whole loss
//   sum_losses(ctx, losses, slopes or none, weight = 1)
//       -> loss [all] of all numbers; slopes become one
//   token_losses(ctx, seq, logits, targets, z_loss, losses)
//       [rows] the same for each row by itself, with its z loss; losses is (rows, 1): zero where the target is
//       negative
//   token_slopes(ctx, seq, logits, targets, z_loss, slopes, dlogits)
//       [rows] gradients of these, each times its row's slope; dlogits may be the memory of logits
//   squared_error_forward(ctx, seq, factor, x, target, error, y)
//       [rows] error = x - target; y is (samples, 1): factor times the sum of its squares over a sample
//   squared_error_backward(ctx, seq, factor, error, dy, dx)
//       [rows] dx = 2 factor dy error
//   draw_normals(ctx, draws, first, width, scale, to)
//       to(r, c) = scale * element (first + r * width + c) of a random stream, the same bits everywhere;
//       [all] see them when all have returned
//   zero(ctx, pointer, count), sum_of_squares(ctx, pointer, count) -> double
//       [all] over a flat buffer
//   adamw(ctx, weight, gradient, first, second, count, numbers, clear)
//       [all]
//   clamp_to(ctx, pointer, most)
//       [all] the number there is no larger afterwards
//   Of many runs at once (backend/core/flat_runs.hpp), in lists that C::update_list and C::flat_list keep
//   where operations read them:
//   sum_of_squares(ctx, list)
//       -> double [all] of all runs
//   adamw(ctx, list, numbers), adamw(ctx, list, numbers, loss, squares, clip), lion(...) likewise
//       [all] clips by the sums of the step; where they are not finite nothing changes. clamp_to(ctx,
//       pointer, most, loss, squares) does as it does
//   average(ctx, list, decay), average(ctx, list, decay, loss, squares)
//       [all] C::average_list: numbers that follow weights
//   muon(ctx, runs, numbers), muon(ctx, runs, numbers, loss, squares, clip)
//       [all] of matrices, which takes ctx.memory; may be missing
//   begin_numbers(ctx, first, second) -> coming, numbers_of(ctx, coming)
//       [all] what two sums came to; work may begin in between
//   weights_changed(ctx, pointer, count)
//       [all] written otherwise; refresh_weights(ctx) comes before products

namespace motet {

enum class activation : std::uint8_t { none, gelu, gelu_tanh, quick_gelu, relu, silu };
enum class norm_kind : std::uint8_t { layer, rms };
enum class mask_kind : std::uint8_t { full, causal };
enum class pick : std::uint8_t { first, last };

// Calls run with the kind as a type, so that what it does holds no switch.
MOTET_CALLS_EITHER template <class Run>
MOTET_HOST_DEVICE void for_activation(activation kind, Run&& run) {
  switch (kind) {
    case activation::none: return run(std::integral_constant<activation, activation::none>{});
    case activation::gelu: return run(std::integral_constant<activation, activation::gelu>{});
    case activation::gelu_tanh: return run(std::integral_constant<activation, activation::gelu_tanh>{});
    case activation::quick_gelu: return run(std::integral_constant<activation, activation::quick_gelu>{});
    case activation::relu: return run(std::integral_constant<activation, activation::relu>{});
    case activation::silu: return run(std::integral_constant<activation, activation::silu>{});
  }
}

// Backward of a norm makes these besides dx, in the same pass where the backend can. An empty one is not
// wanted.
template <class Value, class Master>
struct norm_also {
  matrix<Value> normed;          // (rows, width), what forward made
  const Master* bias = nullptr;  // of normed, or none
  matrix<Value> rounded;         // (rows, width), dx again
  matrix<Master> sums;           // of gradients of gain and bias, see norm_sums
};

struct attention_shape {
  isize heads = 1;
  isize kv_heads = 1;
  isize head_width = 1;
  // causal: the last query of a sample sees all its keys, the one before it all but one, ...
  mask_kind mask = mask_kind::full;
  double scale = 0;  // 0 stands for 1 / sqrt(head_width)
};

// The pairs of numbers of a head turn with their position: pair i of `half` by base^(-i / half).
struct rotary_angles {
  double base = 10000;
  // Slow pairs turn slower by this factor, so that positions beyond those of training fall within them, as
  // released Llama 3 models have it: those that made no more than `slow` turns within the context of training
  // by all of it, those that made `fast` turns not at all. Where no context is given, all pairs alike.
  double factor = 1, slow = 1, fast = 4;
  isize context = 0;

  constexpr rotary_angles(double of_base) : base(of_base) {}
  constexpr rotary_angles(double of_base, double by, double none_below, double all_above, isize trained)
      : base(of_base), factor(by), slow(none_below), fast(all_above), context(trained) {}

  MOTET_HOST_DEVICE double of(isize pair, isize half) const {
    const double angle = std::pow(base, -static_cast<double>(pair) / static_cast<double>(half));
    if (factor == 1) return angle;
    if (context == 0) return angle / factor;
    const double turns = static_cast<double>(context) * angle * 0.15915494309189533577;  // 1 / (2 pi)
    const double whole = (turns - slow) / (fast - slow), kept = whole < 0 ? 0 : whole < 1 ? whole : 1;
    return angle * (kept + (1 - kept) / factor);
  }
};

// Positions of pictures as they were learned: those of a square grid, behind rows that have no place in it.
struct grid_table {
  isize lead = 0;
  isize side = 1;  // points of a side of the grid
};

struct patch_geometry {
  isize channels = 3;
  isize side = 0;   // of the square picture
  isize patch = 0;  // side of a patch
  isize lead = 0;   // rows left zero before a sample's patches (class token)
};

// How fast column i of `half` turns with the position in time, rounded as the tables are that models of
// Whisper's form were trained with: the angle is their product in single precision.
MOTET_HOST_DEVICE inline float time_speed(isize i, isize half) {
  const auto step = static_cast<float>(-9.210340371976184 / static_cast<double>(half - 1));  // - log 10000
  return static_cast<float>(std::exp(static_cast<double>(step * static_cast<float>(i))));
}

// Three neighbours along time, in samples of `length` rows each, one such window every `stride` rows.
struct row_windows {
  isize length = 0;
  isize stride = 1;
  static constexpr isize taps = 3;
  MOTET_HOST_DEVICE constexpr isize rows() const { return length == 0 ? 0 : (length - 1) / stride + 1; }
};

// Pictures are mixed with noise, or become the way from the picture to its noise.
enum class noise_mix : std::uint8_t { noised, velocity };

// Classes that rows of logits choose from, such as the tokens of a vocabulary; the columns of logits may be
// some of them.
struct cross_entropy_shape {
  isize classes = 0;            // of all members of the tensor group; 0: as many as columns
  isize first = 0;              // class of the first column
  std::int32_t ignored = -100;  // the target of rows that count nothing
  double smoothing = 0;         // how much of the target's probability is spread evenly over all classes
  double share = 1;             // of one row in the loss: one over the rows of the step that count
};

// What the logits of a row lose besides its surprise: this weight times the square of the logarithm of the
// sum of their exponentials, which keeps logits from drifting all together. Without a weight, what is
// computed is the same to the bit.
struct z_loss {
  double weight = 0;
  template <class T>
  MOTET_HOST_DEVICE constexpr T of(T log_sum) const {
    return weight > 0 ? static_cast<T>(weight) * log_sum * log_sum : T(0);
  }
  // In the gradient, the probability of each token counts so many times.
  template <class T>
  MOTET_HOST_DEVICE constexpr T times(T log_sum) const {
    return weight > 0 ? 1 + 2 * static_cast<T>(weight) * log_sum : T(1);
  }
};

}  // namespace motet
