// SPDX-License-Identifier: Apache-2.0
// expect: a net cannot have more stages than layers.*MT-P09
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/core/shape.hpp>

using namespace motet;

using net = vit<vit_config{.layers = 6}>;

#ifdef MOTET_BREAK
constexpr pipeline_shape shape{.stages = 4, .microbatches = 8, .chunks = 2};
#else
constexpr pipeline_shape shape{.stages = 3, .microbatches = 9, .chunks = 2};
#endif

static_assert(require<check_layers(shape, net::layers)>);
