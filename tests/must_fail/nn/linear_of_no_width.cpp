// SPDX-License-Identifier: Apache-2.0
// expect: motet: sizes of a net must be positive [MT-N04]
#include <motet/nn/layers/linear.hpp>

#ifdef MOTET_BREAK
using net = motet::linear<8, 0>;
#else
using net = motet::linear<8, 1>;
#endif

static_assert(net::in == 8);
