// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/shards/shards.hpp>
#include <motet/data/skips.hpp>
#if !defined(MOTET_COMPILED_DATA)
#include <motet/data/samples/written_pieces.hpp>
#include <motet/data/shards/shard_samples.hpp>
#endif
#include <motet/tensor/random.hpp>

#include <memory>
#include <string>
#include <vector>

namespace motet {

struct shard_sample;

// Pictures with captions in WebDataset shards. One walk over the headers at the start notes where every
// member lies; from then on any sample can be read at any time by any thread, so a shuffle is nothing but an
// order of numbers.
// Asks for: shards that can be read, with one pair at least.
// Memory: the place of each sample's picture and caption, and its name.
// Errors: MT-D01, MT-D04, MT-D07, MT-D10
// Example:
//   std::ptrdiff_t pairs_in(const std::string& shard) {
//     skip_log skips;
//     return pair_source({shard}, skips).size();
//   }
class pair_source {
 public:
  // `skips` outlives the source and learns what is left out here.
  pair_source(const std::vector<std::string>& shards, skip_log& skips);

  isize size() const { return static_cast<isize>(samples_.size()); }
  // Samples that are no pairs but written pieces, which sample_source reads; they are no damage.
  isize of_pieces() const { return of_pieces_; }
  // Base name of sample i, e.g. "000017".
  std::string_view key(isize i) const { return std::string_view(keys_).substr(at(i).key, at(i).key_size); }
  // "shard.tar: 000017", for messages.
  std::string name(isize i) const { return paths_[at(i).shard] + ": " + std::string(key(i)); }
  // Changes with the names of the samples and their order.
  std::uint64_t fingerprint() const { return fingerprint_; }
  skip_log& skips() const { return skips_; }

  // The result is false when the file gives fewer bytes than it had at the start.
  bool read_picture(isize i, std::vector<std::uint8_t>& into) const {
    return read(at(i), at(i).picture, into);
  }
  bool read_caption(isize i, std::vector<std::uint8_t>& into) const {
    return read(at(i), at(i).caption, into);
  }

 private:
  static constexpr std::size_t most_open = 256;
  static constexpr isize longest_caption = isize{1} << 16, largest_picture = isize{1} << 28;
  struct extent {
    isize offset = -1, size = 0;
  };
  struct sample {
    std::size_t shard = 0, key = 0, key_size = 0;
    extent picture, caption;
  };
  const sample& at(isize i) const { return samples_[as_size(i)]; }

  void scan(std::size_t shard);
  void keep(std::size_t shard, const input_file& file, const shard_sample& from);
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
  isize of_pieces_ = 0;
  std::uint64_t fingerprint_ = 0;
};

#if !defined(MOTET_COMPILED_DATA)
namespace detail {
inline bool is_pair_field(std::string_view field) {
  return is_picture_field(field) || is_caption_field(field);
}
}  // namespace detail

MOTET_BODY void pair_source::scan(std::size_t shard) {
  input_file file(paths_[shard]);
  for_each_sample(
      file, [](std::string_view field) { return detail::is_pair_field(field) || field == "json"; },
      [&](const shard_sample& each) { keep(shard, file, each); },
      [&](const std::string& where) { skips_.report(skip::bad_shard, paths_[shard], where); });
  if (paths_.size() <= most_open) open_.push_back(std::move(file));
}

MOTET_BODY void pair_source::keep(std::size_t shard, const input_file& file, const shard_sample& from) {
  const auto extent_of = [&](auto&& is) {
    for (const shard_member& each : from.members)
      if (!each.link && is(each.field)) return extent{each.offset, each.size};
    return extent{};
  };
  // A field that is a link is absent, and the sample is counted as skipped.
  std::string link;
  for (const shard_member& each : from.members)
    if (each.link && detail::is_pair_field(each.field)) link = each.field + " is a link";
  sample made{shard, keys_.size(), from.key.size(), extent_of(is_picture_field), extent_of(is_caption_field)};
  const std::string where = paths_[shard] + ": " + from.key;
  if ((made.picture.size <= 0 || made.caption.size <= 0) && tells_pieces(file, from)) {
    ++of_pieces_;
    return;
  }
  if (made.picture.size <= 0) return skips_.report(skip::no_picture, where, link);
  if (made.caption.size <= 0) return skips_.report(skip::no_caption, where, link);
  if (made.picture.size > largest_picture)
    return skips_.report(skip::bad_picture, where, std::to_string(made.picture.size) + " bytes");
  made.caption.size = std::min(made.caption.size, longest_caption);
  keys_ += from.key;
  samples_.push_back(made);
}

MOTET_BODY pair_source::pair_source(const std::vector<std::string>& shards, skip_log& skips)
    : paths_(shards), skips_(skips) {
  for (std::size_t s = 0; s < paths_.size(); ++s) scan(s);
  if (samples_.empty()) {
    const std::string left_out = skips_.summary();
    fail(no_samples, sentence({paths_.size(), " shards from ", paths_.front(),
                               (left_out.empty() ? "" : "; skipped: " + left_out)}));
  }
  fingerprint_ = random_stream::hash(keys_) + static_cast<std::uint64_t>(size());
}
#endif

}  // namespace motet
