// SPDX-License-Identifier: Apache-2.0
// expect: motet: a residual branch must keep the width [MT-N05]
#include <motet/nn/linear.hpp>
#include <motet/nn/mlp.hpp>
#include <motet/nn/norm.hpp>
#include <motet/nn/residual.hpp>

#ifdef MOTET_BREAK
using net = motet::residual<motet::layer_norm<8>, motet::linear<8, 16>>;
#else
using net = motet::residual<motet::layer_norm<8>, motet::mlp<8, 16>>;
#endif

static_assert(net::in == 8);
