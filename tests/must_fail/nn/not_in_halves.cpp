// SPDX-License-Identifier: Apache-2.0
// expect: motet: blocks are cut in halves where they are layers one behind the other [MT-S27]
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/vit.hpp>

using eye = motet::vit<motet::vit_config{.image = 4, .patch = 2, .width = 8, .layers = 2, .heads = 2}>;

// Like a tower, with blocks of one layer.
struct flat : eye {
  using body = motet::repeat<motet::linear<8, 8>, 2>;
};

#ifdef MOTET_BREAK
using cut = motet::in_halves<flat>;
#else
using cut = motet::in_halves<eye>;
#endif

static_assert(cut::layers > 2);
