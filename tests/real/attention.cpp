// SPDX-License-Identifier: Apache-2.0
// no GPUs
// Graphs of attention before the real cuDNN, which is told of chips that are not here: what it refuses, has
// no kernel for or cannot compile shows. What its kernels compute does not.
#include <motet/backend/cuda/attention/attention_recipes.hpp>
#include <motet/backend/cuda/attention/attention_samples.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/driver/chips.hpp"
#include "train_clip/models.hpp"

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using cuda::detail::attention_problem;

// Asks for a recipe; what it says is listed.
struct library {
  cuda::detail::cudnn_object chip{CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR};
  explicit library(const chips::properties& of) {
    if (cudnnGetVersion() < 91700) std::exit(77);  // too old for our backend, too
    const std::string json = chips::json(of);
    chip.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, json.data(),
             static_cast<std::int64_t>(json.size()));
    REQUIRE(chip.finish());
  }
  bool takes(const attention_problem& problem, isize most_workspace = isize(2) << 30) {
    const cuda::detail::cudnn_attention_recipe recipe({nullptr, &chip}, problem);
    const auto size = [](isize n) { return std::to_string(n); };
    std::string line = problem.backward ? "backward" : "forward";
    for (const auto& [is, word] : {std::pair{!problem.deterministic, ", any order"},
                                   {problem.ragged, ", ragged"},
                                   {problem.padded, ", lengths"},
                                   {problem.causal, ", causal"},
                                   {problem.ends_meet, " from the ends"}})
      if (is) line += word;
    line += ", " + size(problem.q_rows) + " x " + size(problem.kv_rows) + ", heads " + size(problem.heads) +
            " of " + size(problem.kv_heads);
    MESSAGE(line, ", ", problem.width,
            " wide: ", recipe.usable() ? size(recipe.workspace()) + " bytes" : "no plan: " + recipe.said());
    return recipe.usable() && recipe.workspace() <= most_workspace;
  }
};

// Heads of one matrix of queries, keys and values, and of a matrix of gradients like it.
attention_problem fused(bool backward, isize samples, isize rows, isize heads, isize kv_heads, isize width) {
  attention_problem p;
  p.backward = backward;
  p.samples = samples, p.q_rows = p.kv_rows = rows, p.heads = heads, p.kv_heads = kv_heads, p.width = width;
  const isize out = heads * width, all = out + 2 * kv_heads * width;
  for (const int i : {0, 1, 2, 6, 7, 8}) p.strides[i] = all;
  p.strides[3] = p.strides[5] = out, p.strides[4] = heads;
  return p;
}
// One query for each sample, of a matrix of its own, against keys and values of another.
attention_problem picked(bool backward, isize samples, isize rows, isize heads, isize width) {
  attention_problem p;
  p.backward = backward;
  p.samples = samples, p.q_rows = 1, p.kv_rows = rows, p.heads = p.kv_heads = heads, p.width = width;
  for (const int i : {0, 3, 5, 6}) p.strides[i] = heads * width;
  for (const int i : {1, 2, 7, 8}) p.strides[i] = 2 * heads * width;
  p.strides[4] = heads;
  return p;
}
attention_problem ragged(attention_problem of) {
  of.q_rows = cuda::detail::recipe_rows(of.q_rows);
  of.kv_rows = cuda::detail::recipe_rows(of.kv_rows);
  of.ragged = of.padded = true;
  return of;
}
attention_problem texts(bool backward, isize kv_heads, isize width) {
  attention_problem p = ragged(fused(backward, 256, 77, 8, kv_heads, width));
  p.causal = true;
  return p;
}
// Each way of it that training may ask for.
std::vector<attention_problem> ways(attention_problem of) {
  std::vector<attention_problem> found;
  for (const bool backward : {false, true})
    for (const bool fixed : {true, false}) {
      of.backward = backward, of.deterministic = fixed;
      if (backward || fixed) found.push_back(of);
    }
  return found;
}
bool asks_all() { return std::getenv("MOTET_REAL_ALL") != nullptr; }

// A tower's problems: all rows of a sample, and its last block's one row. Samples of one length have no masks
// of lengths, whatever the length.
struct tower_shapes {
  isize rows, heads, width;
  bool causal;
  std::vector<attention_problem> uniform(isize samples) const {
    attention_problem whole = fused(false, samples, rows, heads, heads, width),
                      last = picked(false, samples, rows, heads, width);
    whole.causal = causal;
    return {whole, last};
  }
  std::vector<attention_problem> of_many_lengths(isize samples) const {
    std::vector<attention_problem> found;
    for (const attention_problem& each : uniform(samples)) found.push_back(ragged(each));
    return found;
  }
};
tower_shapes tower_of(const vit_config& of) {
  const isize side = of.image / of.patch;
  return {side * side + 1, of.heads, of.width / of.heads, false};
}
tower_shapes tower_of(const text_config& of) { return {of.context, of.heads, of.width / of.heads, true}; }

TEST_CASE("Hopper: the largest model of train_clip at 512 pairs, every way") {
  using namespace train_clip;
  library h200(chips::h200);
  const tower_shapes picture = tower_of(l14_picture), caption = tower_of(l14_caption);
  CHECK(picture.rows == 257);
  CHECK(caption.rows == 77);
  for (const auto& shapes : {picture.uniform(512), caption.uniform(512), caption.of_many_lengths(512)})
    for (const attention_problem& shape : shapes)
      for (const attention_problem& each : ways(shape)) CHECK(h200.takes(each));
}

// MOTET_REAL_ALL tries every way of each; else backward goes as it does by default.
TEST_CASE("Hopper: the other models of train_clip") {
  using namespace train_clip;
  library h200(chips::h200);
  for (const auto& [picture, caption] : {std::pair{b16_picture, b16_caption},
                                         {quick_picture, quick_caption},
                                         {small_picture, small_caption},
                                         {tiny_picture, tiny_caption}}) {
    for (const auto& shapes : {tower_of(picture).uniform(512), tower_of(caption).uniform(512),
                               tower_of(caption).of_many_lengths(512)})
      for (const attention_problem& shape : shapes)
        for (const attention_problem& each : ways(shape)) {
          const bool asked =
              each.backward && !each.deterministic && each.q_rows > 1 && each.causal == each.ragged;
          if (asked || asks_all()) CHECK(h200.takes(each));
        }
  }
}

TEST_CASE("Hopper: heads of all widths that lie in packs") {
  library h200(chips::h200);
  for (isize width = 8; width <= 128; width += 8) {
    attention_problem even = fused(false, 512, 257, 16, 16, width),
                      many = ragged(fused(false, 512, 77, 16, 16, width));
    many.causal = true;
    for (const attention_problem& shape : {even, many})
      for (const attention_problem& each : ways(shape)) {
        const bool asked = each.backward && !each.deterministic && each.ragged == (width % 16 != 0);
        if (asked || asks_all()) CHECK(h200.takes(each));
      }
  }
}

// A sample's logarithms lie apart in heads of a part of all, and in rows with room between them.
TEST_CASE(
    "Hopper: logarithms with room between their rows, gradients that lie apart or over what they are of") {
  library h200(chips::h200);
  for (const bool backward : {false, true}) {
    attention_problem part = fused(backward, 512, 257, 4, 4, 64);  // a quarter of 16 heads
    for (int i = 0; i < attention_problem::most_tensors; ++i) part.strides[i] *= 4;
    CHECK(h200.takes(part));
    attention_problem apart = ragged(fused(backward, 512, 77, 12, 12, 64));
    apart.causal = true;
    apart.strides[4] = 16;
    for (const int i : {6, 7, 8}) apart.strides[i] = 768;
    CHECK(h200.takes(apart));
  }
}

// Shapes that the tests of GPUs count the library's calls for.
TEST_CASE("Hopper: the small shapes of our tests") {
  library h200(chips::h200);
  std::vector<attention_problem> all;
  const auto small = [&](attention_problem of, bool causal) {
    of.causal = causal;
    of.ends_meet = causal && of.q_rows != of.kv_rows;
    of.padded = of.ragged || of.ends_meet;
    all.push_back(of);
  };
  attention_problem longer = fused(false, 2, 7, 6, 2, 24);
  longer.kv_rows = 40;
  for (const bool causal : {false, true}) {
    small(fused(false, 3, 19, 2, 2, 16), causal);
    small(fused(false, 1, 128, 2, 1, 8), causal);
    small(ragged(fused(false, 3, 70, 2, 1, 16)), causal);
    small(longer, causal);
  }
  for (const attention_problem& shape : all)
    for (const attention_problem& each : ways(shape))
      if (each.backward ? each.deterministic : asks_all()) CHECK(h200.takes(each));
}

TEST_CASE("Hopper: queries of other lengths, one pooled row for each sample, wide heads") {
  library h200(chips::h200);
  for (const bool backward : {false, true}) {
    attention_problem ends = texts(backward, 4, 64);
    ends.ends_meet = true, ends.q_rows = 64;
    CHECK(h200.takes(ends));
    attention_problem pooled = texts(backward, 8, 64);
    pooled.causal = false, pooled.q_rows = 1;
    CHECK(h200.takes(pooled));
    CHECK(h200.takes(texts(backward, 8, 256)));
  }
  CHECK_FALSE(h200.takes(texts(true, 8, 264)));
}

TEST_CASE("Hopper: a fixed order of sums is paid for with memory") {
  library h200(chips::h200);
  attention_problem large = fused(true, 8, 4096, 32, 8, 128);
  large.causal = true;
  CHECK_FALSE(h200.takes(large));
  large.heads = 4, large.kv_heads = 1;  // a part of them
  CHECK(h200.takes(large));
  large.heads = 32, large.kv_heads = 8;
  large.deterministic = false;
  CHECK(h200.takes(large, isize(3) << 30));
  attention_problem text = texts(true, 8, 64);
  text.deterministic = false;
  CHECK(h200.takes(text, 200 << 20));
}

// Rules of the fake that stands for the library in our other tests (docs/backend/emulation.md): whatever it
// refuses, the library refuses.
TEST_CASE("the library refuses what the fake refuses of a descriptor") {
  using cuda::detail::cudnn_object;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const std::int64_t number = 1, four = 4, sizes[] = {2, 3, 4, 5}, strides[] = {60, 20, 5, 1};
  const auto tensor = [&](cudnn_object& to) -> cudnn_object& {
    return to.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &number)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &four)
        .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides, 4);
  };
  {
    cudnn_object good(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    CHECK(tensor(good).set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, 4).finish());
    // it is finished
    CHECK_FALSE(good.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type).finish());
  }
  {
    cudnn_object narrow(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor(narrow).set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, 4);
    // less than an element has
    CHECK_FALSE(narrow.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &number).finish());
  }
  {
    cudnn_object without(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    CHECK_FALSE(tensor(without).finish());
  }
  {
    cudnn_object other(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    CHECK_FALSE(other.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_INT64, &number).finish());  // another type
  }
  {
    const cudnnDataType_t two[] = {type, type};
    cudnn_object many(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    CHECK_FALSE(many.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, two, 2).finish());
  }
  {
    cudnn_object foreign(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    CHECK_FALSE(foreign.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type).finish());
  }
  {
    cudnn_object open(CUDNN_BACKEND_TENSOR_DESCRIPTOR), product(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    tensor(open).set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, 4);
    CHECK_FALSE(product.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, open).finish());  // it is not finished
  }
  {
    const std::int64_t ids[] = {1, 2};
    void* const places[] = {nullptr};
    cudnn_object pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids, 2);
    // one place for two names
    CHECK_FALSE(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, places).finish());
  }
}

TEST_CASE("the library has no plan where the fake has none") {
  library h200(chips::h200);
  for (const bool backward : {false, true})
    for (const isize width : {4, 12, 100}) CHECK_FALSE(h200.takes(fused(backward, 4, 64, 2, 2, width)));
  CHECK_FALSE(h200.takes(fused(true, 4, 64, 2, 2, 264)));
  CHECK(h200.takes(fused(false, 4, 64, 2, 2, 264)));
  attention_problem uneven = fused(false, 4, 64, 5, 2, 64);  // heads that no group of keys divides
  CHECK_FALSE(h200.takes(uneven));
}

TEST_CASE("Ampere") {
  library a100(chips::a100);
  for (const bool backward : {false, true}) {
    attention_problem pictures = fused(backward, 256, 197, 12, 12, 64);
    CHECK(a100.takes(pictures));
  }
  CHECK(a100.takes(texts(false, 8, 64)));
  CHECK_FALSE(a100.takes(texts(true, 8, 64)));
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN there is nothing to ask") { std::exit(77); }

#endif
