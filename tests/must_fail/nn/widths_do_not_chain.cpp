// SPDX-License-Identifier: Apache-2.0
// expect: motet: a layer's input width must be the output width of the layer before it; see the words of the_rule_is_broken [MT-N05]
// words: "a layer takes
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/norm.hpp>

#ifdef MOTET_BREAK
using net = motet::sequential<motet::linear<8, 16>, motet::layer_norm<12>, motet::linear<12, 4>>;
#else
using net = motet::sequential<motet::linear<8, 16>, motet::layer_norm<16>, motet::linear<16, 4>>;
#endif

static_assert(net::out == 4);
