// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/tensor/dtype.hpp>
#include <motet/tensor/view.hpp>

namespace motet::cpu {

// The keys and values of the rows that a net has seen of one sample, for each of its attention layers and
// their heads. Rows of one head follow each other, as each token reads them all.
// Asks for: the layers, their heads of keys and how wide these are, and the most rows that will ever be kept.
// Memory: 2 x layers x heads x head width x rows numbers, taken when it is made.
// Errors: none of its own.
// Example:
//   cpu::key_value_cache<float> cache(2, 4, 16, 128);
//   void forget() { cache.clear(); }
template <class T>
class key_value_cache {
 public:
  key_value_cache() = default;
  key_value_cache(isize layers, isize heads, isize head_width, isize capacity)
      : layers_(layers),
        heads_(heads),
        head_width_(head_width),
        capacity_(capacity),
        memory_(2 * layers * heads * head_width * capacity) {}

  isize layers() const { return layers_; }
  isize heads() const { return heads_; }
  isize head_width() const { return head_width_; }
  isize capacity() const { return capacity_; }
  isize rows() const { return rows_; }
  isize bytes() const { return (memory_.size() + beside_.size()) * static_cast<isize>(sizeof(T)); }
  matrix<T> keys(isize layer, isize head) const { return part(2 * layer * heads_ + head); }
  matrix<T> values(isize layer, isize head) const { return part((2 * layer + 1) * heads_ + head); }

  // Layers that look at rows beside the sample's own keep keys and values of these here: (rows, columns)
  // each.
  void hold_beside(isize rows, isize columns) {
    beside_rows_ = rows, beside_columns_ = columns;
    if (beside_.size() < layers_ * rows * columns) beside_ = buffer<T>(layers_ * rows * columns);
  }
  matrix<T> beside(isize layer) const {
    return {beside_.data() + layer * beside_rows_ * beside_columns_, beside_rows_, beside_columns_,
            beside_columns_};
  }

  // Rows that a pass wrote behind the others count from here on.
  void add(isize rows) { rows_ += rows; }
  void clear() { rows_ = 0; }

 private:
  // (capacity, head width)
  matrix<T> part(isize which) const {
    return {memory_.data() + which * capacity_ * head_width_, capacity_, head_width_, head_width_};
  }
  isize layers_ = 0, heads_ = 0, head_width_ = 0, capacity_ = 0, rows_ = 0, beside_rows_ = 0,
        beside_columns_ = 0;
  buffer<T> memory_, beside_;
};

// A copy of weights in bf16, for products that are as slow as their weights are long.
struct rounded_weights {
  const float* of = nullptr;
  const bf16* copy = nullptr;  // none: there is no copy
  const bf16* at(const float* weight) const { return copy == nullptr ? nullptr : copy + (weight - of); }
};

// A context on which a pass runs the rows that follow those in a cache: nets run on it as they are, and the
// operations for which it matters what came before have overloads for it. So any net is continued, whatever
// its layers are called, and a program that does not continue one compiles nothing of it.
// A pass has the rows of one sample. Operations on rows are then one thread's; products and attention, which
// are all the work, are shared by columns and heads, and meet at both ends.
template <class T>
struct continued_context : context {
  continued_context(const context& from, const key_value_cache<T>& kept, rounded_weights weights = {})
      : context(from), cache(&kept), rounded(weights) {}
  const key_value_cache<T>* cache;
  rounded_weights rounded;
  isize layer = 0;   // attention layers of this pass so far
  isize looked = 0;  // and those that look at rows beside

  // What a layer makes of rows beside lies in the cache; all passes but the first find it there.
  template <isize Columns>
  bool keeps_beside(view<T, Columns>& kv) {
    const matrix<T> kept = cache->beside(looked++);
    kv = {kept.data, kept.rows};
    return !measuring() && cache->rows() > 0;
  }

  // This one is for rows that follow none, such as those of a picture.
  context& apart() { return *this; }

  // Rows before those of this pass. A dry run is of the longest pass that the cache has room for.
  isize past(isize rows) const { return measuring() ? cache->capacity() - rows : cache->rows(); }
};

// function(continued context), which takes its memory from that of ctx.
template <class T, class Function>
void continue_rows(context& ctx, const key_value_cache<T>& cache, rounded_weights weights,
                   Function&& function) {
  continued_context<T> here(ctx, cache, weights);
  function(here);
  static_cast<context&>(ctx) = here;  // with what was taken at most
}

}  // namespace motet::cpu
