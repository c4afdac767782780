// SPDX-License-Identifier: Apache-2.0
// expect: motet: rows enter a module with the width that they left another with; see the words of the_rule_is_broken [MT-M10]
// words: "talk: it takes rows of
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using net = model<modules<eye, talk>, edge<"eye", "talk">, loss<next_token, "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
