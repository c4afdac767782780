// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/bitmap.hpp>

// Where nobody says 1 or 0, the library counts as there if its header is. A program that decodes or encodes
// then links it (-lspng).
#if !defined(MOTET_HAS_SPNG)
#if __has_include(<spng.h>)
#define MOTET_HAS_SPNG 1
#else
#define MOTET_HAS_SPNG 0
#endif
#endif

#if MOTET_HAS_SPNG
#include <spng.h>

#include <cstdlib>
#include <memory>
#include <new>
#endif

namespace motet {

#if MOTET_HAS_SPNG
inline constexpr bool has_png = true;

namespace detail {
struct free_spng {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using spng_context = std::unique_ptr<spng_ctx, free_spng>;
inline void check_spng(int code, const message& row = damaged_picture) {
  if (code != 0) fail(row, std::string("PNG: ") + spng_strerror(code));
}
}  // namespace detail

// Any PNG becomes 8-bit RGB; transparency is dropped, not blended.
inline void decode_png(std::span<const std::uint8_t> bytes, bitmap& into, const picture_limits& limits = {}) {
  const detail::spng_context context(spng_ctx_new(0));
  if (!context) throw std::bad_alloc();
  spng_ctx* const png = context.get();
  detail::check_spng(spng_set_image_limits(png, static_cast<std::uint32_t>(limits.side),
                                           static_cast<std::uint32_t>(limits.side)));
  // Text and profile chunks can inflate to any size; a picture needs none of them.
  detail::check_spng(spng_set_chunk_limits(png, std::size_t{1} << 20, std::size_t{1} << 22));
  detail::check_spng(spng_set_png_buffer(png, bytes.data(), bytes.size()));
  spng_ihdr header{};
  detail::check_spng(spng_get_ihdr(png, &header));
  check_limits(static_cast<isize>(header.width), static_cast<isize>(header.height), limits);
  std::size_t size = 0;
  detail::check_spng(spng_decoded_image_size(png, SPNG_FMT_RGB8, &size));
  if (size != std::size_t{header.width} * header.height * 3)
    fail(damaged_picture, "PNG: unexpected decoded size");
  into.width = static_cast<isize>(header.width);
  into.height = static_cast<isize>(header.height);
  into.pixels.resize(size);
  detail::check_spng(spng_decode_image(png, into.pixels.data(), size, SPNG_FMT_RGB8, 0));
}

inline std::string encode_png(const bitmap& from, int level = 1) {
  const detail::spng_context context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) throw std::bad_alloc();
  spng_ctx* const png = context.get();
  const auto check = [](int code) { detail::check_spng(code, picture_not_encoded); };
  check(spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1));
  check(spng_set_option(png, SPNG_IMG_COMPRESSION_LEVEL, level));
  spng_ihdr header{};
  header.width = static_cast<std::uint32_t>(from.width);
  header.height = static_cast<std::uint32_t>(from.height);
  header.bit_depth = 8;
  header.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
  check(spng_set_ihdr(png, &header));
  check(spng_encode_image(png, from.pixels.data(), from.pixels.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));
  std::size_t size = 0;
  int problem = 0;
  const std::unique_ptr<void, decltype(&std::free)> out(spng_get_png_buffer(png, &size, &problem),
                                                        &std::free);
  check(problem);
  return {static_cast<const char*>(out.get()), size};
}

#else
inline constexpr bool has_png = false;

inline void decode_png(std::span<const std::uint8_t>, bitmap&, const picture_limits& = {}) {
  fail(picture_library_missing, "PNG needs libspng");
}
inline std::string encode_png(const bitmap&, int = 1) { fail(picture_library_missing, "PNG needs libspng"); }
#endif

}  // namespace motet
