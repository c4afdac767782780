// SPDX-License-Identifier: Apache-2.0
// expect: motet: this device has not been tried with attention to rows of another module [MT-N24]
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/layers/cross_attention.hpp>

namespace elsewhere {

struct context : motet::cpu::context {
  static constexpr bool looks_beside = false;
};

}  // namespace elsewhere

#ifdef MOTET_BREAK
using context = elsewhere::context;
#else
using context = motet::cpu::context;
#endif

using look = motet::cross_attention<motet::attention_config{.width = 8, .heads = 2}, 4>;

void run(context& ctx, const motet::sequences& seq, motet::view<const float, 8> x, motet::view<float, 8> y) {
  look::saved<motet::fp32> saved;
  look::forward(ctx, motet::weights<motet::fp32>{nullptr}, seq, x, y, saved);
}
