// SPDX-License-Identifier: Apache-2.0

// The model of the folder that this program was built for (-DMOTET_EMBED_HF=DIR).
#include "hearing.hpp"
#include "language.hpp"
#include "pairs.hpp"
#include "seeing.hpp"

#include <imported_model.hpp>

namespace motet::embed {
namespace {

template <class Model>
void run(const options& given) {
  using net = typename Model::template module_at<0>::net;
  if constexpr (requires { net::most_sounds; }) {
    hear<Model>(given);
  } else {
    if (!given.sounds.empty())
      fail(embed_input, "--sounds " + given.sounds + ", and this model hears nothing");
    if constexpr (requires { net::most_pictures; }) speak_of_pictures<Model>(given);
    else if constexpr (is_own_loss<typename Model::loss>) speak<Model>(given);
    else embed_pairs<Model>(given);
  }
}

}  // namespace

void embed_imported(const options& given) { run<imported_model::model>(given); }

}  // namespace motet::embed
