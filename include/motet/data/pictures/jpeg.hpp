// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/bitmap.hpp>

// Where nobody says 1 or 0, the library counts as there if its header is. A program that decodes or encodes
// then links it (-ljpeg).
#if !defined(MOTET_HAS_JPEG)
#if __has_include(<jpeglib.h>)
#define MOTET_HAS_JPEG 1
#else
#define MOTET_HAS_JPEG 0
#endif
#endif

#if MOTET_HAS_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs stdio first.
#include <jpeglib.h>
#endif

// JPEG in and out by libjpeg-turbo, where it was found; else every call says that it is missing.
namespace motet {

#if MOTET_HAS_JPEG
inline constexpr bool has_jpeg = true;

namespace detail {

// libjpeg reports errors by a call that must not return. Exceptions must not cross its C frames, so it jumps
// back into `jpeg_guarded` below, which holds no object with a destructor; the C++ error is thrown from
// there.
struct jpeg_trouble {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};
extern "C" inline void motet_jpeg_exit(j_common_ptr info) {
  auto* const trouble = reinterpret_cast<jpeg_trouble*>(info->err);
  (*info->err->format_message)(info, trouble->text);
  std::longjmp(trouble->back, 1);
}
// A warning means that the data is corrupt and the decoder fills in grey: count it as damage.
extern "C" inline void motet_jpeg_warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  motet_jpeg_exit(info);
}
inline void jpeg_arm(jpeg_trouble& trouble) {
  jpeg_std_error(&trouble.base);
  trouble.base.error_exit = motet_jpeg_exit;
  trouble.base.emit_message = motet_jpeg_warn;
  trouble.text[0] = '\0';
}

template <class Info>
bool jpeg_guarded(Info& info, jpeg_trouble& trouble, bool (*work)(Info&, void*), void* closure) {
  if (setjmp(trouble.back) != 0) return false;
  return work(info, closure);
}

}  // namespace detail

inline void decode_jpeg(std::span<const std::uint8_t> bytes, bitmap& into,
                        const picture_limits& limits = {}) {
  detail::jpeg_trouble trouble;
  jpeg_decompress_struct info{};
  detail::jpeg_arm(trouble);
  info.err = &trouble.base;
  struct release {
    jpeg_decompress_struct& info;
    ~release() { jpeg_destroy_decompress(&info); }
  } const releasing{info};

  const bool head = detail::jpeg_guarded<jpeg_decompress_struct>(
      info, trouble,
      [](jpeg_decompress_struct& inner, void* closure) {
        const auto& source = *static_cast<const std::span<const std::uint8_t>*>(closure);
        jpeg_create_decompress(&inner);
        inner.mem->max_memory_to_use = 512L << 20;
        jpeg_mem_src(&inner, source.data(), static_cast<unsigned long>(source.size()));
        jpeg_read_header(&inner, TRUE);
        inner.out_color_space = inner.num_components == 1   ? JCS_GRAYSCALE
                                : inner.num_components == 4 ? JCS_CMYK
                                                            : JCS_RGB;
        return true;
      },
      &bytes);
  if (!head) fail(damaged_picture, std::string("JPEG: ") + trouble.text);
  check_limits(static_cast<isize>(info.image_width), static_cast<isize>(info.image_height), limits);
  into.width = static_cast<isize>(info.image_width);
  into.height = static_cast<isize>(info.image_height);
  const auto row = as_size(into.width * bitmap::channels);
  into.pixels.resize(row * as_size(into.height));
  // Four components need a longer line than three; it is turned into RGB in place.
  std::vector<std::uint8_t> wide(as_size(into.width) * 4);

  struct rows {
    std::uint8_t* out;
    std::uint8_t* wide;
    std::size_t row;
  } job{into.pixels.data(), wide.data(), row};
  const bool body = detail::jpeg_guarded<jpeg_decompress_struct>(
      info, trouble,
      [](jpeg_decompress_struct& inner, void* closure) {
        const auto& target = *static_cast<rows*>(closure);
        // A progressive file can hold thousands of scans, each as slow as a whole picture.
        jpeg_start_decompress(&inner);
        while (inner.output_scanline < inner.output_height) {
          if (inner.input_scan_number > 200) return false;
          std::uint8_t* const out = target.out + inner.output_scanline * target.row;
          JSAMPROW line = inner.output_components == 3 ? out : target.wide;
          jpeg_read_scanlines(&inner, &line, 1);
          if (inner.output_components == 1)
            for (std::size_t x = 0; x < target.row / 3; ++x)
              out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = line[x];
          else if (inner.output_components == 4)
            // Adobe stores CMYK inverted, and nobody else writes it.
            for (std::size_t x = 0; x < target.row / 3; ++x)
              for (std::size_t c = 0; c < 3; ++c)
                out[3 * x + c] = static_cast<std::uint8_t>(line[4 * x + c] * line[4 * x + 3] / 255);
        }
        jpeg_finish_decompress(&inner);
        return true;
      },
      &job);
  if (!body) fail(damaged_picture, std::string("JPEG: ") + trouble.text);
}

inline std::string encode_jpeg(const bitmap& from, int quality = 92) {
  detail::jpeg_trouble trouble;
  jpeg_compress_struct info{};
  detail::jpeg_arm(trouble);
  info.err = &trouble.base;
  struct output {
    const bitmap& from;
    int quality;
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
  } job{from, quality};
  const bool done = detail::jpeg_guarded<jpeg_compress_struct>(
      info, trouble,
      [](jpeg_compress_struct& inner, void* closure) {
        auto& target = *static_cast<output*>(closure);
        jpeg_create_compress(&inner);
        jpeg_mem_dest(&inner, &target.bytes, &target.size);
        inner.image_width = static_cast<JDIMENSION>(target.from.width);
        inner.image_height = static_cast<JDIMENSION>(target.from.height);
        inner.input_components = 3;
        inner.in_color_space = JCS_RGB;
        jpeg_set_defaults(&inner);
        jpeg_set_quality(&inner, target.quality, TRUE);
        // Full colour resolution: the colour of a small object is what its caption is about.
        inner.comp_info[0].h_samp_factor = inner.comp_info[0].v_samp_factor = 1;
        jpeg_start_compress(&inner, TRUE);
        while (inner.next_scanline < inner.image_height) {
          JSAMPROW line = const_cast<std::uint8_t*>(target.from.pixels.data()) +
                          inner.next_scanline * as_size(inner.image_width) * 3;
          jpeg_write_scanlines(&inner, &line, 1);
        }
        jpeg_finish_compress(&inner);
        return true;
      },
      &job);
  jpeg_destroy_compress(&info);
  std::string out;
  if (done) out.assign(reinterpret_cast<const char*>(job.bytes), job.size);
  std::free(job.bytes);
  if (!done) fail(picture_not_encoded, std::string("JPEG: ") + trouble.text);
  return out;
}

#else
inline constexpr bool has_jpeg = false;

inline void decode_jpeg(std::span<const std::uint8_t>, bitmap&, const picture_limits& = {}) {
  fail(picture_library_missing, "JPEG needs libjpeg-turbo");
}
inline std::string encode_jpeg(const bitmap&, int = 92) {
  fail(picture_library_missing, "JPEG needs libjpeg-turbo");
}
#endif

}  // namespace motet
