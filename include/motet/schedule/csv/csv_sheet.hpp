// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/csv/csv_cells.hpp>

#include <algorithm>
#include <vector>

namespace motet::detail {

// A cell with something to do, or a part of a pair.
struct csv_action {
  instruction it;
  bool wait = false;   // for the end of that; nothing to do here
  bool laned = false;  // the cell names its lane
  std::int32_t row = 0, column = 0;

  [[noreturn]] void refuse(const message& why, const std::string& text) const {
    fail(why, sentence({"row ", row, ", column ", column, ": ", text}));
  }
};

// A sheet has what a file says, cell for cell.
struct csv_sheet {
  bool headed = false;                           // it has a header of ours
  bool computations_only = false;                // the header says so
  std::int32_t first_row = 1;                    // of the first rank
  std::vector<voice> voices;                     // from the header
  std::vector<std::vector<std::int32_t>> slots;  // of each voice, where the header says them
  std::vector<fed_cell> feeds;                   // from the header
  std::vector<csv_action> actions;               // rank after rank
  std::vector<std::size_t> starts;               // of each rank in actions

  std::size_t end_of(std::size_t rank) const {
    return rank + 1 < starts.size() ? starts[rank + 1] : actions.size();
  }
};

class csv_sheet_reader {
 public:
  explicit csv_sheet_reader(std::string_view text) : lexer_(text) {}

  csv_sheet read() {
    if (!lexer_.next_row()) fail(csv_empty, "the file is empty");
    if (lexer_.next_cell() && lexer_.cell() == "motet") {
      read_header();
      if (!in_rows_) return std::move(sheet_);
    }
    sheet_.first_row = lexer_.row();
    do {
      sheet_.starts.push_back(sheet_.actions.size());
      // The first cell of the first row was taken above.
      if (lexer_.column() > 0) read_cell();
      while (lexer_.next_cell()) read_cell();
      if (sheet_.actions.size() == sheet_.starts.back() && !sheet_.headed)
        fail(csv_empty, sentence({"row ", lexer_.row(), " has no cell with something to do"}));
    } while (lexer_.next_row());
    return std::move(sheet_);
  }

 private:
  void read_cell() {
    std::string_view left = lexer_.cell();
    if (left.empty()) return;  // an idle slot; the order is what counts
    if (left.front() != '(') return take_cell(left, false);
    const std::size_t end = left.find(')');
    if (end == std::string_view::npos || left.substr(end + 1) != csv_pair_word)
      lexer_.refuse(csv_unknown_cell, "a pair such as (0F7;7B3)OVERLAP_F_B");
    left = left.substr(1, end - 1);
    if (left.find(';') == std::string_view::npos)
      lexer_.refuse(csv_unknown_cell, "two parts at least, as in (0F7;7B3)OVERLAP_F_B");
    for (;;) {
      const std::size_t next = left.find(';');
      take_cell(csv_lexer::trimmed(left.substr(0, next)), next != std::string_view::npos);
      if (sheet_.actions.back().it.what >= op::join || sheet_.actions.back().wait)
        lexer_.refuse(csv_unknown_cell, "only forwards and backwards in a pair");
      if (next == std::string_view::npos) return;
      left.remove_prefix(next + 1);
    }
  }
  void take_cell(std::string_view left, bool paired) {
    const std::string_view whole_cell = left;
    csv_action made;
    made.row = lexer_.row();
    made.column = lexer_.column();
    made.it.paired = paired;
    std::size_t start = left.size();
    std::int32_t first = number(left, most_stages - 1);
    const bool with_voice = sheet_.voices.size() > 1 && left.size() < start && left.starts_with(':');
    if (with_voice) {
      made.it.voice = first;
      if (first >= static_cast<std::int32_t>(sheet_.voices.size()))
        lexer_.refuse(csv_too_large, sentence({"one of ", sheet_.voices.size(), " voices"}));
      left.remove_prefix(1);
      start = left.size();
      first = number(left, most_stages - 1);
    }
    made.it.stage = first;
    std::size_t letters = 0;
    while (letters < left.size() && is_letter(left[letters])) ++letters;
    const csv_word* const word = find_csv_word(left.substr(0, letters));
    if (start == left.size() || word == nullptr)
      lexer_.refuse(csv_unknown_cell, "a stage, an operation and a microbatch, as in 0F7");
    if (sheet_.voices.size() > 1 && with_voice == (word->what == op::join))
      lexer_.refuse(csv_unknown_cell, "the voice in front, as in 1:0F7, but not of a JOIN");
    if (!word->torch && !sheet_.headed)
      lexer_.refuse(csv_unknown_cell, "an operation that torch knows, as the file has no header");
    if (sheet_.headed && sheet_.computations_only && (word->wait || !is_compute(word->what)))
      lexer_.refuse(csv_unknown_cell, "computations only, as the header says");
    left.remove_prefix(letters);
    made.it.what = word->what;
    made.wait = word->wait;
    made.it.microbatch = -1;
    const std::size_t before = left.size();
    if (word->has_microbatch()) made.it.microbatch = number(left, most_microbatches - 1);
    if (word->has_microbatch() && left.size() == before)
      lexer_.refuse(csv_unknown_cell, "a microbatch behind the operation, as in 0F7");
    if (sheet_.headed && is_transfer(word->what) && !left.empty() && left.front() == '.') {
      left.remove_prefix(1);
      const std::size_t digits = left.size();
      made.it.part = static_cast<std::uint8_t>(number(left, cell_links::most_parts - 1));
      if (left.size() == digits)
        lexer_.refuse(csv_unknown_cell, "a part behind the microbatch, as in 0SEND_F7.1");
    }
    if (sheet_.headed && !left.empty() && left.front() == '@') {
      left.remove_prefix(1);
      const std::size_t digits = left.size();
      made.it.lane = static_cast<std::uint8_t>(number(left, 255));
      made.laned = left.size() < digits;
      if (!made.laned) lexer_.refuse(csv_unknown_cell, "a lane behind @");
    }
    if (!left.empty())
      lexer_.refuse(csv_unknown_cell,
                    "nothing behind " + csv_shown(whole_cell.substr(0, whole_cell.size() - left.size())));
    if (word->what == op::join) {
      made.it.voice = made.it.stage;
      made.it.stage = -1;
    }
    sheet_.actions.push_back(made);
  }
  static constexpr bool is_letter(char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  }
  // Digits at the front of `left`; without any, `left` stays as it is.
  std::int32_t number(std::string_view& left, isize most) const {
    isize value = 0;
    while (!left.empty() && left.front() >= '0' && left.front() <= '9') {
      value = 10 * value + (left.front() - '0');
      if (value > most) lexer_.refuse(csv_too_large, sentence({"numbers up to ", most, " there"}));
      left.remove_prefix(1);
    }
    return static_cast<std::int32_t>(value);
  }

  // ---- header: motet,1,computations|everything, then a row for each voice

  void read_header() {
    sheet_.headed = true;
    if (!lexer_.next_cell() || lexer_.cell() != "1") lexer_.refuse(csv_bad_header, "version 1");
    if (!lexer_.next_cell() || (lexer_.cell() != "computations" && lexer_.cell() != "everything"))
      lexer_.refuse(csv_bad_header, "computations or everything");
    sheet_.computations_only = lexer_.cell() == "computations";
    if (lexer_.next_cell()) lexer_.refuse(csv_bad_header, "the end of the row");
    while ((in_rows_ = lexer_.next_row())) {
      if (!lexer_.next_cell()) break;
      if (lexer_.cell() == "feed" && !sheet_.voices.empty()) {
        read_feed();
        continue;
      }
      if (lexer_.cell() != "voice" || !sheet_.feeds.empty()) break;
      if (sheet_.voices.size() == as_size(most_voices))
        lexer_.refuse(csv_bad_header, std::to_string(most_voices) + " voices at most");
      read_voice();
    }
    if (sheet_.voices.empty()) fail(csv_bad_header, "row 2: wanted a voice");
  }
  void read_voice() {
    voice made;
    made.stages = made.microbatches = 0;
    std::vector<std::int32_t> slots;
    while (lexer_.next_cell()) {
      const std::string_view cell = lexer_.cell();
      const std::size_t equals = std::min(cell.find('='), cell.size());
      const std::string_view key = cell.substr(0, equals),
                             value = cell.substr(std::min(equals + 1, cell.size()));
      if (key == "name") {
        made.name = value;
        if (made.name.view() != value) lexer_.refuse(csv_bad_header, "a name of 15 bytes at most");
      } else if (key == "module") made.module = whole(value, 0, most_voices);
      else if (key == "replica") made.replica = whole(value, 0, most_voices);
      else if (key == "shard") made.shard = whole(value, 0, most_voices);
      else if (key == "shards") made.shards = whole(value, 1, most_voices);
      else if (key == "stages") made.stages = whole(value, 1, most_stages);
      else if (key == "chunks") made.chunks = whole(value, 1, most_stages);
      else if (key == "microbatches") made.microbatches = whole(value, 1, most_microbatches);
      else if (key == "join") made.join = whole(value, 0, most_voices);
      else if (key == "group") made.group = whole(value, 1, most_microbatches);
      else if (key == "offload_beyond") made.offload_beyond = whole(value, 1, most_microbatches);
      else if (key == "lane") made.lane = whole(value, 0, lane::most_computing - 1);
      else if (cell == "frozen") made.learns = false;
      else if (cell == "fixed") made.fixed = true;
      else if (cell == "sums_each") made.sums_each = true;
      else if (cell == "gathers_each") made.sums_each = made.meets_each = true;
      else if (cell == "meets_each") made.meets_each = true;
      else if (key == "slots") slots = numbers(value);
      else
        lexer_.refuse(
            csv_bad_header,
            "one of name, module, replica, shard, shards, stages, chunks, microbatches, join, "
            "group, offload_beyond, lane, slots, frozen, fixed, sums_each, gathers_each, meets_each");
    }
    const std::string row = sentence({"row ", lexer_.row(), ": "});
    if (made.stages < 1 || made.microbatches < 1)
      fail(csv_bad_header, row + "a voice needs stages and microbatches");
    if (made.microbatches % made.group != 0)
      fail(csv_bad_header, row + "the group must divide the microbatches");
    if (!slots.empty() && slots.size() != as_size(made.stages))
      fail(csv_bad_header, row + "slots need a number for each stage");
    sheet_.voices.push_back(made);
    sheet_.slots.push_back(std::move(slots));
  }
  // Reads which microbatch of which voice reads which of another.
  void read_feed() {
    fed_cell made;
    for (const auto field :
         {&fed_cell::from, &fed_cell::from_microbatch, &fed_cell::to, &fed_cell::to_microbatch}) {
      if (!lexer_.next_cell())
        lexer_.refuse(csv_bad_header, "a voice and a microbatch of each end of a feed");
      const bool is_voice = field == &fed_cell::from || field == &fed_cell::to;
      made.*field = whole(lexer_.cell(), 0, is_voice ? most_voices : most_microbatches);
    }
    if (lexer_.next_cell()) lexer_.refuse(csv_bad_header, "the end of the row");
    sheet_.feeds.push_back(made);
  }
  std::int32_t whole(std::string_view value, std::int32_t least, isize most) const {
    std::string_view left = value;
    const std::int32_t got = number(left, most);
    if (value.empty() || !left.empty() || got < least)
      lexer_.refuse(csv_bad_header, "a whole number from " + std::to_string(least));
    return got;
  }
  std::vector<std::int32_t> numbers(std::string_view value) const {
    std::vector<std::int32_t> out;
    for (;;) {
      const std::size_t end = value.find(';');
      out.push_back(whole(value.substr(0, end), 0, most_microbatches));
      if (end == std::string_view::npos) return out;
      value.remove_prefix(end + 1);
    }
  }

  csv_lexer lexer_;
  csv_sheet sheet_;
  bool in_rows_ = true;  // behind the header
};

}  // namespace motet::detail
