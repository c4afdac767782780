// SPDX-License-Identifier: Apache-2.0
#include "quick_model.hpp"

#include <motet/run/pair_session.hpp>

#include "../embed/typed_towers.hpp"

namespace motet::train_clip {

std::unique_ptr<session> make_quick(const session_request& wanted) {
  return make_pair_session<cpu::device, quick_picture, quick_caption>("quick", wanted);
}

}  // namespace motet::train_clip

namespace motet::embed {

template <class Loss>
using quick_pair = pair_model<train_clip::quick_picture, train_clip::quick_caption, Loss>;

std::unique_ptr<saved_towers> open_quick(const checkpoint& from, int threads) {
  return open_towers<quick_pair>(from, threads);
}

}  // namespace motet::embed
