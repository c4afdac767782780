// SPDX-License-Identifier: Apache-2.0
// expect: motet: this module takes the rows of one other; see the words of the_rule_is_broken [MT-M14]
#include "small_graph.hpp"

#ifdef MOTET_BREAK
using other = module<"other", vit_rows<sight>>;
using net = model<modules<eye, other, glue, talk>, edge<"eye", "glue">, edge<"other", "glue">,
                  edge<"glue", "talk">, loss<next_token, "talk">>;
#else
using other = module<"other", vit_rows<sight>>;
using tube = module<"tube", projector<16, 32>>;
using net = model<modules<eye, other, glue, tube, talk>, edge<"eye", "glue">, edge<"other", "tube">,
                  edge<"glue", "talk">, edge<"tube", "talk">, loss<next_token, "talk">>;
#endif

static_assert(net::size > 0);
