// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/in_parallel.hpp>
#include <motet/meta/config.hpp>
#include <motet/tensor/view.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace motet {

// A result counts the pictures that have an own caption among the nearest captions, and the captions that
// have an own picture among the nearest pictures.
struct retrieval_result {
  static constexpr std::array<isize, 3> within{1, 5, 10};
  isize samples = 0;
  std::array<isize, 3> pictures{}, captions{};

  double picture_share(std::size_t which) const { return share(pictures[which]); }
  double caption_share(std::size_t which) const { return share(captions[which]); }

 private:
  double share(isize of) const {
    return samples > 0 ? static_cast<double>(of) / static_cast<double>(samples) : 0;
  }
};

namespace detail {

// In lanes, so that a compiler may keep them in one register.
template <class T>
T product_of_rows(const T* a, const T* b, isize width) {
  constexpr isize lanes = 16;
  T sums[lanes]{};
  isize k = 0;
  for (; k + lanes <= width; k += lanes)
    for (isize l = 0; l < lanes; ++l) sums[l] += a[k + l] * b[k + l];
  for (; k < width; ++k) sums[k % lanes] += a[k] * b[k];
  T out = 0;
  for (const T each : sums) out += each;
  return out;
}

}  // namespace detail

// Ranks all captions for each picture, and all pictures for each caption, by the products of their features.
// Samples of one group are right answers to each other: the same picture under several captions, or the same
// words for several pictures. One that is as near as the best right answer counts before it.
template <class T>
retrieval_result retrieval(matrix<const T> pictures, matrix<const T> captions,
                           const std::vector<isize>& group, isize threads = 0) {
  const isize count = pictures.rows;
  const auto product = [&](isize p, isize c) {
    return detail::product_of_rows(pictures.row(p), captions.row(c), pictures.width);
  };
  std::unordered_map<isize, std::vector<isize>> members;
  for (isize i = 0; i < count; ++i) members[group[as_size(i)]].push_back(i);
  std::vector<T> own_caption(as_size(count)), own_picture(as_size(count));
  in_parallel(
      count,
      [&](isize i) {
        T nearest_caption = std::numeric_limits<T>::lowest(), nearest_picture = nearest_caption;
        for (const isize other : members.at(group[as_size(i)])) {
          nearest_caption = std::max(nearest_caption, product(i, other));
          nearest_picture = std::max(nearest_picture, product(other, i));
        }
        own_caption[as_size(i)] = nearest_caption;
        own_picture[as_size(i)] = nearest_picture;
      },
      threads);
  // Count the wrong answers that stand before the right one.
  constexpr isize tile = 64;
  std::vector<isize> captions_before(as_size(count)), pictures_before(as_size(count));
  std::mutex guard;
  in_parallel((count + tile - 1) / tile,
              [&](isize part) {
                std::vector<isize> before(as_size(count));
                for (isize p = part * tile; p < std::min(count, (part + 1) * tile); ++p)
                  for (isize c = 0; c < count; ++c) {
                    if (group[as_size(p)] == group[as_size(c)]) continue;
                    const T near = product(p, c);
                    // A feature that is no number is near nothing, and everything stands before it.
                    if (!(near < own_caption[as_size(p)])) ++captions_before[as_size(p)];
                    if (!(near < own_picture[as_size(c)])) ++before[as_size(c)];
                  }
                const std::lock_guard hold(guard);
                for (std::size_t c = 0; c < before.size(); ++c) pictures_before[c] += before[c];
              },
              threads);
  retrieval_result out;
  out.samples = count;
  for (std::size_t which = 0; which < out.within.size(); ++which) {
    const auto found = [&](isize before) { return before < out.within[which]; };
    out.pictures[which] = std::count_if(captions_before.begin(), captions_before.end(), found);
    out.captions[which] = std::count_if(pictures_before.begin(), pictures_before.end(), found);
  }
  return out;
}

}  // namespace motet
