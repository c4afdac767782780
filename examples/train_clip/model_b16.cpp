// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <motet/run/pair_session.hpp>

#include "../embed/typed_towers.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_b16(const session_request& wanted) {
  return make_pair_session<cpu::device, b16_picture, b16_caption>("b16", wanted);
}

}  // namespace motet::train_clip

namespace motet::embed {

template <class Loss>
using b16_pair = pair_model<train_clip::b16_picture, train_clip::b16_caption, Loss>;

std::unique_ptr<saved_towers> open_b16(const checkpoint& from, int threads) {
  return open_towers<b16_pair>(from, threads);
}

}  // namespace motet::embed
