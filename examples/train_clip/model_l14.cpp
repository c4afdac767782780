// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <motet/run/pair_session.hpp>

#include "../embed/typed_towers.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_l14(const session_request& wanted) {
  return make_pair_session<cpu::device, l14_picture, l14_caption>("l14", wanted);
}

}  // namespace motet::train_clip

namespace motet::embed {

template <class Loss>
using l14_pair = pair_model<train_clip::l14_picture, train_clip::l14_caption, Loss>;

std::unique_ptr<saved_towers> open_l14(const checkpoint& from, int threads) {
  return open_towers<l14_pair>(from, threads);
}

}  // namespace motet::embed
