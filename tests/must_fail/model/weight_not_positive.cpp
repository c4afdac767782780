// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss weighs more than nothing; see the words of the_rule_is_broken [MT-M17]
#include "small_graph.hpp"

using left = module<"left", vit<sight>>;
using right = module<"right", vit<sight>>;

#ifdef MOTET_BREAK
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<info_nce, "left", "right">, weighted<loss<next_token, "talk">, times{0}>>;
#else
using net = model<modules<eye, glue, talk, left, right>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<info_nce, "left", "right">, weighted<loss<next_token, "talk">, times{0.5}>>;
#endif

static_assert(net::size > 0);
