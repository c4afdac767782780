// SPDX-License-Identifier: Apache-2.0
// expect: motet: every module leads to a loss; see the words of the_rule_is_broken [MT-M12]
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using idle = module<"idle", vit_rows<sight>>;
using net = model<modules<eye, glue, talk, idle>, edge<"eye", "glue">, edge<"glue", "talk">,
                  loss<next_token, "talk">>;
#else
using net =
    model<modules<eye, glue, talk>, edge<"eye", "glue">, edge<"glue", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
