// SPDX-License-Identifier: Apache-2.0
// expect: motet: this device has no operations for pictures of any shape [MT-N33]
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/layers/patch_embedding.hpp>

namespace elsewhere {

// It has all that squares ask for.
struct context : motet::cpu::context {};
template <class... Of>
void grid_sine_forward(context&, const Of&...) = delete;

}  // namespace elsewhere

#ifdef MOTET_BREAK
using context = elsewhere::context;
#else
using context = motet::cpu::context;
#endif

using embed =
    motet::patch_embedding<motet::patch_config{.image = 4, .patch = 2, .width = 8, .most_patches = 6}>;

void fill(context& ctx, const motet::pictures& batch, motet::view<float, 8> y) {
  embed::saved<motet::fp32> saved;
  embed::forward(ctx, motet::weights<motet::fp32>{nullptr}, batch, y, saved);
}
