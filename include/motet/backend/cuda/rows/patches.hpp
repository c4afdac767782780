// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/backend/cuda/rows/packed_patches_kernel.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cuda {

namespace detail {

// A run of a patch's row lies here in its picture.
struct patch_position {
  isize channel, y, x;
};
struct patch_grid {
  divisor across, area, patch;  // patches side by side, pixels of a patch in a channel, its side
  MOTET_HOST_DEVICE patch_position at(isize number, isize column) const {
    auto right = static_cast<std::uint32_t>(number), inside = static_cast<std::uint32_t>(column);
    const isize down = across.divide(right), channel = area.divide(inside), y = patch.divide(inside);
    const isize side = static_cast<isize>(patch.value());
    return {channel, down * side + y, static_cast<isize>(right) * side + static_cast<isize>(inside)};
  }
};

// Floats in planes.
template <class P>
struct picture_planes {
  matrix<const P> pixels;
  isize side;
  template <class T, int N>
  MOTET_HOST_DEVICE run<T, N> load(isize sample, const patch_position& at) const {
    return load_run<T, N>(pixels.row(sample) + (at.channel * side + at.y) * side + at.x);
  }
};

template <class T, class Pictures, class Y>
struct cut_to_patches {
  template <int N>
  struct held {
    run<T, N> y;
    isize row;
  };
  padded_rows rows;
  patch_grid grid;
  isize lead, pixels;  // of a patch; further columns are zero
  Pictures pictures;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    kept = {here.position < lead || column >= pixels
                ? run<T, N>{}
                : pictures.template load<T, N>(here.sample, grid.at(here.position - lead, column)),
            here.row};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    store_run(y.row(kept.row) + column, kept.y);
  }
};

template <int Size, class Pictures, class Y>
void launch_patches(context& ctx, const sequences& seq, const patch_geometry& geometry,
                    const Pictures& pictures, matrix<Y> y) {
  using number = arithmetic<Y>;
  const isize patch = geometry.patch, pixels = geometry.channels * patch * patch;
  const cut_to_patches<number, Pictures, Y> operation{
      padded(ctx, seq), {divisor(geometry.side / patch), divisor(patch * patch), divisor(patch)},
      geometry.lead,    pixels,
      pictures,         y};
  launch_each_run<Size>(ctx, operation, padded_count(seq), y.width);
}

// Patches of 14 pixels go in pairs, those of 16 or 32 in whole runs.
template <class Pictures, class Y, class Fits>
void launch_patches(context& ctx, const sequences& seq, const patch_geometry& geometry,
                    const Pictures& pictures, matrix<Y> y, Fits&& fits) {
  constexpr int size = run_size<Y>;
  if (geometry.patch % size == 0 && in_runs<size>(y) && fits(std::integral_constant<int, size>{}))
    return launch_patches<size>(ctx, seq, geometry, pictures, y);
  if constexpr (size > 2) {
    if (geometry.patch % 2 == 0 && in_runs<2>(y) && fits(std::integral_constant<int, 2>{}))
      return launch_patches<2>(ctx, seq, geometry, pictures, y);
  }
  launch_patches<1>(ctx, seq, geometry, pictures, y);
}

}  // namespace detail

// Row s of pixels is a picture (channels, side, side); rows of y are its patches (channels, patch, patch)
// from left to right, then down, so that a convolution with stride = patch becomes a linear layer on them;
// further columns become zero. Floor: pixels are read once, y is written once.
template <class P, class Y>
void patches(context& ctx, const sequences& seq, const patch_geometry& geometry, matrix<P> pixels,
             matrix<Y> y) {
  // While the dry run of a step is made, there are no pixels yet.
  ctx.note("patches", 0, elements_in(pixels) * bytes_of<P> + bytes_in(y));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<P>;
  const auto fits = [&](auto size) {
    constexpr auto bytes = sizeof(element) * as_size(piece_size<element, decltype(size)::value>);
    return reinterpret_cast<std::uintptr_t>(pixels.data) % bytes == 0 &&
           pixels.stride % decltype(size)::value == 0;
  };
  detail::launch_patches(ctx, seq, geometry, detail::picture_planes<element>{pixels, geometry.side}, y, fits);
}

// Packed pictures are resized, mirrored and scaled on the way. Floor: the pictures are read once, y is
// written once. Takes no memory, as a dry run does not know what will come.
template <class Y>
void patches(context& ctx, const sequences& seq, const patch_geometry& geometry, const packed_pictures& from,
             matrix<Y> y) {
  const double numbers = static_cast<double>(seq.samples * geometry.channels * geometry.side * geometry.side);
  ctx.note("patches", 2 * numbers, numbers + bytes_in(y));
  if (ctx.measuring()) return;
  using kernel = detail::packed_to_patches<Y>;
  const isize across = geometry.side / geometry.patch,
              lanes = std::min<isize>(kernel::most_threads, round_up(geometry.side, warp_size));
  const auto small = [](isize value) { return static_cast<std::int32_t>(value); };
  const kernel operation{samples_on_gpu(ctx, seq),
                         from,
                         small(geometry.side),
                         small(geometry.channels),
                         small(geometry.lead),
                         small(lanes),
                         divisor(across),
                         divisor(geometry.patch),
                         y};
  launch(ctx.stream(), {seq.samples * across, kernel::most_threads, kernel::shared_bytes}, operation);
}

}  // namespace motet::cuda
