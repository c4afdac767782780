// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/draw/draw_bars.hpp>
#include <motet/schedule/draw/draw_names.hpp>

namespace motet {

struct text_style {
  int width = 120;  // columns of the terminal
  double unit = 0;  // time of one column; 0: as long as every label still fits, if the width allows
  int first = 1;    // the number of the first microbatch
};

namespace detail {

// One rank after the other; a lane other than the compute lane has a line of its own where something takes
// time in it.
class text_picture {
 public:
  text_picture(const program& of, const timeline& when, const text_style& style)
      : of_(of), names_(of, style.first), bars_(of, when), span_(span_of(when)) {
    read_all();
    choose_unit(style);
  }

  std::string draw() {
    std::string rows;
    bubble_share bubble;
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      bars_.read(r);
      const double own = idle_share(bars_, span_);
      bubble.add(own);
      put_row(rows, head(r), bars_.lane(lane::compute), '.');
      const std::string share = percent(own);
      rows.append(share.size() < 8 ? 8 - share.size() : 1, ' ') += share + "\n";
      each_side([&](int l) {
        put_row(rows, side_head(l), bars_.lane(l), lane::computes(l) ? '.' : ' ');
        while (rows.back() == ' ') rows.pop_back();
        rows += "\n";
      });
    }
    return axis() + rows + "makespan " + short_number(span_.length()) + ", bubble " +
           percent(bubble.value()) + (columns_ > 0 ? ", a column is " + short_number(unit_) : "") + "\n" +
           key();
  }

 private:
  std::string head(std::int32_t rank) const {
    return sentence({"rank ", rank, (names_.head(rank).empty() ? "" : " " + names_.head(rank))});
  }
  std::string label(const bar& of) const {
    std::string text = names_.label(of_.instructions[of.first]);
    for (std::int32_t k = 1; k < of.count; ++k) text += "+" + names_.label(of_.instructions[of.first + k]);
    return text;
  }

  // visit(lane) for those that have a line below their rank's: others that compute, then the rest.
  template <class Visit>
  void each_side(Visit visit) const {
    for (int l = lane::last_channel + 1; l < bars_.lanes(); ++l)
      if (!bars_.lane(l).empty()) visit(l);
    for (int l = lane::aside; l < lane::first_channel && l < bars_.lanes(); ++l)
      if (!bars_.lane(l).empty()) visit(l);
  }
  static std::string side_head(int lane) {
    if (lane::computes(lane)) return "  lane " + std::to_string(lane::which_computing(lane));
    return lane == lane::aside ? "  aside" : lane == lane::reduce ? "  reduce" : "  copy";
  }

  // Measures heads and labels, and finds the shortest computation.
  void read_all() {
    shortest_ = span_.length();
    const auto widen = [](isize& to, isize wide) { to = wide > to ? wide : to; };
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      widen(head_, letters_in(head(r)));
      bars_.read(r);
      each_side([&](int l) { widen(head_, letters_in(side_head(l))); });
      for (int l = 0; l < bars_.lanes(); ++l) {
        for (const bar& each : bars_.lane(l)) {
          const op what = of_.instructions[each.first].what;
          if (!lane::computes(l) || !is_compute(what) || what == op::join) continue;
          const double time = each.finish - each.start;
          shortest_ = time < shortest_ ? time : shortest_;
          widen(label_, static_cast<isize>(label(each).size()));
        }
      }
    }
  }
  void choose_unit(const text_style& style) {
    constexpr isize most_columns = 100000;
    if (!(shortest_ > 0)) return;
    const isize left = style.width - (head_ + 1) - 8;
    const double room = left < 20 ? 20 : static_cast<double>(left), length = span_.length();
    if (style.unit > 0 && length / style.unit <= most_columns) {
      unit_ = style.unit;
    } else {
      isize each = label_ + 1;
      while (each > 0 && length / shortest_ * static_cast<double>(each) > room * (1 + 1e-9)) --each;
      unit_ = each > 0 ? shortest_ / static_cast<double>(each) : length / room;
    }
    columns_ = static_cast<isize>(std::ceil(length / unit_ - 1e-6));
  }

  void put_row(std::string& out, const std::string& head, const list<bar>& lane, char nothing) {
    out += head;
    out.append(as_size(head_ + 1 - letters_in(head)), ' ');
    share_columns(
        lane, span_.low, unit_, columns_, op_count,
        [&](const bar& of) { return static_cast<isize>(of_.instructions[of.first].what); }, shown_);
    for (isize c = 0; c < columns_;) {
      isize end = c + 1;
      while (end < columns_ && shown_[end] == shown_[c]) ++end;
      const auto wide = as_size(end - c);
      if (shown_[c] < 0) out.append(wide, nothing);
      else put_cell(out, lane[shown_[c]], wide);
      c = end;
    }
  }
  // "B3--- ", or letters where the label does not fit.
  void put_cell(std::string& out, const bar& of, std::size_t wide) {
    for (std::int32_t k = 0; k < of.count; ++k)
      used_[static_cast<int>(of_.instructions[of.first + k].what)] = true;
    const std::string text = label(of);
    if (text.size() > wide || shortest_ < 2 * unit_) {
      for (std::size_t i = 0; i < wide; ++i)
        out += letter_of(of_.instructions[of.first + static_cast<std::int32_t>(i) % of.count].what);
      return;
    }
    out += text;
    if (wide > text.size()) out.append(wide - text.size() - 1, '-') += ' ';
  }

  std::string axis() const {
    if (columns_ == 0) return {};
    const double step = round_step(8 * unit_);
    std::string line(as_size(head_ + 1), ' ');
    for (double k = std::ceil(span_.low / step - 1e-9); k * step < span_.high; ++k) {
      const auto column = as_size(head_ + 1) + as_size(std::llround((k * step - span_.low) / unit_));
      if (column > line.size()) line.append(column - line.size(), ' ');
      line += short_number(k * step) + " ";
    }
    while (line.back() == ' ') line.pop_back();
    return line + "\n";
  }
  std::string key() const {
    std::string text;
    const auto entry = [&](const std::string& mark, const std::string& words) {
      text += text.empty() ? "" : ", ";
      text += mark + " " + words;
    };
    for (int what = 0; what < op_count; ++what)
      if (used_[what])
        entry(std::string(1, letter_of(static_cast<op>(what))), words_of(static_cast<op>(what)));
    for (std::int32_t v = 0; names_.marked() && v < of_.voices.size(); ++v)
      entry(drawn_names::voice_mark(v), names_.module(v));
    return text.empty() ? "" : text + "\n";
  }

  const program& of_;
  drawn_names names_;
  rank_bars bars_;
  time_span span_;
  double unit_ = 1, shortest_ = 0;
  isize head_ = 0, label_ = 1, columns_ = 0;
  list<std::int32_t> shown_;
  bool used_[op_count] = {};
};

}  // namespace detail

// A picture for a terminal: a line for each rank, time from left to right, dots where it is idle.
// Asks for: a program, and when its instructions ran: from simulate(), or measured.
// Memory: a line for each rank.
// Errors: none of its own.
// Example:
//   std::string picture(const program& steps, const timeline& when) {
//     return draw_text(steps, when, {.width = 80});
//   }
inline std::string draw_text(const program& of, const timeline& when, const text_style& style = {}) {
  return detail::text_picture(of, when, style).draw();
}

// The order in which each rank computes, as papers list it: "F1 F2 S1 B1". Microbatches are counted from
// `first`.
inline std::string draw_list(const program& of, int first = 1) {
  const detail::drawn_names names(of, first);
  std::string out;
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    out += sentence({"rank ", r, (names.head(r).empty() ? "" : " " + names.head(r)), ":"});
    bool joined = false;
    for (const instruction& each : of.role(r)) {
      if (!is_compute(each.what)) continue;
      out += (joined ? "+" : " ") + names.label(each);
      joined = each.paired;
    }
    out += "\n";
  }
  return out;
}

}  // namespace motet
