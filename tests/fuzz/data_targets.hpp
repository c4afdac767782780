// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/classes.hpp>
#include <motet/data/decode.hpp>
#include <motet/data/make/listing_file.hpp>
#include <motet/data/shards.hpp>
#include <motet/data/sound/decode_sound.hpp>
#include <motet/data/tar.hpp>
#include <motet/data/tokenizer_file.hpp>

#include <cmath>
#include <cstdlib>

// Any bytes whatever must bring no crash, no hang, no memory out of proportion, and refusals only as
// motet::error. Each function aborts when a promise is broken, and returns whether the bytes were accepted.

inline bool fuzz_tar(std::string_view bytes) {
  const motet::memory_file file{bytes};
  motet::tar_reader reader(file);
  motet::tar_member member;
  motet::isize last = 0;
  while (reader.next(member)) {
    const bool inside = member.offset >= 512 && member.size >= 0 && member.offset <= file.size() &&
                        member.size <= file.size() - member.offset;
    if (!inside || member.offset <= last) std::abort();
    last = member.offset;
  }
  if (reader.next(member)) std::abort();
  return reader.damage_count() == 0;
}

inline bool fuzz_braces(std::string_view bytes) {
  // Long lists are legal; they only take long.
  if (bytes.size() > 40) bytes = bytes.substr(0, 40);
  try {
    return !motet::expand_braces(bytes).empty() || (std::abort(), false);
  } catch (const motet::error&) {
    return false;
  }
}

inline bool fuzz_vocabulary(std::string_view bytes) {
  try {
    const motet::tokenizer words = motet::parse_tokenizer(bytes);
    const std::string text = "A photo of Two red Circles, 17%  \xff\xc3\x84!";
    const auto tokens = words.encode(text, 16);
    if (tokens.size() > 16) std::abort();
    if (words.end_token() >= 0 && tokens.back() != words.end_token()) std::abort();
    for (const auto token : tokens) {
      if (token < 0 || token >= words.size()) std::abort();
    }
    if (words.decode(tokens).size() > text.size() * 4096) std::abort();
    return true;
  } catch (const motet::error&) {
    return false;
  }
}

inline bool fuzz_classes(std::string_view bytes) {
  try {
    const motet::class_list classes = motet::parse_classes(bytes);
    for (const auto& [key, which] : classes.of_sample) {
      if (which < 0 || which >= classes.size()) std::abort();
    }
    return true;
  } catch (const motet::error&) {
    return false;
  }
}

inline bool fuzz_picture(std::string_view bytes) {
  motet::bitmap shot;
  try {
    motet::decode_picture({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, shot,
                          {2048, motet::isize{1} << 20});
  } catch (const motet::error&) {
    return false;
  }
  if (shot.width < 1 || shot.height < 1 ||
      shot.pixels.size() != static_cast<std::size_t>(shot.width * shot.height * 3))
    std::abort();
  return true;
}

inline bool fuzz_sound(std::string_view bytes) {
  motet::waveform heard;
  try {
    motet::decode_sound({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, heard,
                        {.values = motet::isize{1} << 20});
  } catch (const motet::error&) {
    return false;
  }
  if (heard.rate < 1000 || heard.values.size() > std::size_t{1} << 20) std::abort();
  for (const float each : heard.values)
    if (!std::isfinite(each)) std::abort();
  return true;
}

inline bool fuzz_listing(std::string_view bytes, const std::string& kind) {
  motet::skip_log skips;
  motet::listing found(skips);
  try {
    motet::list_rows(found, bytes, "rows" + kind);
  } catch (const motet::error&) {
    return false;
  }
  for (const motet::listed_pair& each : found.pairs()) {
    if (each.picture < 0 || each.picture >= found.pictures()) std::abort();
    if (each.caption.size() + each.label.size() > bytes.size()) std::abort();
  }
  return true;
}
