// SPDX-License-Identifier: Apache-2.0
// expect: motet: a module ends in one loss; see the words of the_rule_is_broken [MT-M16]
#include "small_graph.hpp"

using left = module<"left", vit<sight>>;
using right = module<"right", vit<sight>>;

#ifdef MOTET_BREAK
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<info_nce, "left", "right">, loss<next_token, "talk">, loss<next_token, "talk">>;
#else
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<info_nce, "left", "right">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
