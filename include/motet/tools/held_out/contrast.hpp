// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/view.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace motet {

namespace detail {

template <class T>
double product_of(const T* a, const T* b, isize width) {
  double sum = 0;
  for (isize k = 0; k < width; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  return sum;
}

}  // namespace detail

// The loss of some pairs without training on them, from features of both sides (rows of length one): the mean
// surprise at the own caption among all captions and at the own picture among all pictures.
template <class T>
double info_nce_of(matrix<const T> pictures, matrix<const T> captions, double scale) {
  const isize count = pictures.rows;
  std::vector<double> logits(as_size(count * count));
  for (isize p = 0; p < count; ++p)
    for (isize c = 0; c < count; ++c)
      logits[as_size(p * count + c)] =
          scale * detail::product_of(pictures.row(p), captions.row(c), pictures.width);
  const auto surprise = [&](isize own, isize first, isize stride) {
    double most = -INFINITY, sum = 0;
    for (isize k = 0; k < count; ++k) most = std::max(most, logits[as_size(first + k * stride)]);
    for (isize k = 0; k < count; ++k) sum += std::exp(logits[as_size(first + k * stride)] - most);
    return most + std::log(sum) - logits[as_size(own)];
  };
  double sum = 0;
  for (isize i = 0; i < count; ++i)
    sum += surprise(i * (count + 1), i * count, 1) + surprise(i * (count + 1), i, count);
  return count > 0 ? sum / (2.0 * static_cast<double>(count)) : 0;
}

// Here each pair is a yes or no: the loss is the sum over all pairs, for each sample.
template <class T>
double pairwise_sigmoid_of(matrix<const T> pictures, matrix<const T> captions, double scale, double bias) {
  const isize count = pictures.rows;
  double sum = 0;
  for (isize p = 0; p < count; ++p)
    for (isize c = 0; c < count; ++c) {
      const double logit =
          scale * detail::product_of(pictures.row(p), captions.row(c), pictures.width) + bias;
      const double wrong = p == c ? -logit : logit;  // log(1 + e^wrong), without overflow
      sum += std::max(wrong, 0.0) + std::log1p(std::exp(-std::fabs(wrong)));
    }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace motet
