// SPDX-License-Identifier: Apache-2.0
// expect: motet: this device has no operations for nets that draw [MT-N20]
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/drawer.hpp>

namespace elsewhere {

struct context {
  motet::arena memory;
  template <class T>
  static constexpr motet::isize product_columns = 1;
};

}  // namespace elsewhere

#ifdef MOTET_BREAK
using context = elsewhere::context;
#else
using context = motet::cpu::context;
#endif

using net = motet::drawer<motet::drawer_config{.image = 4, .width = 8, .layers = 1, .heads = 1}>;

void embed(context& ctx, const motet::drawn_pictures& batch, motet::view<float, 8> y) {
  net::embed::saved<motet::fp32> saved;
  net::embed::forward(ctx, motet::weights<motet::fp32>{nullptr}, batch, y, saved);
}
