// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/picture_size.hpp>
#include <motet/data/samples/written_pieces.hpp>
#include <motet/data/shards/text_entries.hpp>
#include <motet/data/sound/decode_sound.hpp>
#include <motet/tensor/random.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace motet {

// A sample piece has what is known of a piece before it is read.
struct sample_piece {
  piece_kind kind = piece_kind::given;
  bool beside = false;                 // of no text: it is a file of its own
  std::uint32_t file = 0;              // of the source, which it is in, or beside
  isize offset = 0;                    // of no text, in its file; or where the name of its own one stands
  isize size = 0;                      // bytes
  std::int32_t width = 0, height = 0;  // of a picture
};

// Samples of any number of pieces, in files of these kinds:
//   .tar            WebDataset shards: pairs, and samples whose .json says their pieces (written_pieces.hpp)
//   .json, .jsonl   an array, or lines, of samples: conversations, pieces; pictures and sounds in files beside
//   .txt            plain text, each line a document that is asked for; .md and .text, the whole a document
// One walk at the start notes where everything lies, how large it is, and what is wrong; from then on any
// sample can be read at any time by any thread.
// Asks for: files that stay as they are.
// Memory: about 100 bytes for each sample and 40 for each piece; no text, picture or sound.
// Errors: MT-D01, MT-D04, MT-D10
// Example:
//   std::size_t texts_in(const std::string& path) {
//     skip_log skips;
//     const sample_source source({path}, skips);
//     std::vector<std::string> texts;
//     std::size_t count = 0;
//     for (std::ptrdiff_t i = 0; i < source.size(); ++i)
//       if (source.read_texts(i, texts)) count += texts.size();
//     return count;
//   }
class sample_source {
 public:
  // `skips` outlives the source and learns what is left out here.
  sample_source(const std::vector<std::string>& files, skip_log& skips) : paths_(files), skips_(skips) {
    for (std::size_t f = 0; f < paths_.size(); ++f) scan(static_cast<std::uint32_t>(f));
    if (samples_.empty()) {
      const std::string left_out = skips_.summary();
      fail(no_samples, sentence({paths_.size(), " files from ", (paths_.empty() ? "none" : paths_.front()),
                                 (left_out.empty() ? "" : "; skipped: " + left_out)}));
    }
    fingerprint_ = random_stream::hash(keys_) + static_cast<std::uint64_t>(size());
    for (const sample_piece& each : pieces_)
      fingerprint_ = fingerprint_ * 0x100000001B3ull ^
                     (static_cast<std::uint64_t>(each.size) * 4 + static_cast<std::uint64_t>(each.kind));
  }

  isize size() const { return static_cast<isize>(samples_.size()); }
  // Its own name: that of its members, its "id", or "line 7".
  std::string_view key(isize i) const { return std::string_view(keys_).substr(at(i).key, at(i).key_size); }
  // "shard.tar: 000017", for messages.
  std::string name(isize i) const { return paths_[at(i).file] + ": " + std::string(key(i)); }
  std::span<const sample_piece> pieces(isize i) const { return {pieces_.data() + at(i).first, at(i).pieces}; }
  isize pictures(isize i) const { return count(i, piece_kind::picture); }
  isize sounds(isize i) const { return count(i, piece_kind::sound); }
  // No sample has more of them.
  isize most_pictures() const { return most_pictures_; }
  isize most_sounds() const { return most_sounds_; }
  // Changes with names, order, kinds of pieces and their sizes.
  std::uint64_t fingerprint() const { return fingerprint_; }
  skip_log& skips() const { return skips_; }

  // The bytes of a picture or a sound; false when the file gives fewer than it had at the start.
  bool read_bytes(const sample_piece& from, std::vector<std::uint8_t>& into) const {
    into.resize(as_size(from.size));
    if (!from.beside) return read(from.file, from.offset, into);
    try {
      return input_file(beside(from)).read(0, into) == from.size;
    } catch (const error&) {
      return false;
    }
  }
  // The texts of its pieces that are texts, in order; false when the file has changed.
  bool read_texts(isize i, std::vector<std::string>& into) const {
    const sample& own = at(i);
    std::string text(as_size(own.size), '\0');
    if (!read(own.file, own.offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}))
      return false;
    into.clear();
    if (own.written) {
      const written_sample told = read_written_sample(text);
      if (told.wrong || told.pieces.size() != own.pieces) return false;
      for (const written_piece& each : told.pieces)
        if (is_text(each.kind)) into.push_back(each.text);
    } else {
      into.emplace_back(trimmed(text));
    }
    return true;
  }

 private:
  static constexpr std::size_t most_open = 256;
  static constexpr isize longest_text = isize{1} << 24, largest_file = isize{1} << 28;
  struct sample {
    std::uint32_t file = 0;
    bool written = false;        // as JSON; else what is in the file is its one text
    isize offset = 0, size = 0;  // of the JSON or the text
    std::size_t key = 0, key_size = 0, first = 0, pieces = 0;
  };
  const sample& at(isize i) const { return samples_[as_size(i)]; }
  isize count(isize i, piece_kind kind) const {
    const std::span<const sample_piece> own = pieces(i);
    return std::count_if(own.begin(), own.end(), [&](const sample_piece& each) { return each.kind == kind; });
  }
  std::string beside(const sample_piece& from) const {
    return beside(from.file, names_.c_str() + from.offset);
  }
  std::string beside(std::uint32_t file, const std::string& name) const {
    return (std::filesystem::path(paths_[file]).parent_path() / name).string();
  }
  bool read(std::uint32_t file, isize offset, std::span<std::uint8_t> into) const {
    const auto whole = static_cast<isize>(into.size());
    try {
      if (!open_.empty()) return open_[file].read(offset, into) == whole;
      return input_file(paths_[file]).read(offset, into) == whole;
    } catch (const error&) {
      return false;
    }
  }

  void scan(std::uint32_t f) {
    input_file file(paths_[f]);
    std::string ending = std::filesystem::path(paths_[f]).extension().string();
    for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const auto damage = [&](const std::string& where) { skips_.report(skip::bad_shard, paths_[f], where); };
    if (ending == ".json" || ending == ".jsonl") {
      for_each_entry(
          file, [&](const text_entry& each) { keep_entry(f, file, each); }, damage);
    } else if (ending == ".txt") {
      const bool whole = for_each_line(file, [&](const text_entry& each) {
        keep_text(f, sentence({"line ", each.number}), each);
      });
      if (!whole) damage("cut short while reading");
    } else if (ending == ".md" || ending == ".text") {
      keep_text(f, "document", {0, file.size(), 1});
    } else {
      for_each_sample(
          file,
          [](std::string_view field) {
            return is_caption_field(field) || field == "json" || is_of_piece(field);
          },
          [&](const shard_sample& each) { keep_members(f, file, each); }, damage);
    }
    if (paths_.size() <= most_open) open_.push_back(std::move(file));
  }
  // "png", or "0.wav".
  static bool is_of_piece(std::string_view field) {
    const std::size_t dot = field.rfind('.');
    const std::string_view ending = dot == std::string_view::npos ? field : field.substr(dot + 1);
    return is_picture_field(ending) || is_sound_field(ending);
  }

  void left_out(std::uint32_t f, const std::string& key, skip why, const std::string& detail) {
    skips_.report(why, paths_[f] + ": " + key, detail);
  }
  void add(sample made, const std::string& key, std::span<const sample_piece> pieces) {
    made.key = keys_.size(), made.key_size = key.size();
    made.first = pieces_.size(), made.pieces = pieces.size();
    keys_ += key;
    pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
    samples_.push_back(made);
    most_pictures_ = std::max(most_pictures_, pictures(size() - 1));
    most_sounds_ = std::max(most_sounds_, sounds(size() - 1));
  }

  void keep_text(std::uint32_t f, const std::string& key, const text_entry& from) {
    if (from.size > longest_text)
      return left_out(f, key, skip::too_long,
                      sentence({from.size, " bytes of text, at most ", longest_text}));
    const sample_piece whole{piece_kind::asked, false, f, 0, from.size};
    add({f, false, from.offset, from.size}, key, {&whole, 1});
  }

  void keep_entry(std::uint32_t f, const input_file& file, const text_entry& from) {
    std::string text, key = sentence({"entry ", from.number});
    const written_sample told = written(file, from.offset, from.size, text);
    if (!told.id.empty()) key = told.id;
    if (told.wrong) return left_out(f, key, told.wrong->why, told.wrong->detail);
    const bool found = gather(f, key, told, [&](piece_kind kind, const std::string& name, auto&& refuse) {
      const std::string path = beside(f, name);
      sample_piece made{kind, true, f, static_cast<isize>(names_.size()), 0};
      try {
        const input_file own(path);
        made.size = own.size();
        if (!measure(own, 0, made)) return refuse(damaged(kind), unknown(path, made)), made;
      } catch (const error& problem) {
        return refuse(absent(kind), problem.what()), made;
      }
      names_ += name;
      names_ += '\0';
      return made;
    });
    if (found) add({f, true, from.offset, from.size}, key, gathered_);
  }

  void keep_members(std::uint32_t f, const input_file& file, const shard_sample& from) {
    const auto whole = [&](auto&& is) {
      return from.find([&](std::string_view field) { return is(field); });
    };
    const shard_member *picture = whole(is_picture_field), *const caption = whole(is_caption_field);
    if (!tells_pieces(file, from)) {
      // A link is absent; that and an empty member are the same.
      const auto lacks = [](const shard_member* it) { return it == nullptr || it->link || it->size == 0; };
      const auto why = [](const shard_member* it) {
        return it != nullptr && it->link ? it->field + " is a link" : std::string();
      };
      // A sound may stand in the place of the picture.
      const shard_member* const sound = picture == nullptr ? whole(is_sound_field) : nullptr;
      const piece_kind kind = sound != nullptr ? piece_kind::sound : piece_kind::picture;
      if (sound != nullptr) picture = sound;
      if (lacks(picture)) return left_out(f, from.key, absent(kind), why(picture));
      if (lacks(caption)) return left_out(f, from.key, skip::no_caption, why(caption));
      if (caption->size > longest_text)
        return left_out(f, from.key, skip::too_long,
                        sentence({caption->size, " bytes of text, at most ", longest_text}));
      sample_piece both[2] = {{kind, false, f, picture->offset, picture->size},
                              {piece_kind::asked, false, f, 0, caption->size}};
      if (!measure(file, picture->offset, both[0]))
        return left_out(f, from.key, damaged(kind), unknown(picture->field, both[0]));
      return add({f, false, caption->offset, both[1].size}, from.key, both);
    }
    const shard_member& json = *whole([](std::string_view field) { return field == "json"; });
    std::string text;
    const written_sample told = written(file, json.offset, json.size, text);
    if (told.wrong) return left_out(f, from.key, told.wrong->why, told.wrong->detail);
    const auto in_shard = [&](piece_kind kind, const std::string& name, auto&& refuse) {
      sample_piece made{kind, false, f};
      const std::string field = small(name);
      const shard_member* const own = from.find([&](std::string_view other) { return other == field; });
      if (own == nullptr || own->link)
        return refuse(absent(kind), "a piece names " + name + ", but the shard has no " + from.key + "." +
                                        name + (own != nullptr ? ", which is a link" : "")),
               made;
      made.offset = own->offset, made.size = own->size;
      if (!measure(file, made.offset, made)) refuse(damaged(kind), unknown(name, made));
      return made;
    };
    const bool found = gather(f, from.key, told, in_shard);
    if (!found) return;
    for (const shard_member& each : from.members) {
      const auto names = [&](const written_piece& piece) {
        return !is_text(piece.kind) && small(piece.text) == each.field;
      };
      if (is_of_piece(each.field) && std::none_of(told.pieces.begin(), told.pieces.end(), names))
        return left_out(
            f, from.key, skip::bad_pieces,
            "no piece names its " +
                std::string(is_sound_field(std::string_view(each.field).substr(each.field.rfind('.') + 1))
                                ? "sound "
                                : "picture ") +
                each.field + ", which has no place");
    }
    add({f, true, json.offset, json.size}, from.key, gathered_);
  }

  // Find: of a file's name makes a piece of a kind, or refuses, and then the sample is left out.
  template <class Find>
  bool gather(std::uint32_t f, const std::string& key, const written_sample& told, Find&& find) {
    gathered_.clear();
    for (const written_piece& each : told.pieces) {
      if (is_text(each.kind)) {
        gathered_.push_back({each.kind, false, f, 0, static_cast<isize>(each.text.size())});
        continue;
      }
      bool refused = false;
      gathered_.push_back(find(each.kind, each.text, [&](skip why, const std::string& detail) {
        refused = true;
        left_out(f, key, why, detail);
      }));
      if (refused) return false;
    }
    return true;
  }

  static written_sample written(const input_file& file, isize offset, isize size, std::string& text) {
    if (size > longest_written)
      return {{},
              {},
              sample_fault{skip::bad_pieces,
                           sentence({"it takes ", size, " bytes of JSON, at most ", longest_written})}};
    text.resize(as_size(size));
    static_cast<void>(file.read(offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    return read_written_sample(text);
  }
  static bool measure(const input_file& file, isize offset, sample_piece& made) {
    if (made.size > largest_file) return false;
    if (made.kind == piece_kind::sound) {
      std::uint8_t begin[4];
      return made.size >= 4 && file.read(offset, begin) == 4 && begins_like_sound(begin);
    }
    const auto found = find_picture_size([&](isize from, std::span<std::uint8_t> into) {
      const isize left = std::clamp<isize>(made.size - from, 0, static_cast<isize>(into.size()));
      return left > 0 ? file.read(offset + from, into.first(as_size(left))) : 0;
    });
    constexpr isize most = std::numeric_limits<std::int32_t>::max();
    if (!found || found->width > most || found->height > most) return false;
    made.width = static_cast<std::int32_t>(found->width);
    made.height = static_cast<std::int32_t>(found->height);
    return true;
  }
  static std::string unknown(const std::string& name, const sample_piece& found) {
    return sentence({name, " of ", found.size, " bytes begins like neither ",
                     found.kind == piece_kind::sound ? "WAV nor FLAC" : "PNG, JPEG nor PPM", ", or is cut"});
  }
  static skip absent(piece_kind of) { return of == piece_kind::sound ? skip::no_sound : skip::no_picture; }
  static skip damaged(piece_kind of) { return of == piece_kind::sound ? skip::bad_sound : skip::bad_picture; }
  static std::string small(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return text;
  }

  std::vector<std::string> paths_;
  skip_log& skips_;
  std::vector<input_file> open_;  // all files, or none when they are too many
  std::vector<sample> samples_;
  std::vector<sample_piece> pieces_, gathered_;
  std::string keys_, names_;  // names of files beside, each with an end
  isize most_pictures_ = 0, most_sounds_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace motet
