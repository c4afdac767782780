// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer_laws.hpp"

namespace motet::laws {

// What another module's rows enter, with these rows as x: their gradients go back over the edge.
template <class Base, isize Width>
struct fed_subject : Base {
  isize x_size() const { return this->batch.entering_count() * Width; }

  template <class C, class N, class T = typename N::stream>
  void run(C& ctx, way how, weights<N> w, const T* x_data, T* y_data, const T* dy_data, T* dx_data,
           gradients<N> g) const {
    Base with = *this;
    with.batch.entering = {x_data, dx_data};
    with.run(ctx, how, w, x_data, y_data, dy_data, dx_data, g);
  }
};

}  // namespace motet::laws
