// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/tensor/view.hpp>

#include <vector>

namespace motet {

struct zero_shot_result {
  isize pictures = 0;
  isize right = 0;
  std::vector<isize> guess;        // for each picture the class with the nearest caption
  std::vector<isize> of_class;     // pictures of each class
  std::vector<isize> right_class;  // of these, recognised
  double accuracy() const {
    return pictures > 0 ? static_cast<double>(right) / static_cast<double>(pictures) : 0;
  }
};

// Classification without training for it: a picture's class is the one whose caption has the nearest
// features. Rows have length one; of equally near captions the first wins. `truth` holds the class of each
// picture.
template <class T>
zero_shot_result zero_shot(matrix<const T> pictures, matrix<const T> captions,
                           const std::vector<isize>& truth) {
  zero_shot_result out;
  out.pictures = pictures.rows;
  out.guess.resize(as_size(pictures.rows));
  out.of_class.resize(as_size(captions.rows));
  out.right_class.resize(as_size(captions.rows));
  for (isize p = 0; p < pictures.rows; ++p) {
    isize best = 0;
    double nearest = -2;
    for (isize c = 0; c < captions.rows; ++c) {
      double product = 0;
      for (isize k = 0; k < pictures.width; ++k)
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
