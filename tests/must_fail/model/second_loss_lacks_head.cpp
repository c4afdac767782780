// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss asks for modules that end as it needs them; see the words of the_rule_is_broken [MT-M06]
#include "small_graph.hpp"

using left = module<"left", vit<sight>>;
using right = module<"right", vit<sight>>;

#ifdef MOTET_BREAK
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<next_token, "left">, loss<next_token, "talk">, loss<next_token, "right">>;
#else
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<next_token, "talk">, loss<info_nce, "left", "right">>;
#endif

static_assert(net::size > 0);
