// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/library_attention.hpp>

#include <doctest/doctest.h>

#include "gpu_attention_laws.hpp"

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using laws::attention_layout, laws::check_attention, laws::gpu;

constexpr attention_shape shape(isize heads, isize kv_heads, isize width, mask_kind mask = mask_kind::full,
                                double scale = 0) {
  return {heads, kv_heads, width, mask, scale};
}
constexpr double allowed = laws::attention_allowed<bf16>;
motet::cuda::attention_recipes& recipes() { return gpu().part<motet::cuda::attention_recipes>(); }

TEST_CASE("rows that are no multiple of 16 bytes apart stay with our kernels") {
  CHECK(recipes().describe().find("cuDNN") != std::string::npos);
  const isize before = recipes().runs();
  // y has odd gaps there
  check_attention<bf16>({shape(4, 2, 16), {9, 9}, {9, 9}, true}, attention_layout::fused, allowed);
  CHECK(recipes().runs() == before);
}

// Tells how often the library was asked, forward and backward; and which it is, as real ones may take other
// shapes than the fake.
struct calls {
  isize count;
  bool operator==(isize wanted) const { return count == wanted; }
};
std::ostream& operator<<(std::ostream& to, const calls& of) {
  return to << of.count << " calls; " << recipes().describe();
}
// While attention was compared with the CPU's.
calls asked(const laws::attention_case& p, attention_layout how = attention_layout::fused) {
  const isize before = recipes().runs();
  check_attention<bf16>(p, how, allowed, 1, 8);
  return {recipes().runs() - before};
}

// Backward of ragged samples is Hopper's.
isize of_ragged() {
  int chip = 0;
  motet::cuda::check(cudaDeviceGetAttribute(&chip, cudaDevAttrComputeCapabilityMajor, gpu().gpu()),
                     "cudaDeviceGetAttribute");
  return chip >= 9 ? 2 : 1;
}

TEST_CASE("samples of one length, with and without a mask") {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal}) {
    CHECK(asked({shape(2, 2, 16, mask), {19, 19, 19}, {19, 19, 19}, true}) == 2);
    CHECK(asked({shape(6, 2, 24, mask, 0.3), {7, 7}, {40, 40}, true}, attention_layout::apart) == 2);
    // fills tiles: no lengths are told
    CHECK(asked({shape(2, 1, 8, mask), {128}, {128}, true}, attention_layout::over) == 2);
  }
}

TEST_CASE("ragged samples, also without rows") {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal})
    for (const attention_layout how :
         {attention_layout::apart, attention_layout::fused, attention_layout::over}) {
      CHECK(asked({shape(2, 1, 16, mask), {5, 0, 1, 70, 0}, {5, 0, 1, 70, 0}}, how) == of_ragged());
      CHECK(asked({shape(3, 3, 8, mask), {0, 0, 33}, {0, 0, 33}}, how) == of_ragged());
    }
}

TEST_CASE("queries and keys of other lengths") {
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal}) {
    CHECK(asked({shape(4, 2, 8, mask), {1, 30, 4}, {9, 67, 4}}, attention_layout::apart) == of_ragged());
    CHECK(asked({shape(4, 2, 8, mask), {1, 1, 1}, {9, 1, 33}}, attention_layout::apart) == of_ragged());
    CHECK(asked({shape(4, 2, 8, mask), {1, 1, 1}, {9, 9, 9}, true}, attention_layout::apart) == 2);
    CHECK(asked({shape(4, 2, 64, mask), {1, 1, 1}, {257, 257, 257}, true}, attention_layout::apart) == 2);
  }
}

TEST_CASE("what the library answers wrongly stays with our kernels") {
  // queries of a sample without keys
  CHECK(asked({shape(2, 2, 8, mask_kind::full), {3, 4}, {3, 0}}, attention_layout::apart) == 0);
  // keys that nobody sees
  CHECK(asked({shape(2, 2, 8, mask_kind::full), {3, 0}, {3, 4}}, attention_layout::apart) == 0);
  // the first queries see no key
  CHECK(asked({shape(2, 2, 8, mask_kind::causal), {3, 9}, {3, 4}}, attention_layout::apart) == 0);
  // backward of a single pair
  CHECK(asked({shape(2, 2, 8, mask_kind::full), {1}, {1}, true}) == 1);
}

TEST_CASE("a fixed order of sums") {
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  settings.deterministic = true;
  CHECK(asked({shape(2, 1, 16, mask_kind::causal), {5, 0, 1, 70}, {5, 0, 1, 70}}) == of_ragged());
  CHECK(asked({shape(2, 2, 16, mask_kind::full), {19, 19, 19}, {19, 19, 19}, true}) == 2);
  settings.deterministic = false;
}

TEST_CASE("a recipe serves batches of other lengths") {
  const isize before = recipes().made();
  CHECK(asked({shape(2, 2, 32, mask_kind::causal), {50, 3, 9}, {50, 3, 9}}) == of_ragged());
  CHECK(asked({shape(2, 2, 32, mask_kind::causal), {7, 1, 64}, {7, 1, 64}}) == of_ragged());
  CHECK(recipes().made() == before + of_ragged());
  CHECK(asked({shape(2, 2, 32, mask_kind::causal), {7, 1, 65}, {7, 1, 65}}) == of_ragged());
  CHECK(recipes().made() == before + 2 * of_ragged());
}

#if !defined(__CUDACC__)
TEST_CASE("where all heads at once take too much memory, they go in parts, or to our kernels") {
  auto& settings = gpu().part<motet::cuda::attention_settings>();
  const laws::attention_case p{shape(12, 6, 16, mask_kind::causal), {21, 40, 0, 3}, {21, 40, 0, 3}};
  const isize usual = settings.workspace;
  settings.deterministic = true;
  CHECK(asked(p) == 2);
  // the fake's, for one head of keys: scores, and our sums of rows
  const isize head = 3 * 64 * (2 * 2 * 64 + 2 * 4);
  settings.workspace = 6 * head;
  CHECK(asked(p) == 1 + 2);
  settings.workspace = 2 * head;
  CHECK(asked(p) == 1 + 6);
  settings.workspace = 1 << 10;
  CHECK(asked(p) == 1);
  settings.workspace = usual, settings.deterministic = false;
}

#endif

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN it does nothing") { CHECK_FALSE(motet::cuda::detail::has_library_attention); }

#endif
