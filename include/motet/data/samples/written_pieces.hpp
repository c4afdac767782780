// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/decode.hpp>
#include <motet/data/shards/shard_samples.hpp>
#include <motet/data/skips.hpp>
#include <motet/format/text/json_read.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A sample is pieces in their order: text that is given, text that is asked for, pictures and sounds.
enum class piece_kind : std::uint8_t { given, asked, picture, sound };
// Whatever is none lies in a file of its own, or in a member of the shard.
constexpr bool is_text(piece_kind kind) { return kind == piece_kind::given || kind == piece_kind::asked; }

struct written_piece {
  piece_kind kind = piece_kind::given;
  std::string text;  // of a picture or a sound: the name of its file
  bool operator==(const written_piece&) const = default;
};

// A fault says why a sample is left out, in words that follow its name.
struct sample_fault {
  skip why{};
  std::string detail;
};

// The pieces of a sample, or what is wrong with them.
struct written_sample {
  std::string id;  // that it has of itself, or nothing
  std::vector<written_piece> pieces;
  std::optional<sample_fault> wrong;
};

// These stand for a picture and a sound in the turns of a conversation.
inline constexpr std::string_view picture_mark = "<image>", sound_mark = "<audio>";

namespace detail {

class pieces_reader {
 public:
  written_sample read(std::string_view text) {
    if (const std::size_t bad = utf8_first_bad(text); bad != std::string_view::npos)
      return wrong(skip::bad_text,
                   sentence({"byte ", bad, " of its ", text.size(), " is no part of a letter"}));
    try {
      const json entry = read_json(text, "its text");
      if (!entry.is_object()) return misfit(std::string("it is ") + entry.kind() + ", wanted an object");
      if (const json* id = entry.find("id"); id != nullptr)
        made_.id = id->is_string() ? id->string() : id->is_integer() ? std::to_string(id->integer()) : "";
      const json *const pieces = entry.find("pieces"), *const turns = entry.find("conversations");
      if ((pieces == nullptr) == (turns == nullptr))
        return misfit(pieces == nullptr ? "it has neither \"pieces\" nor \"conversations\""
                                        : "it has both \"pieces\" and \"conversations\", wanted one of them");
      if (pieces != nullptr ? !take_pieces(*pieces) : !take_turns(entry, *turns)) return std::move(made_);
    } catch (const error& problem) {
      return misfit(problem.what());
    }
    const auto asks = [](const written_piece& each) {
      return each.kind == piece_kind::asked && !trimmed(each.text).empty();
    };
    if (std::none_of(made_.pieces.begin(), made_.pieces.end(), asks))
      return wrong(skip::nothing_asked, sentence({"none of its ", made_.pieces.size(),
                                                  " pieces is a text that is asked for and not blank"}));
    return std::move(made_);
  }

 private:
  written_sample wrong(skip why, std::string detail) {
    made_.wrong = {why, std::move(detail)};
    return std::move(made_);
  }
  written_sample misfit(std::string detail) { return wrong(skip::bad_pieces, std::move(detail)); }
  bool refuse(std::string detail) {
    made_.wrong = {skip::bad_pieces, std::move(detail)};
    return false;
  }
  void add(piece_kind kind, std::string_view text) {
    if (!text.empty()) made_.pieces.push_back({kind, std::string(text)});
  }

  bool take_pieces(const json& list) {
    std::size_t number = 0;
    for (const json& each : list.items()) {
      ++number;
      const json::object& members = each.members();
      const auto [name, value] = members.size() == 1 ? *members.begin() : json::member{empty_, each};
      static constexpr std::string_view names[] = {"given", "asked", "picture", "sound"};  // as kinds are
      const auto found = std::find(std::begin(names), std::end(names), name);
      if (found == std::end(names))
        return refuse(sentence({"piece ", number, " has ",
                                (members.size() == 1 ? "the member \"" + name + "\""
                                                     : std::to_string(members.size()) + " members"),
                                ", wanted one of picture, sound, given and asked"}));
      const auto kind = static_cast<piece_kind>(found - std::begin(names));
      if (!is_text(kind) && value.string().empty())
        return refuse(sentence({"piece ", number, " is a ", name, " without a name"}));
      add(kind, value.string());
    }
    return true;
  }

  // What stands in turns by a mark, with the names of the files in their order.
  struct marked {
    piece_kind kind;
    std::string_view mark;
    const char *named, *told;  // the member with the names, and the word for several of them
    std::vector<std::string> files{};
    std::size_t seen = 0;
  };
  static std::vector<std::string> names_in(const json& entry, const char* member) {
    std::vector<std::string> out;
    if (const json* const found = entry.find(member); found != nullptr && !found->is_null()) {
      if (found->is_array())
        for (const json& each : found->items()) out.push_back(each.string());
      else out.push_back(found->string());
    }
    return out;
  }

  bool take_turns(const json& entry, const json& turns) {
    marked kinds[] = {{piece_kind::picture, picture_mark, "image", "pictures"},
                      {piece_kind::sound, sound_mark, "audio", "sounds"}};
    for (marked& each : kinds) each.files = names_in(entry, each.named);
    std::size_t number = 0;
    for (const json& turn : turns.items()) {
      ++number;
      const std::string& from = turn.at("from").string();
      const bool asked = from == "gpt";
      if (!asked && from != "human" && from != "system")
        return refuse(sentence({"turn ", number, " is from \"", from, "\", wanted human, gpt or system"}));
      std::string_view rest = turn.at("value").string();
      while (true) {
        marked& next = *std::min_element(
            std::begin(kinds), std::end(kinds),
            [&](const marked& a, const marked& b) { return rest.find(a.mark) < rest.find(b.mark); });
        const std::size_t mark = rest.find(next.mark);
        add(asked ? piece_kind::asked : piece_kind::given, rest.substr(0, mark));
        if (mark == std::string_view::npos) break;
        if (asked)
          return refuse(sentence({"turn ", number, " is from gpt and has a ", next.mark, "; ", next.told,
                                  " are given, not asked for"}));
        if (next.seen < next.files.size()) made_.pieces.push_back({next.kind, next.files[next.seen]});
        ++next.seen;
        rest.remove_prefix(mark + next.mark.size());
      }
    }
    for (const marked& each : kinds) {
      if (each.seen != each.files.size())
        return refuse(sentence({"its turns have ", each.seen, " times ", each.mark, ", and it names ",
                                each.files.size(), " ", each.told}));
      for (const std::string& file : each.files)
        if (file.empty()) return refuse(sentence({"one of its ", each.told, " has no name"}));
    }
    return true;
  }

  const std::string empty_;
  written_sample made_;
};

}  // namespace detail

// Reads one sample, in either of two forms; what is wrong is told in the result.
//   {"pieces": [{"picture": "0.png"}, {"given": "what is this?"}, {"asked": "a red circle"}]}
//   {"image": "x.jpg", "conversations": [{"from": "human", "value": "<image>\nwhat is this?"},
//                                        {"from": "gpt", "value": "a red circle"}]}
// The second one is LLaVA's: human turns and system's are given, those of gpt are asked for; "image" may be a
// list, or be absent, and so may "audio", whose sounds stand where turns have <audio>.
inline written_sample read_written_sample(std::string_view text) {
  return detail::pieces_reader().read(text);
}

// The most that the JSON of one sample may take.
inline constexpr isize longest_written = isize{1} << 24;

// A sample of a shard may be written pieces, and no pair.
inline bool tells_pieces(const input_file& shard, const shard_sample& from) {
  const shard_member* const told = from.find([](std::string_view field) { return field == "json"; });
  if (told == nullptr || told->link || told->size > longest_written) return false;
  std::string text(as_size(told->size), '\0');
  if (shard.read(told->offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}) != told->size)
    return false;
  // Most are attributes of a pair; only those that may have the member are read.
  if (text.find("\"pieces\"") == std::string::npos && text.find("\"conversations\"") == std::string::npos)
    return false;
  try {
    const json entry = read_json(text, "a sample");
    return entry.is_object() && (entry.find("pieces") != nullptr || entry.find("conversations") != nullptr);
  } catch (const error&) {
    // It meant to be one; whoever reads it says what is wrong.
    return true;
  }
}

}  // namespace motet
