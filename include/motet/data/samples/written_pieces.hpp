// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/decode.hpp>
#include <motet/data/shards/shard_samples.hpp>
#include <motet/data/skips.hpp>
#include <motet/format/text/json_read.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A sample is pieces in their order: text that is given, text that is asked for, and pictures.
enum class piece_kind : std::uint8_t { given, asked, picture };

struct written_piece {
  piece_kind kind = piece_kind::given;
  std::string text;  // of a picture: the name of its file
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

// This stands for a picture in the turns of a conversation.
inline constexpr std::string_view picture_mark = "<image>";

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
      const bool known = name == "picture" || name == "given" || name == "asked";
      if (!known)
        return refuse(sentence({"piece ", number, " has ",
                                (members.size() == 1 ? "the member \"" + name + "\""
                                                     : std::to_string(members.size()) + " members"),
                                ", wanted one of picture, given and asked"}));
      if (name == "picture" && value.string().empty())
        return refuse(sentence({"piece ", number, " is a picture without a name"}));
      add(name == "picture" ? piece_kind::picture
          : name == "given" ? piece_kind::given
                            : piece_kind::asked,
          value.string());
    }
    return true;
  }

  bool take_turns(const json& entry, const json& turns) {
    std::vector<std::string> shown;
    if (const json* image = entry.find("image"); image != nullptr && !image->is_null()) {
      if (image->is_array())
        for (const json& each : image->items()) shown.push_back(each.string());
      else shown.push_back(image->string());
    }
    std::size_t seen = 0, number = 0;
    for (const json& turn : turns.items()) {
      ++number;
      const std::string& from = turn.at("from").string();
      const bool asked = from == "gpt";
      if (!asked && from != "human" && from != "system")
        return refuse(sentence({"turn ", number, " is from \"", from, "\", wanted human, gpt or system"}));
      std::string_view rest = turn.at("value").string();
      while (true) {
        const std::size_t mark = rest.find(picture_mark);
        add(asked ? piece_kind::asked : piece_kind::given, rest.substr(0, mark));
        if (mark == std::string_view::npos) break;
        if (asked)
          return refuse(sentence({"turn ", number, " is from gpt and has a ", picture_mark,
                                  "; pictures are given, not asked for"}));
        if (seen < shown.size()) made_.pieces.push_back({piece_kind::picture, shown[seen]});
        ++seen;
        rest.remove_prefix(mark + picture_mark.size());
      }
    }
    if (seen != shown.size())
      return refuse(sentence(
          {"its turns have ", seen, " times ", picture_mark, ", and it names ", shown.size(), " pictures"}));
    for (const std::string& each : shown)
      if (each.empty()) return refuse("one of its pictures has no name");
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
// list, or be absent.
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
