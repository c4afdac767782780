// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/decode.hpp>
#include <motet/data/shards.hpp>
#include <motet/data/skips.hpp>
#include <motet/data/tar.hpp>
#include <motet/tensor/random.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace motet {

// Pictures with captions in WebDataset shards. One walk over the headers at the start notes where every
// member lies; from then on any sample can be read at any time by any thread, so a shuffle is nothing but an
// order of numbers.
class pair_source {
 public:
  // `skips` outlives the source and learns what is left out here.
  pair_source(const std::vector<std::string>& shards, skip_log& skips) : paths_(shards), skips_(skips) {
    for (std::size_t s = 0; s < paths_.size(); ++s) scan(s);
    if (samples_.empty()) {
      const std::string left_out = skips_.summary();
      fail(no_samples, sentence({paths_.size(), " shards from ", paths_.front(),
                                 (left_out.empty() ? "" : "; skipped: " + left_out)}));
    }
    fingerprint_ = random_stream::hash(keys_) + static_cast<std::uint64_t>(size());
  }

  index size() const { return static_cast<index>(samples_.size()); }
  // Base name of sample i, e.g. "000017".
  std::string_view key(index i) const { return std::string_view(keys_).substr(at(i).key, at(i).key_size); }
  // "shard.tar: 000017", for messages.
  std::string name(index i) const { return paths_[at(i).shard] + ": " + std::string(key(i)); }
  // Changes with the names of the samples and their order.
  std::uint64_t fingerprint() const { return fingerprint_; }
  skip_log& skips() const { return skips_; }

  // The result is false when the file gives fewer bytes than it had at the start.
  bool read_picture(index i, std::vector<std::uint8_t>& into) const {
    return read(at(i), at(i).picture, into);
  }
  bool read_caption(index i, std::vector<std::uint8_t>& into) const {
    return read(at(i), at(i).caption, into);
  }

 private:
  static constexpr std::size_t most_open = 256;
  static constexpr index longest_caption = index{1} << 16, largest_picture = index{1} << 28;
  struct extent {
    index offset = -1, size = 0;
  };
  struct sample {
    std::size_t shard = 0, key = 0, key_size = 0;
    extent picture, caption;
  };
  const sample& at(index i) const { return samples_[as_size(i)]; }

  // A sample as its members come. They need not be neighbours; two of one name for the same field are the first
  // and, unless they are neighbours, the begin of another sample.
  struct gathered {
    sample made;
    std::string base, link;
  };
  void scan(std::size_t shard) {
    input_file file(paths_[shard]);
    tar_reader reader(file);
    tar_member member;
    std::vector<gathered> open;
    std::unordered_map<std::string, std::size_t> of_name;
    std::size_t last = 0;
    while (reader.next(member)) {
      // The name before the first dot of its last part is the sample's, the rest names the field.
      const std::size_t slash = member.name.rfind('/');
      const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
      const std::size_t dot = member.name.find('.', start);
      if (dot == std::string::npos || dot == start) continue;
      std::string own = member.name.substr(0, dot), field = member.name.substr(dot + 1);
      for (char& c : field) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      const bool picture = is_picture_field(field), caption = is_caption_field(field);
      const auto [at, anew] = of_name.try_emplace(own, open.size());
      if (!anew && at->second != last) {
        const sample& before = open[at->second].made;
        if ((picture && before.picture.offset >= 0) || (caption && before.caption.offset >= 0))
          at->second = open.size();
      }
      if (at->second == open.size()) {
        open.push_back({{}, std::move(own), {}});
        open.back().made.shard = shard;
      }
      last = at->second;
      gathered& to = open[last];
      if (member.link) {
        // Links are not followed, so a field that is one is absent, and the sample is counted as skipped.
        if (picture || caption) to.link = field + " is a link";
        continue;
      }
      if (picture && to.made.picture.offset < 0) to.made.picture = {member.offset, member.size};
      if (caption && to.made.caption.offset < 0) to.made.caption = {member.offset, member.size};
    }
    for (gathered& each : open) keep(each.made, each.base, each.link);
    for (const std::string& where : reader.damage()) skips_.report(skip::bad_shard, paths_[shard], where);
    if (paths_.size() <= most_open) open_.push_back(std::move(file));
  }

  void keep(sample& made, const std::string& base, const std::string& link) {
    const std::string where = paths_[made.shard] + ": " + base;
    if (made.picture.offset < 0 || made.picture.size == 0)
      return skips_.report(skip::no_picture, where, link);
    if (made.caption.offset < 0 || made.caption.size == 0)
      return skips_.report(skip::no_caption, where, link);
    if (made.picture.size > largest_picture)
      return skips_.report(skip::bad_picture, where, std::to_string(made.picture.size) + " bytes");
    made.caption.size = std::min(made.caption.size, longest_caption);
    made.key = keys_.size();
    made.key_size = base.size();
    keys_ += base;
    samples_.push_back(made);
  }

  bool read(const sample& from, const extent& part, std::vector<std::uint8_t>& into) const {
    into.resize(as_size(part.size));
    if (!open_.empty()) return open_[from.shard].read(part.offset, into) == part.size;
    return input_file(paths_[from.shard]).read(part.offset, into) == part.size;
  }

  std::vector<std::string> paths_;
  skip_log& skips_;
  std::vector<input_file> open_;  // all shards, or none when they are too many
  std::vector<sample> samples_;
  std::string keys_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace motet
