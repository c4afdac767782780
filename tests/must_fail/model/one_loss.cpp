// SPDX-License-Identifier: Apache-2.0
// expect: motet: a model of modules and edges says its losses
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using net = model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
