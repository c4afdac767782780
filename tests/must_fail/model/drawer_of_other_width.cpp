// SPDX-License-Identifier: Apache-2.0
// expect: motet: rows enter a module with the width that they left another with; see the words of the_rule_is_broken [MT-M10]
#include <motet/model/graph.hpp>
#include <motet/nn/towers/decoder_rows.hpp>
#include <motet/nn/towers/fed_drawer.hpp>

using namespace motet;

inline constexpr decoder_config words{.vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2};
inline constexpr drawer_config canvas{.image = 8, .width = 16, .layers = 1, .heads = 2, .classes = 0};

#ifdef MOTET_BREAK
using draw = module<"draw", fed_drawer<canvas, 16, 8>>;
#else
using draw = module<"draw", fed_drawer<canvas, 32, 8>>;
#endif

using net =
    model<modules<module<"words", decoder_rows<words>>, draw>, edge<"words", "draw">, loss<denoise, "draw">>;

static_assert(net::size == 2);
