// SPDX-License-Identifier: Apache-2.0
// expect: motet: a residual branch must keep the width [MT-N05]
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/linear.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/layers/norm.hpp>

#ifdef MOTET_BREAK
using net = motet::residual<motet::layer_norm<8>, motet::linear<8, 16>>;
#else
using net = motet::residual<motet::layer_norm<8>, motet::mlp<8, 16>>;
#endif

static_assert(net::in == 8);
