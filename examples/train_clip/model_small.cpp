// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <motet/run/pair_session.hpp>

#include "../embed/typed_towers.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_small(const session_request& wanted) {
  return make_pair_session<cpu::device, small_picture, small_caption>("small", wanted);
}

}  // namespace motet::train_clip

namespace motet::embed {

template <class Loss>
using small_pair = pair_model<train_clip::small_picture, train_clip::small_caption, Loss>;

std::unique_ptr<saved_towers> open_small(const checkpoint& from, int threads) {
  return open_towers<small_pair>(from, threads);
}

}  // namespace motet::embed
