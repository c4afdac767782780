// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/attention/continued_attention.hpp>
#include <motet/backend/cpu/rows/position.hpp>
#include <motet/tensor/random.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/deviation.hpp"
#include "../../../../laws/each_kernel.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

template <class T>
std::vector<T> drawn(isize count, std::uint64_t name) {
  std::vector<T> out;
  const random_stream draws(5, name);
  for (isize i = 0; i < count; ++i)
    out.push_back(static_cast<T>(static_cast<float>(draws.normal(static_cast<std::uint64_t>(i)))));
  return out;
}

// Calls piece(ctx, first row, rows) for rows in pieces of these sizes, each behind those before it.
template <class T, class Piece>
void in_pieces(int threads, cpu::key_value_cache<T>& cache, std::initializer_list<isize> sizes,
               Piece&& piece) {
  cache.clear();
  for (const isize rows : sizes) {
    const auto body = [&](cpu::context& ctx) {
      cpu::continue_rows(ctx, cache, {}, [&](auto& here) { piece(here, cache.rows(), rows); });
    };
    isize scratch = 0;
    for (int t = 0; t < threads; ++t) {
      cpu::context dry;
      dry.thread = t;
      dry.threads = threads;
      body(dry);
      scratch = std::max(scratch, dry.scratch.peak());
    }
    laws::cpu_run(threads, 0, scratch, body);
    cache.add(rows);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("rows in pieces attend as all at once, whatever the heads", T, float, bf16, double) {
  const double near = sizeof(T) == 2 ? 2e-2 : sizeof(T) == 4 ? 1e-5 : 1e-12;
  using real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr isize rows = 23;
  const sequences seq{1, rows, nullptr};
  laws::with_each_kernel([&] {
    for (const attention_shape shape :
         {attention_shape{4, 2, 6, mask_kind::causal, 0}, attention_shape{3, 1, 16, mask_kind::causal, 0.3},
          attention_shape{2, 2, 65, mask_kind::causal, 0}}) {
      const isize wide = shape.heads * shape.head_width, narrow = shape.kv_heads * shape.head_width;
      // queries | keys | values, as a net has them
      const isize packed = wide + 2 * narrow;
      const auto qkv = drawn<T>(rows * packed, 1);
      const auto columns = [&](isize first, isize count, isize from, isize some) {
        return matrix<const T>{qkv.data() + from * packed + first, some, count, packed};
      };
      std::vector<T> whole(as_size(rows * wide)), pieces(whole.size());
      std::vector<real> lse(as_size(rows * shape.heads));
      const auto to = [&](std::vector<T>& of, isize from, isize some) {
        return matrix<T>{of.data() + from * wide, some, wide, wide};
      };
      laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
        attention_forward(ctx, seq, seq, shape, columns(0, wide, 0, rows), columns(wide, narrow, 0, rows),
                          columns(wide + narrow, narrow, 0, rows), to(whole, 0, rows),
                          matrix<real>{lse.data(), rows, shape.heads, shape.heads});
      });
      cpu::key_value_cache<T> cache(1, shape.kv_heads, shape.head_width, rows);
      for (const int threads : {1, 2, 5}) {
        CAPTURE(threads);
        in_pieces(threads, cache, {7, 1, 1, 12, 2}, [&](auto& ctx, isize from, isize some) {
          const sequences piece{1, some, nullptr};
          attention_forward(ctx, piece, piece, shape, columns(0, wide, from, some),
                            columns(wide, narrow, from, some), columns(wide + narrow, narrow, from, some),
                            to(pieces, from, some),
                            matrix<real>{lse.data() + from * shape.heads, some, shape.heads, shape.heads});
        });
        CHECK(laws::off_by(pieces, whole, true) <= near);
      }
    }
  });
}

TEST_CASE("positions go on where the rows before ended, turned and learned") {
  constexpr isize rows = 9, width = 8;
  const sequences seq{1, rows, nullptr};
  const auto start = drawn<float>(rows * width, 1), table = drawn<float>(rows * width, 2);
  const rotary_angles angles{100, 4, 1, 4, 64};
  std::vector<float> whole = start;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    const matrix<float> x{whole.data(), rows, width, width};
    position_forward(ctx, seq, matrix<const float>{table.data(), rows, width, width}, x);
    rotary(ctx, seq, 4, angles, 1, x);
  });
  cpu::key_value_cache<float> cache(1, 2, 4, rows);
  std::vector<float> pieces = start;
  in_pieces(2, cache, {4, 1, 1, 3}, [&](auto& ctx, isize from, isize some) {
    const sequences piece{1, some, nullptr};
    const matrix<float> x{pieces.data() + from * width, some, width, width};
    position_forward(ctx, piece, matrix<const float>{table.data(), rows, width, width}, x);
    rotary(ctx, piece, 4, angles, 1, x);
  });
  CHECK(laws::off_by(pieces, whole, true) <= 1e-6);
}

}  // namespace motet
