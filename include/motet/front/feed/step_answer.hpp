// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/tell_skips.hpp>
#include <motet/front/feed/production.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What a producer answers to a rank, message by message.
namespace motet::production {

// A step that a rank wants, of whose samples the pictures, and whether words and pictures come apart.
struct wanted_step {
  std::uint64_t step = 0;
  step_share share;
  asked_parts parts = asked_parts::all;
};

inline void send_head(const tcp::connection& to, step_head head) {
  head.checksum = head.own_checksum();
  put_all(to, std::as_bytes(std::span(&head, 1)), 30, "a rank");
}

// mark: of the run. Pictures without their words bear the words' checksum, so that both are of one step.
inline void send_step(const tcp::connection& to, std::uint64_t mark, const wanted_step& wanted,
                      const finished_step& made) {
  const bool is_step = made.kind == step_kind::step, is_part = wanted.share && is_step;
  const bool has_words = !is_step || wanted.parts != asked_parts::pictures;
  std::vector<interval> parts{{0, static_cast<isize>(made.pixels.size())}};
  if (is_step && wanted.parts == asked_parts::words) parts = {{0, 0}};
  else if (is_part) parts = parts_of(wanted.share, made.begins);
  step_head head;
  head.kind = made.kind;
  head.run = mark;
  head.step = wanted.step;
  head.words = has_words ? made.words.size() : 0;
  head.pixels = as_size(size_of(parts));
  head.words_checksum = made.words_checksum;
  const auto place = [&](const interval& part) { return made.pixels.data() + part.begin; };
  const bool is_whole = size_of(parts) == static_cast<isize>(made.pixels.size()) && parts.size() == 1;
  head.pixels_checksum = is_whole ? made.pixels_checksum : checksum_of_parts(parts, place);
  send_head(to, head);
  if (has_words) put_all(to, std::as_bytes(std::span(made.words)), 30, "a rank");
  for (const interval& each : parts)
    put_all(to, made.pixels.subspan(as_size(each.begin), as_size(each.size())), 30, "a rank");
}

// What was skipped or resampled since the rank was told of the first `known` samples; returns how many it
// knows then.
inline std::size_t send_skips(const tcp::connection& to, std::uint64_t mark, const skip_log& from,
                              std::size_t known) {
  constexpr std::size_t at_once = 1000;
  for (;;) {
    const std::vector<skip_log::reported> news = from.reports(known, at_once);
    if (news.empty()) return known;
    const std::string words = write_skips(news);
    step_head head;
    head.kind = step_kind::skipped;
    head.run = mark;
    head.words = words.size();
    head.words_checksum = checksum(std::string_view(words));
    send_head(to, head);
    put_all(to, std::as_bytes(std::span(words)), 30, "a rank");
    known += news.size();
  }
}

}  // namespace motet::production
