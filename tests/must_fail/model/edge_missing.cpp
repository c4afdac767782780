// SPDX-License-Identifier: Apache-2.0
// expect: motet: a module that takes rows has an edge into it; see the words of the_rule_is_broken [MT-M13]
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using net = model<modules<glue, talk>, edge<"glue", "talk">, loss<next_token, "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
