// SPDX-License-Identifier: Apache-2.0
// expect: motet: a module feeds one other; see the words of the_rule_is_broken [MT-M14]
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using more = module<"more", projector<16, 32>>;
using net = model<modules<eye, glue, more, talk>, edge<"eye", "glue">, edge<"eye", "more">,
                  edge<"glue", "talk">, loss<next_token, "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
