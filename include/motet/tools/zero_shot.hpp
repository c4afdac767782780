// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/tensor/view.hpp>

#include <vector>

namespace motet {

struct zero_shot_result {
  index pictures = 0;
  index right = 0;
  std::vector<index> guess;        // for each picture the class with the nearest caption
  std::vector<index> of_class;     // pictures of each class
  std::vector<index> right_class;  // of these, recognised
  double accuracy() const {
    return pictures > 0 ? static_cast<double>(right) / static_cast<double>(pictures) : 0;
  }
};

// Classification without training for it: a picture's class is the one whose caption has the nearest
// features. Rows have length one; of equally near captions the first wins. `truth` holds the class of each
// picture.
template <class T>
zero_shot_result zero_shot(matrix<const T> pictures, matrix<const T> captions,
                           const std::vector<index>& truth) {
  zero_shot_result out;
  out.pictures = pictures.rows;
  out.guess.resize(as_size(pictures.rows));
  out.of_class.resize(as_size(captions.rows));
  out.right_class.resize(as_size(captions.rows));
  for (index p = 0; p < pictures.rows; ++p) {
    index best = 0;
    double nearest = -2;
    for (index c = 0; c < captions.rows; ++c) {
      double product = 0;
      for (index k = 0; k < pictures.width; ++k)
        product += static_cast<double>(pictures.row(p)[k]) * static_cast<double>(captions.row(c)[k]);
      if (product > nearest) {
        nearest = product;
        best = c;
      }
    }
    const auto at = as_size(p);
    const auto wanted = as_size(truth[at]);
    out.guess[at] = best;
    ++out.of_class[wanted];
    if (best == truth[at]) {
      ++out.right;
      ++out.right_class[wanted];
    }
  }
  return out;
}

}  // namespace motet
