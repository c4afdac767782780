// SPDX-License-Identifier: Apache-2.0
// expect: motet: modules may not feed each other in a circle; see the words of the_rule_is_broken [MT-M11]
// words: "loop"
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using loop = module<"loop", linear<32, 32>>;
using back = module<"back", linear<32, 32>>;
using net = model<modules<eye, glue, talk, loop, back>, edge<"eye", "glue">, edge<"glue", "talk">,
                  edge<"loop", "back">, edge<"back", "loop">, loss<next_token, "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
