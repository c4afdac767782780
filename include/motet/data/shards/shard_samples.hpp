// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/decode.hpp>
#include <motet/data/shards/tar.hpp>

#include <string>
#include <unordered_map>
#include <vector>

namespace motet {

// The members of a WebDataset shard by samples: those that share the name before the first dot of its last
// part.
struct shard_member {
  std::string field;  // behind that dot, in small letters
  isize offset = 0, size = 0;
  bool link = false;  // links are not followed
};
struct shard_sample {
  std::string key;  // with the folders before it
  std::vector<shard_member> members;

  // The first one of which `is(field)`; null: there is none.
  template <class Is>
  const shard_member* find(Is&& is) const {
    for (const shard_member& each : members)
      if (is(std::string_view(each.field))) return &each;
    return nullptr;
  }
};

// A field has one role in a sample: whatever its name, a sample has one picture and one caption.
inline std::string_view role_of(std::string_view field) {
  return is_picture_field(field) ? "png" : is_caption_field(field) ? "txt" : field;
}

// One walk over the headers of a shard. The members of a sample need not be neighbours; where they are not, a
// field that `matters(field)` and that the sample has already is the begin of another one of that name. What
// is damaged goes to damage(where), and the samples are given in their order to keep(sample).
template <class Matters, class Keep, class Damage>
void for_each_sample(const input_file& shard, Matters&& matters, Keep&& keep, Damage&& damage) {
  tar_reader reader(shard);
  tar_member member;
  std::vector<shard_sample> open;
  std::unordered_map<std::string, std::size_t> of_name;
  std::size_t last = 0;
  while (reader.next(member)) {
    const std::size_t slash = member.name.rfind('/');
    const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t dot = member.name.find('.', start);
    if (dot == std::string::npos || dot == start) continue;
    std::string own = member.name.substr(0, dot), field = member.name.substr(dot + 1);
    for (char& c : field) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const bool counts = matters(std::string_view(field));
    const auto same = [&](const shard_member& other) {
      return !other.link && role_of(other.field) == role_of(field);
    };
    const auto [at, anew] = of_name.try_emplace(own, open.size());
    if (!anew && at->second != last && counts) {
      const auto& before = open[at->second].members;
      if (std::any_of(before.begin(), before.end(), same)) at->second = open.size();
    }
    if (at->second == open.size()) open.push_back({std::move(own), {}});
    last = at->second;
    auto& to = open[last].members;
    if (counts && (member.link || std::none_of(to.begin(), to.end(), same)))
      to.push_back({std::move(field), member.offset, member.size, member.link});
  }
  for (const shard_sample& each : open) keep(each);
  for (const std::string& where : reader.damage()) damage(where);
}

}  // namespace motet
