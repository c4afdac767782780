// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/make/listing_file.hpp>
#include <motet/data/pictures/decode.hpp>
#include <motet/data/produce/step_message.hpp>
#include <motet/data/samples/classes.hpp>
#include <motet/data/shards/shards.hpp>
#include <motet/data/shards/tar.hpp>
#include <motet/data/sound/decode_sound.hpp>
#include <motet/data/words/tokenizer_file.hpp>

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

// A step of two samples, with pictures as bytes, and a sound of each at most.
inline constexpr motet::step_limits fuzz_step_limits{.count = 2,
                                                     .pictures = 3,
                                                     .room = 3 * 3 * 8 * 8 * 4,
                                                     .context = 40,
                                                     .rows_shown = 4,
                                                     .rows = 60,
                                                     .vocabulary = 300,
                                                     .side = 8,
                                                     .bytes = true,
                                                     .heard = {.most = 1, .rows = 2, .bins = 1, .frames = 4}};
// The first eight bytes say how many bytes of pictures come with the words.
inline bool fuzz_step(std::string_view bytes) {
  if (bytes.size() < 8) return false;
  std::int64_t pixels = 0;
  std::memcpy(&pixels, bytes.data(), sizeof pixels);
  motet::step_words words;
  try {
    motet::read_words(std::as_bytes(std::span(bytes).subspan(8)), static_cast<motet::isize>(pixels),
                      fuzz_step_limits, words);
  } catch (const motet::error&) {
    return false;
  }
  std::size_t tokens = 0, pictures = 0, sounds = 0, stretches = 0;
  for (const auto& each : words.order) {
    tokens += static_cast<std::size_t>(each.tokens);
    pictures += each.kind == motet::piece_kind::picture ? 1u : 0u;
    sounds += each.kind == motet::piece_kind::sound ? 1u : 0u;
  }
  for (const motet::isize each : words.stretches) stretches += static_cast<std::size_t>(each);
  if (words.samples.size() != 2 || words.stretches.size() != 2 || stretches != words.order.size() ||
      tokens != words.tokens.size() || pictures != words.packed.size() || 4 * sounds != words.heard.size())
    std::abort();
  motet::isize end = 0;
  for (const motet::packed_picture& each : words.packed) {
    if (each.at != end) std::abort();
    end += each.pitch != 0 ? motet::isize{each.pitch} * each.height : 3 * 8 * 8 * 4;
  }
  if (end != pixels || end > fuzz_step_limits.room) std::abort();
  for (const auto token : words.tokens)
    if (token < 0 || token >= 300) std::abort();
  return true;
}
