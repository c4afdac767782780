// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/step_message.hpp>
#include <motet/format/files/checksum.hpp>
#include <motet/tensor/sequences.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace motet {

// The samples of a step whose pictures are wanted, as intervals that ascend and do not meet; none said: all.
// What is left of the others are their words.
using step_share = std::optional<std::vector<interval>>;

// What of a step is asked for: words and pictures at once, or first its words and, when they tell which
// samples are whose, the pictures.
enum class asked_parts { all, words, pictures };

inline bool fits(const step_share& share, isize samples) {
  isize end = 0;
  for (const interval& each : share.value_or(std::vector<interval>{})) {
    if (each.begin < end || each.end < each.begin || each.end > samples) return false;
    end = each.end;
  }
  return true;
}

// Where the pictures of each sample begin among the bytes of all, and behind the last one their end.
inline std::vector<isize> picture_begins(const step_words& of, isize bytes) {
  std::vector<isize> out{0};
  isize shown = 0;
  std::size_t at = 0;
  for (const isize stretches : of.stretches) {
    for (isize k = 0; k < stretches; ++k) shown += of.order[at++].kind == piece_kind::picture ? 1 : 0;
    if (shown == of.pictures) out.push_back(bytes);
    else out.push_back(of.packed.empty() ? bytes / of.pictures * shown : of.packed[as_size(shown)].at);
  }
  return out;
}
// The bytes of a share.
inline std::vector<interval> parts_of(const step_share& share, const std::vector<isize>& begins) {
  if (!share) return {{0, begins.back()}};
  std::vector<interval> out;
  out.reserve(share->size());
  for (const interval& each : *share) out.push_back({begins[as_size(each.begin)], begins[as_size(each.end)]});
  return out;
}
inline isize size_of(const std::vector<interval>& parts) {
  isize sum = 0;
  for (const interval& each : parts) sum += each.size();
  return sum;
}
// The checksum of parts of these sizes, each of which lies at place(part).
template <class Place>
std::uint64_t checksum_of_parts(const std::vector<interval>& parts, Place&& place) {
  std::vector<std::uint64_t> all;
  all.reserve(parts.size());
  for (const interval& each : parts)
    all.push_back(checksum(std::span<const std::byte>(place(each), as_size(each.size()))));
  return all.size() == 1 ? all[0] : checksum(std::as_bytes(std::span(all)));
}
// Parts that lie one behind the other go where they belong, in the same memory.
inline void spread_parts(const std::vector<interval>& parts, std::byte* memory) {
  isize from = size_of(parts);
  for (std::size_t p = parts.size(); p-- > 0;) {
    from -= parts[p].size();
    if (parts[p].size() > 0) std::memmove(memory + parts[p].begin, memory + from, as_size(parts[p].size()));
  }
}

}  // namespace motet
