// SPDX-License-Identifier: Apache-2.0
#include "models.hpp"

#include <motet/run/pair_session.hpp>

#include "../embed/typed_towers.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_tiny(const session_request& wanted) {
  return make_pair_session<cpu::device, tiny_picture, tiny_caption>("tiny", wanted);
}

}  // namespace motet::train_clip

namespace motet::embed {

template <class Loss>
using tiny_pair = pair_model<train_clip::tiny_picture, train_clip::tiny_caption, Loss>;

std::unique_ptr<saved_towers> open_tiny(const checkpoint& from, int threads) {
  return open_towers<tiny_pair>(from, threads);
}

}  // namespace motet::embed
