// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/attention.hpp>

#include <doctest/doctest.h>

#include "gpu_attention_laws.hpp"

namespace motet {
namespace {

using laws::attention_layout, laws::attention_case, laws::attention_allowed, laws::check_attention;

constexpr attention_shape shape(isize heads, isize kv_heads, isize width, mask_kind mask, double scale = 0) {
  return {heads, kv_heads, width, mask, scale};
}

TEST_CASE_TEMPLATE("ragged samples, also without rows, against the CPU", T, float, bf16, double) {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal})
    for (const attention_layout how :
         {attention_layout::apart, attention_layout::fused, attention_layout::over})
      check_attention<T>({shape(2, 1, 16, mask), {5, 0, 1, 70, 0}, {5, 0, 1, 70, 0}}, how,
                         attention_allowed<T>);
}

TEST_CASE_TEMPLATE("queries and keys of other lengths", T, float, bf16, double) {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal}) {
    // Under a causal mask some queries see no key, and some keys of the first sample are seen by all.
    check_attention<T>({shape(1, 1, 8, mask), {3, 66, 4, 0, 1}, {67, 2, 0, 3, 40}}, attention_layout::apart,
                       attention_allowed<T>);
    check_attention<T>({shape(4, 2, 8, mask), {1, 1, 1}, {9, 0, 33}}, attention_layout::over,
                       attention_allowed<T>);
  }
}

TEST_CASE_TEMPLATE("samples of one length, several heads for one of keys, a scale", T, float, bf16, double) {
  check_attention<T>({shape(6, 2, 24, mask_kind::full, 0.3), {19, 19, 19}, {19, 19, 19}, true},
                     attention_layout::fused, attention_allowed<T>);
  check_attention<T>({shape(4, 1, 24, mask_kind::causal, 0.3), {7, 7}, {40, 40}, true},
                     attention_layout::apart, attention_allowed<T>);
}

TEST_CASE_TEMPLATE("heads of many widths", T, float, bf16, double) {
  for (const isize width : {1, 7, 20, 33, 64, 72, 80, 88, 120, 128, 136, 256})
    check_attention<T>({shape(2, 1, width, width % 2 == 0 ? mask_kind::full : mask_kind::causal), {18}, {18}},
                       attention_layout::over, attention_allowed<T>);
}

TEST_CASE_TEMPLATE("several tiles of keys and queries", T, float, bf16, double) {
  check_attention<T>({shape(1, 1, 16, mask_kind::causal), {150}, {201}}, attention_layout::apart,
                     attention_allowed<T>);
  check_attention<T>({shape(2, 1, 8, mask_kind::full), {131, 64}, {129, 128}}, attention_layout::apart,
                     attention_allowed<T>);
}

TEST_CASE("large scores do not overflow") {
  check_attention<float>({shape(1, 1, 16, mask_kind::causal, 4.0), {70}, {70}}, attention_layout::apart, 1e-3,
                         4);
}

TEST_CASE("nothing to do") {
  for (const attention_case& p : {attention_case{shape(2, 1, 8, mask_kind::full), {}, {}},
                                  attention_case{shape(2, 1, 8, mask_kind::full), {0, 0}, {0, 0}},
                                  attention_case{shape(2, 1, 8, mask_kind::causal), {0, 0}, {3, 0}},
                                  attention_case{shape(2, 1, 8, mask_kind::full), {0, 3}, {0, 0}}})
    for (const attention_layout how : {attention_layout::apart, attention_layout::over})
      check_attention<float>(p, how, 1e-6), check_attention<bf16>(p, how, 1e-6);
}

TEST_CASE("wider heads are refused") {
  CHECK_THROWS_WITH(
      check_attention<float>({shape(1, 1, 257, mask_kind::full), {2}, {2}}, attention_layout::apart, 1),
      doctest::Contains("MT-B19"));
}

}  // namespace
}  // namespace motet
