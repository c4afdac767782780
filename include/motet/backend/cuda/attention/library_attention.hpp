// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/attention/attention_recipes.hpp>
#include <motet/backend/cuda/attention/attention_samples.hpp>
#include <motet/backend/cuda/attention/attention_tile.hpp>

#include <type_traits>

// Attention by cuDNN, of bf16 and heads that lie in packs of 16 bytes, where it has a recipe.

namespace motet::cuda {
namespace detail {

inline const char* attention_name(bool backward) { return backward ? "attention backward" : "attention"; }
inline detour not_in_packs(isize width) {
  if (width % 8 != 0)
    return {"heads are # wide, which is no multiple of 8", width, nullptr, &attention_off_library};
  return detour{"rows do not lie at multiples of 16 bytes"}.with(attention_off_library);
}

// The library's attention takes these of the scratch memory.
struct attention_notes {
  std::int32_t *q_lengths = nullptr, *kv_lengths = nullptr;
  isize* offsets = nullptr;
  isize pitch = 0;
};
template <class T>
attention_notes take_notes([[maybe_unused]] context& ctx, [[maybe_unused]] const sequences& q_seq,
                           [[maybe_unused]] bool backward) {
  attention_notes notes;
#if MOTET_CUDNN_ATTENTION
  if (!std::is_same_v<T, bf16>) return notes;
  notes.pitch = round_up(q_seq.samples + 1, 2);  // offsets of each tensor lie at 16 bytes
  notes.q_lengths = ctx.scratch.take<std::int32_t>(q_seq.samples);
  notes.kv_lengths = ctx.scratch.take<std::int32_t>(q_seq.samples);
  notes.offsets = ctx.scratch.take<isize>(notes.pitch * (backward ? attention_problem::most_tensors : 5));
#endif
  return notes;
}

// The library is told lengths where it has to be. Up to 9.15 that was wherever they do not fill the kernels'
// tiles.
inline bool tells_lengths(bool ragged, bool ends_meet) { return ragged || ends_meet; }
template <class T>
void note_lengths([[maybe_unused]] context& ctx, [[maybe_unused]] const sequences& q_seq,
                  [[maybe_unused]] const sequences& kv_seq, [[maybe_unused]] const attention_shape& shape) {
#if MOTET_CUDNN_ATTENTION
  if (!std::is_same_v<T, bf16> || !ctx.measuring() || shape.heads == 0) return;
  const attention_lengths rows = lengths_of(q_seq, kv_seq, shape.mask == mask_kind::causal);
  const bool ragged = q_seq.offsets != nullptr || kv_seq.offsets != nullptr,
             ends_meet = shape.mask == mask_kind::causal && !rows.alike;
  if (rows.usable && rows.samples > 0 && tells_lengths(ragged, ends_meet))
    ctx.note("attention_lengths", 0, 2 * static_cast<double>(rows.samples) * bytes_of<std::int32_t>);
#endif
}
// Backward moves more by the library's default of any order of sums: gradients of queries in fp32, which are
// cleared, added to and rounded.
template <class T>
double bytes_of_added_queries([[maybe_unused]] const sequences& q_seq,
                              [[maybe_unused]] const attention_shape& shape) {
#if MOTET_CUDNN_ATTENTION
  if (std::is_same_v<T, bf16>)
    return 4 * bytes_of<float> * static_cast<double>(shape.heads * shape.head_width) *
           static_cast<double>(q_seq.rows());
#endif
  return 0;
}

// The result says why the library did not do it; an empty one says that it did.
template <class T>
detour library_attention([[maybe_unused]] context& ctx, [[maybe_unused]] bool backward,
                         [[maybe_unused]] const attention_notes& notes,
                         [[maybe_unused]] const sequences& q_seq, [[maybe_unused]] const sequences& kv_seq,
                         [[maybe_unused]] const attention_shape& shape,
                         [[maybe_unused]] const matrix<const T>* const* of,
                         [[maybe_unused]] const matrix<const float>& lse) {
#if MOTET_CUDNN_ATTENTION
  const bool causal = shape.mask == mask_kind::causal,
             ragged = q_seq.offsets != nullptr || kv_seq.offsets != nullptr;
  const attention_lengths rows = lengths_of(q_seq, kv_seq, causal);
  if (!rows.usable)
    return detour{"queries of a sample see no key, or nobody sees its keys"}.with(attention_off_library);
  if (rows.samples == 0) return {"no sample has rows"};
  attention_problem problem;
  problem.backward = backward;
  problem.ragged = ragged;
  problem.causal = causal;
  problem.ends_meet = causal && !rows.alike;
  problem.samples = rows.samples;
  problem.q_rows = ragged ? recipe_rows(rows.q_most) : rows.q_most;
  problem.kv_rows = ragged ? recipe_rows(rows.kv_most) : rows.kv_most;
  problem.padded = tells_lengths(ragged, problem.ends_meet);
  problem.heads = shape.heads, problem.kv_heads = shape.kv_heads, problem.width = shape.head_width;
  attention_operands with;
  tell_samples tell{rows_for_kernels(ctx, q_seq),
                    rows_for_kernels(ctx, kv_seq),
                    rows.samples,
                    notes.pitch,
                    ragged ? problem.tensors() : 0,
                    0,
                    {},
                    notes.q_lengths,
                    notes.kv_lengths,
                    notes.offsets};
  for (int i = 0, next = 0; i < problem.tensors(); ++i) {
    if (i == 4) {
      problem.strides[i] = lse.stride;
      with.tensors[i] = const_cast<float*>(lse.data);
    } else {
      const matrix<const T>& each = *of[next++];
      if (!in_packs(each.data, shape.head_width, each.stride)) return not_in_packs(shape.head_width);
      problem.strides[i] = each.stride;
      with.tensors[i] = const_cast<T*>(each.data);
    }
    tell.strides[i] = problem.strides[i];
    if (is_of_keys(i)) tell.of_keys |= 1u << i;
  }
  attention_recipes& recipes = ctx.on->part<attention_recipes>();
  isize parts = 1;
  detour why;
  const cudnn_attention_recipe* const recipe = recipes.find(problem, parts, why);
  if (recipe == nullptr) return why;
  if (problem.padded) launch(ctx.stream(), {1, tell_samples::most_threads, block_scratch<isize>}, tell);
  with.q_lengths = notes.q_lengths, with.kv_lengths = notes.kv_lengths, with.offsets = notes.offsets,
  with.pitch = notes.pitch;
  with.scale = static_cast<float>(attention_scale(shape));
  for (isize part = 0; part < parts; ++part) {
    recipes.run(*recipe, with);
    for (int i = 0; i < problem.tensors(); ++i) {
      const isize heads = (is_of_keys(i) ? shape.kv_heads : shape.heads) / parts;
      if (i == 4) with.tensors[i] = static_cast<float*>(with.tensors[i]) + heads;
      else with.tensors[i] = static_cast<T*>(with.tensors[i]) + heads * shape.head_width;
    }
  }
  took(ctx, attention_name(backward), "cuDNN",
       parts == 1 ? detour{} : detour{"heads go in # parts, for their workspace", parts});
  return {};
#else
  return detour{"this program was built without cuDNN from 9.17 on"}.with(attention_library_missing);
#endif
}
template <class T>
detour library_attention_forward(context& ctx, const attention_notes& notes, const sequences& q_seq,
                                 const sequences& kv_seq, const attention_shape& shape,
                                 const matrix<const T>& q, const matrix<const T>& k, const matrix<const T>& v,
                                 const matrix<const T>& y, const matrix<const float>& lse) {
  const matrix<const T>* const of[] = {&q, &k, &v, &y};
  return library_attention(ctx, false, notes, q_seq, kv_seq, shape, of, lse);
}
template <class T>
detour library_attention_backward(context& ctx, const attention_notes& notes, const sequences& q_seq,
                                  const sequences& kv_seq, const attention_shape& shape,
                                  const matrix<const T>& q, const matrix<const T>& k,
                                  const matrix<const T>& v, const matrix<const T>& y,
                                  const matrix<const float>& lse, const matrix<const T>& dy,
                                  const matrix<const T>& dq, const matrix<const T>& dk,
                                  const matrix<const T>& dv) {
  const matrix<const T>* const of[] = {&q, &k, &v, &y, &dy, &dq, &dk, &dv};
  return library_attention(ctx, true, notes, q_seq, kv_seq, shape, of, lse);
}

}  // namespace detail
}  // namespace motet::cuda
