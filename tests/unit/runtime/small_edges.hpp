// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/graph.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/vit_rows.hpp>

#include "small_sight.hpp"

// The language model that sees (small_sight.hpp) has its eye and glue here as modules of their own.

template <class Net, bool Frozen>
using kept_if = std::conditional_t<Frozen, motet::frozen<Net>, Net>;

template <class Net, bool Halved>
using halved_if = std::conditional_t<Halved, motet::in_halves<Net>, Net>;

template <bool EyeFrozen = false, bool TalkFrozen = false, bool Halved = false>
using small_fed_speech = motet::model<
    motet::modules<motet::module<"eye", kept_if<halved_if<motet::vit_rows<small_sight_eye, true, 2>, Halved>,
                                                EyeFrozen>>,
                   motet::module<"glue", motet::projector<8, 16, 12>>,
                   motet::module<"talk", kept_if<halved_if<motet::fed_decoder<small_sight_words, 10>, Halved>,
                                                 TalkFrozen>>>,
    motet::edge<"eye", "glue">, motet::edge<"glue", "talk">, motet::loss<motet::next_token, "talk">>;
