// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/instruction.hpp>
#include <motet/schedule/core/messages.hpp>
#include <motet/schedule/core/program.hpp>

#include <string>
#include <string_view>

// Rows and cells of the CSV form of schedules, as torch.distributed.pipelining writes it: one row a rank,
// cells such as 0F7 (stage, operation, microbatch). What programs have beyond that takes words that torch
// refuses; docs/schedule/csv.md.

namespace motet::detail {

struct csv_word {
  std::string_view text;
  op what;
  // for the end of `what`; implied here, where a send or a reduction never holds up a rank
  bool wait = false;
  bool torch = false;  // torch knows it
  constexpr bool has_microbatch() const { return what < op::reduce_gradient || what > op::optimizer_step; }
};
inline constexpr csv_word csv_words[] = {
    {"F", op::forward, false, true},
    {"I", op::backward_input, false, true},
    {"W", op::backward_weight, false, true},
    {"B", op::backward, false, true},
    {"SEND_F", op::send_forward, false, true},
    {"RECV_F", op::receive_forward, false, true},
    {"SEND_B", op::send_backward, false, true},
    {"RECV_B", op::receive_backward, false, true},
    {"WAIT_SEND_F", op::send_forward, true, true},
    {"WAIT_SEND_B", op::send_backward, true, true},
    {"UNSHARD", op::gather_parameters, false, true},
    {"RESHARD", op::release_parameters, false, true},
    {"REDUCE_GRAD", op::reduce_gradient, false, true},
    {"WAIT_REDUCE_GRAD", op::reduce_gradient, true, true},
    {"f", op::forward_only},
    {"R", op::re_forward},
    {"JOIN", op::join},
    {"SEND_R", op::send_replay},
    {"RECV_R", op::receive_replay},
    {"STEP", op::optimizer_step},
    {"LOAD", op::load},
    {"OFFLOAD", op::offload},
    {"ONLOAD", op::fetch},
};
constexpr const csv_word* find_csv_word(std::string_view text) {
  for (const csv_word& each : csv_words)
    if (each.text == text) return &each;
  return nullptr;
}
constexpr const csv_word& csv_word_of(op what, bool wait = false) {
  for (const csv_word& each : csv_words)
    if (each.what == what && each.wait == wait) return each;
  return csv_words[0];
}
inline constexpr std::string_view csv_pair_word = "OVERLAP_F_B";

// The lane of an instruction where the file does not say: messages have a lane for each channel, in the order
// of their first use on the rank, as
// compile() numbers them.
class csv_lanes {
 public:
  explicit csv_lanes(isize places) : lanes_(6 * places, 0) {}
  void begin_rank() { next_ = lane::first_channel; }
  std::uint8_t of(const instruction& it, const voice* voices) {
    switch (it.what) {
      case op::reduce_gradient:
      case op::gather_parameters: return lane::reduce;
      case op::load:
      case op::offload:
      case op::fetch: return lane::copy;
      default: break;
    }
    if (it.what == op::join || it.what == op::optimizer_step) return lane::compute;
    if (!is_transfer(it.what)) return lane::of_computing(voices[it.voice].lane);
    const int kind = (static_cast<int>(it.what) - static_cast<int>(op::send_forward)) / 2;
    std::uint8_t& own =
        lanes_[2 * (3 * (voices[it.voice].first_place + it.stage) + kind) + (is_send(it.what) ? 1 : 0)];
    if (own == 0) own = next_ < lane::last_channel ? next_++ : next_;
    return own;
  }

 private:
  list<std::uint8_t> lanes_;  // of each place, kind of message and end
  std::uint8_t next_ = lane::first_channel;
};

// Text from outside, fit for a message.
inline std::string csv_shown(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out + (text.size() > 40 ? "...\"" : "\"");
}

// Takes a text apart into rows and cells, as Python's csv module does: cells may be quoted, rows end with any
// kind of line end.
class csv_lexer {
 public:
  explicit csv_lexer(std::string_view text) : text_(text) {}

  // Moves on to the next row; false behind the last.
  bool next_row() {
    if (at_ >= text_.size()) return false;
    ++row_;
    column_ = 0;
    open_ = true;
    return true;
  }
  // Moves on to the next cell; false at the end of the row. A row without any character has no cell.
  bool next_cell() {
    if (!open_) return false;
    if (column_ == 0 && ends_row()) return end_row();
    ++column_;
    if (at_ < text_.size() && text_[at_] == '"') {
      take_quoted();
    } else {
      const std::size_t first = at_;
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\r' && text_[at_] != '\n') ++at_;
      cell_ = trimmed(text_.substr(first, at_ - first));
    }
    if (at_ < text_.size() && text_[at_] == ',') ++at_;
    else end_row();
    return true;
  }
  std::string_view cell() const { return cell_; }
  std::int32_t row() const { return row_; }
  std::int32_t column() const { return column_; }

  [[noreturn]] void refuse(const message& why, const std::string& wanted) const {
    refuse_at(why, row_, column_, cell_, wanted);
  }
  [[noreturn]] static void refuse_at(const message& why, std::int32_t row, std::int32_t column,
                                     std::string_view cell, const std::string& wanted) {
    fail(why, sentence({"row ", row, ", column ", column, ": got ", csv_shown(cell), ", wanted ", wanted}));
  }

  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
  }

 private:
  bool ends_row() const { return at_ >= text_.size() || text_[at_] == '\r' || text_[at_] == '\n'; }
  bool end_row() {
    open_ = false;
    if (at_ >= text_.size()) return false;
    const char end = text_[at_++];
    if (end == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
    return false;
  }
  void take_quoted() {
    const std::size_t first = at_++;
    unquoted_.clear();
    for (;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) {
        cell_ = text_.substr(first);
        refuse(csv_bad_quote, "a closing quote");
      }
      unquoted_ += text_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (at_ >= text_.size() || text_[at_] != '"') break;
      unquoted_ += '"';
      ++at_;
    }
    cell_ = unquoted_;
    if (!ends_row() && text_[at_] != ',') {
      cell_ = text_.substr(first, at_ + 1 - first);
      refuse(csv_bad_quote, "a comma or the end of the row behind the closing quote");
    }
  }
  std::string_view text_, cell_;
  std::string unquoted_;
  std::size_t at_ = 0;
  std::int32_t row_ = 0, column_ = 0;
  bool open_ = false;
};

}  // namespace motet::detail
