// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/draw/draw_bars.hpp>
#include <motet/schedule/draw/draw_legend.hpp>

namespace motet {

struct svg_style {
  std::string title = {};
  std::string unit = {};  // of time, behind numbers: "ms"
  // pixels from the first start to the last end; 0: as many as labels need, within a screen
  double width = 0;
  double height = 0;  // pixels of a rank's computations; 0: as many as the number of ranks leaves
  // of more, first messages and then all are drawn without hover texts, thin ones merged
  isize most_bars = 50000;
  int first = 1;  // the number of the first microbatch
  // in an overlay, what the run's times are multiplied by; 0: plan and run end together
  double run_times = 0;
};

namespace detail {

class svg_picture {
 public:
  // `run` may be null: then it is a picture of the plan alone.
  svg_picture(const program& of, const timeline& plan, const timeline* run, const svg_style& style)
      : of_(of), style_(style), names_(of, style.first), count_(run != nullptr ? 2 : 1), rows_(of.ranks()) {
    sources_[0] = {&plan, span_of(plan)};
    span_ = sources_[0].span;
    if (run != nullptr) {
      const time_span own = span_of(*run);
      const double ratio = own.length() > 0 && span_.length() > 0 ? span_.length() / own.length() : 1;
      sources_[1] = {run, own, style.run_times > 0 ? style.run_times : ratio};
      span_.low = least_of(span_.low, own.low * sources_[1].times);
      span_.high = most_of(span_.high, own.high * sources_[1].times);
    }
    survey();
    lay_out();
  }

  std::string draw() {
    for (std::int32_t r = 0; r < of_.ranks(); ++r) put_rank(r);
    return frame();
  }

 private:
  struct source {
    const timeline* when = nullptr;
    time_span span = {};
    double times = 1;
    bubble_share bubble = {};
  };
  struct row {
    bool side[lane::first_channel] = {};       // lanes besides those that compute
    bool computes[lane::most_computing] = {};  // further lanes that do
    isize channels = 0;
    double y = 0;
  };
  static constexpr double margin = 16, share_width = 62;
  static constexpr isize most_channels = 8;

  static double least_of(double a, double b) { return a < b ? a : b; }
  static double most_of(double a, double b) { return a > b ? a : b; }
  static double between(double low, double x, double high) { return x < low ? low : x > high ? high : x; }

  // Counts what there is to draw, and measures its labels.
  void survey() {
    shortest_ = span_.length();
    double sums[op_count] = {}, counts[op_count] = {};
    for (int k = 0; k < count_; ++k) {
      rank_bars bars(of_, *sources_[k].when);
      for (std::int32_t r = 0; r < of_.ranks(); ++r) {
        bars.read(r);
        isize channels = 0;
        for (int l = 0; l < bars.lanes(); ++l) {
          const list<bar>& own = bars.lane(l);
          if (own.empty()) continue;
          const bool message = !lane::computes(l) && l >= lane::first_channel;
          (message ? messages_ : bars_) += own.size();
          ++(message ? message_lanes_ : lanes_);
          if (lane::computes(l)) {
            rows_[r].computes[lane::which_computing(l)] = l != lane::compute;
            measure(own, sources_[k].times, sums, counts);
          } else if (message) ++channels;
          else rows_[r].side[l] = true;
        }
        rows_[r].channels =
            least_index(most_channels, channels > rows_[r].channels ? channels : rows_[r].channels);
      }
    }
    for (int what = 0; what < op_count; ++what)
      if (counts[what] > 0) longest_ = most_of(longest_, sums[what] / counts[what]);
    for (std::int32_t r = 0; r < of_.ranks(); ++r) {
      const isize wide = letters_in(names_.head(r));
      head_ = wide > head_ ? wide : head_;
    }
  }
  static isize least_index(isize a, isize b) { return a < b ? a : b; }
  void measure(const list<bar>& lane, double times, double* sums, double* counts) {
    for (const bar& each : lane) {
      const instruction& it = of_.instructions[each.first];
      if (!is_compute(it.what) || it.what == op::join) continue;
      const double time = (each.finish - each.start) * times;
      shortest_ = least_of(shortest_, time);
      sums[static_cast<int>(it.what)] += time;
      ++counts[static_cast<int>(it.what)];
      label_ = most_of(label_, static_cast<double>(names_.label(it).size()));
      number_ = most_of(number_, static_cast<double>(names_.number(it).size()));
    }
  }

  void lay_out() {
    const double ranks = of_.ranks() > 0 ? of_.ranks() : 1, length = span_.length();
    bar_ = style_.height > 0 ? between(0.5, style_.height, 400) : between(1, 720 / (ranks * count_), 26);
    if (style_.height <= 0 && bar_ < 3) bar_ = std::floor(bar_);
    side_ = bar_ >= 5 ? 0.5 * bar_ : 0;
    channel_ = bar_ >= 5 ? between(1, bar_ / 7, 3) : 0;
    gap_ = bar_ < 3 ? 0 : bar_ < 8 ? 1 : between(2, bar_ / 4, 7);
    for (row& each : rows_) {
      each.y = height_;
      height_ += count_ * content(each) + (count_ - 1) * gap_ / 2 + gap_;
    }
    every_ = static_cast<std::int32_t>(round_step(most_of(1, 13 * ranks / most_of(height_, 1))));

    const double wanted = shortest_ > 0 ? (6 + 9 * label_) * length / shortest_ : 640;
    width_ = style_.width > 0 ? between(10, style_.width, 100000) : between(640, wanted, 1600);
    scale_ = length > 0 ? width_ / length : 0;
    rank_width_ = legend_letter * static_cast<double>(5 + std::to_string(of_.ranks()).size());
    left_ = margin + rank_width_ + (head_ > 0 ? legend_letter * static_cast<double>(head_) + 8 : 0) +
            (count_ > 1 ? 40 : 0) + 6;
    total_ = left_ + width_ + (count_ > 1 ? 2 : 1) * share_width + 10;
    // One size of letters for all, by the longest number in bars of the longest kind; or no labels.
    font_ = least_of(least_of(12, 0.6 * bar_), (0.92 * longest_ * scale_ - 2) / (0.62 * most_of(number_, 1)));
    if (font_ < 7.5) font_ = 0;
    whole_labels_ = letters_width(label_) <= longest_ * scale_;
    // Without hover texts a lane shows at most so many columns.
    column_ =
        most_of(0.5, width_ * static_cast<double>(lanes_ + (channel_ > 0 ? message_lanes_ : 0)) / 2.5e6);
  }
  double content(const row& of) const {
    const int sides = of.side[lane::aside] + of.side[lane::reduce] + of.side[lane::copy];
    return (1 + further(of)) * bar_ + sides * side_ + static_cast<double>(of.channels) * channel_;
  }
  // Lanes that compute, behind the first.
  static int further(const row& of) {
    int found = 0;
    for (const bool each : of.computes) found += each ? 1 : 0;
    return found;
  }
  bool shares_fit() const { return count_ == 1 || bar_ + gap_ / 2 >= 12; }
  double letters_width(double count) const { return 0.62 * font_ * count + 2; }

  double x_of(double time) const { return left_ + (time - span_.low) * scale_; }
  look look_of(std::int32_t i) const {
    const instruction& it = of_.instructions[i];
    const isize place = names_.place(it);
    if (place < 0) return {0, it.what, 0, 1};
    const voice& sings = of_.voices[it.voice];
    return {sings.module, it.what, names_.chunk(static_cast<std::int32_t>(place)), sings.chunks};
  }

  void put_rank(std::int32_t rank) {
    const row& own = rows_[rank];
    const bool named = rank % every_ == 0;
    const double whole = count_ * content(own) + (count_ - 1) * gap_ / 2,
                 right = left_ + width_ + share_width;
    double idle[2] = {0, 0};
    for (int k = 0; k < count_; ++k) {
      const double y = own.y + k * (content(own) + gap_ / 2), text = y + bar_ / 2 + 4;
      rank_bars bars(of_, *sources_[k].when);
      bars.read(rank);
      idle[k] = idle_share(bars, sources_[k].span);
      sources_[k].bubble.add(idle[k]);
      backs_ << "<rect";
      backs_.box(left_, y, width_, (1 + further(own)) * bar_) << "/>";
      put_source(bars, sources_[k].times, y, own);
      if (!named || !shares_fit()) continue;
      if (count_ > 1) marks_.words(left_ - 8, text, "n e", k == 0 ? "plan" : "run");
      marks_.words(right, text, "n e", percent(idle[k]));
    }
    bars_text_ << "\n";
    if (!named) return;
    const double text = own.y + (count_ > 1 ? whole : bar_) / 2 + 4;
    marks_.words(margin, text, "h", "rank " + std::to_string(rank));
    if (!names_.head(rank).empty()) marks_.words(margin + rank_width_, text, "n", names_.head(rank));
    if (count_ > 1)
      marks_.words(right + share_width, text, "h e",
                   (idle[1] >= idle[0] ? "+" : "") + percent(idle[1] - idle[0]));
  }

  void put_source(const rank_bars& bars, double times, double y, const row& place) {
    const bool hover = bars_ <= style_.most_bars, hover_messages = bars_ + messages_ <= style_.most_bars;
    put_lane(bars.lane(lane::compute), times, y, bar_, hover);
    y += bar_;
    for (int k = 1; k < lane::most_computing; ++k) {
      if (!place.computes[k]) continue;
      put_lane(bars.lane(lane::of_computing(k)), times, y, bar_, hover);
      y += bar_;
    }
    for (int l = lane::aside; l < lane::first_channel && side_ > 0; ++l) {
      if (!place.side[l]) continue;
      put_lane(bars.lane(l), times, y, side_, hover);
      y += side_;
    }
    isize channel = 0;
    for (int l = lane::first_channel; l <= lane::last_channel && l < bars.lanes() && channel_ > 0; ++l) {
      if (bars.lane(l).empty()) continue;
      put_lane(bars.lane(l), times, y + static_cast<double>(channel++ % most_channels) * channel_, channel_,
               hover_messages);
    }
  }

  void put_lane(const list<bar>& lane, double times, double y, double height, bool hover) {
    if (!hover) return put_paths(lane, times, y, height);
    svg_writer labels;
    for (const bar& each : lane) {
      const std::int64_t from = svg_writer::hundredths(x_of(each.start * times)),
                         to = svg_writer::hundredths(x_of(each.finish * times));
      for (std::int32_t k = 0; k < each.count; ++k) {
        // Computations that overlap share the height.
        const std::int32_t i = each.first + k;
        const double own = height / each.count, top = y + k * own;
        const look kind = look_of(i);
        used_.add(kind);
        bars_text_ << "<rect class=\"c" << kind.number() << "\"";
        bars_text_.box(from, to, top, own) << "><title>";
        put_hover(i, each.start, each.finish);
        bars_text_ << "</title></rect>";
        put_label(labels, of_.instructions[i], kind.dark(), from, to, top, own);
      }
    }
    bars_text_ << labels.text();
  }
  // The whole label where it fits, else the number, else nothing.
  void put_label(svg_writer& out, const instruction& it, bool dark, std::int64_t from, std::int64_t to,
                 double y, double height) const {
    if (font_ == 0 || is_transfer(it.what)) return;
    const double wide = static_cast<double>(to - from) / 100, font = least_of(font_, 0.75 * height);
    const auto fits = [&](const std::string& text) {
      return !text.empty() && letters_width(static_cast<double>(text.size())) <= wide;
    };
    std::string text = names_.label(it);
    if (!whole_labels_ || !fits(text)) text = names_.number(it);
    if (!fits(text) || font < 6) return;
    out << (dark ? "<text class=\"b w\" x=\"" : "<text class=\"b\" x=\"")
        << static_cast<double>(from + to) / 200 << "\" y=\"" << y + height / 2 + 0.36 * font;
    if (font < font_) out << "\" style=\"font-size:" << font << "px";
    out << "\">" << text << "</text>";
  }
  // One path for each look: pieces of a line as thick as the lane, in whole columns.
  void put_paths(const list<bar>& lane, double times, double y, double height) {
    const auto columns = static_cast<isize>(width_ / column_);
    if (columns < 1 || !(span_.length() > 0)) return;
    const double slice = span_.length() / static_cast<double>(columns);
    share_columns(
        lane, span_.low / times, slice / times, columns, look::count,
        [&](const bar& of) { return look_of(of.first).number(); }, shown_);
    for (isize c = 0; c < columns; ++c)
      if (shown_[c] >= 0) shown_[c] = look_of(lane[shown_[c]].first).number();
    bool done[look::count] = {};
    for (isize c = 0; c < columns; ++c) {
      const std::int32_t number = shown_[c];
      if (number < 0 || done[number]) continue;
      done[number] = true;
      used_.add(look(number));
      bars_text_ << "<path transform=\"translate(" << left_ << " " << y + height / 2 << ")scale("
                 << short_number(width_ / static_cast<double>(columns)) << " 1)\" stroke=\""
                 << look(number).colour() << "\" stroke-width=\"" << height << "\" d=\"M0 0";
      isize drawn = 0;
      for (isize i = c; i < columns; ++i) {
        if (shown_[i] != number) continue;
        isize end = i + 1;
        while (end < columns && shown_[end] == number) ++end;
        bars_text_ << "m" << std::int64_t{i - drawn} << " 0h" << std::int64_t{end - i};
        drawn = i = end;
      }
      bars_text_ << "\"/>";
    }
  }
  void put_hover(std::int32_t i, double start, double finish) {
    const instruction& it = of_.instructions[i];
    bars_text_.escaped(names_.label(it)) << ": " << words_of(it.what);
    if (it.what == op::join) {
      bars_text_ << " " << it.voice << ", group " << names_.number(it);
    } else if (names_.place(it) >= 0) {
      const std::string module = names_.module(it.voice);
      if (!module.empty()) bars_text_.escaped(", " + module);
      bars_text_ << ", stage " << it.stage;
      if (it.microbatch >= 0) bars_text_ << ", microbatch " << names_.number(it);
    }
    if (it.peer >= 0) bars_text_ << (is_send(it.what) ? ", to rank " : ", from rank ") << it.peer;
    bars_text_ << ", " << short_number(start) << " to " << short_number(finish);
    bars_text_.escaped(unit());
  }
  std::string unit() const { return style_.unit.empty() ? "" : " " + clean_name(style_.unit); }

  std::string summary(int k) const {
    return "makespan " + short_number(sources_[k].span.length()) + unit() + ", bubble " +
           percent(sources_[k].bubble.value());
  }
  std::string subtitle() const {
    std::string text = summary(0);
    if (count_ > 1)
      text = "Plan (above): " + text + ". Run (below): " + summary(1) + ", drawn x " +
             short_number(sources_[1].times);
    text += ". Microbatches from " + std::to_string(style_.first);
    for (const voice& each : of_.voices) {
      if (each.chunks < 2) continue;
      text += "; later chunks are lighter";
      break;
    }
    return text + ".";
  }

  std::string frame() const {
    svg_writer legend;
    const double top = 86 + put_legend(legend, of_, names_, used_, margin, total_ - 2 * margin),
                 bottom = top + height_ + 14;
    svg_writer out;
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << total_ << "\" height=\"" << bottom
        << "\" viewBox=\"0 0 " << total_ << " " << bottom
        << "\" font-family=\"system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif\" "
           "font-size=\"11\">\n<style>text{pointer-events:none;stroke:none}"
           "path{fill:none}.h{fill:#1f2530}.n{fill:#5d6675}.e{text-anchor:end}.m{text-anchor:middle}.t{font-"
           "size:16px;font-weight:600;fill:#1f2530}."
           "b{"
           "text-anchor:middle;fill:#16202e;font-size:"
        << font_ << "px}.w{fill:#fff}";
    for (int number = 0; number < look::count; ++number)
      if (used_.has(look(number))) out << ".c" << number << "{fill:" << look(number).colour() << "}";
    out << "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    out.words(margin, 29, "t",
              style_.title.empty() ? std::to_string(of_.ranks()) + " ranks" : clean_name(style_.title));
    out.words(margin, 49, "n", subtitle());
    out << "\n<g transform=\"translate(0 60)\">" << legend.text() << "</g>\n<g transform=\"translate(0 "
        << top << ")\">\n<g fill=\"#eceef1\">" << backs_.text() << "</g>\n";
    put_axis(out);
    out << (shortest_ * scale_ >= 6 && bar_ >= 8 ? "<g stroke=\"#fff\" stroke-width=\".6\">\n" : "<g>\n")
        << bars_text_.text() << "</g>\n"
        << marks_.text() << "\n</g>\n</svg>\n";
    return out.text();
  }
  void put_axis(svg_writer& out) const {
    if (shares_fit()) out.words(left_ + width_ + share_width, -10, "n e", "idle");
    if (count_ > 1) out.words(left_ + width_ + 2 * share_width, -10, "n e", "run - plan");
    const double step = span_.length() > 0 ? round_step(span_.length() * 70 / width_) : 0;
    if (!(step > 0)) {
      out.words(left_, -10, "n m", "0") << "\n";
      return;
    }
    out << "<path stroke=\"#cfd4db\" d=\"";
    svg_writer numbers;
    double k = std::ceil(span_.low / step - 1e-9);
    for (int ticks = 0; ticks < 2000 && k * step <= span_.high + 1e-9 * span_.length(); ++ticks, ++k) {
      out << "M" << x_of(k * step) << " -6V" << height_;
      numbers.words(x_of(k * step), -10, "n m", short_number(k * step));
    }
    out << "\"/>" << numbers.text() << "\n";
  }

  const program& of_;
  const svg_style& style_;
  drawn_names names_;
  int count_;
  list<row> rows_;
  source sources_[2];
  time_span span_;                                                 // of the picture
  isize bars_ = 0, messages_ = 0, lanes_ = 0, message_lanes_ = 0;  // how many there are
  double shortest_ = 0, longest_ = 0, label_ = 1, number_ = 1;     // computations and their labels
  isize head_ = 0;
  double bar_ = 0, side_ = 0, channel_ = 0, gap_ = 0, height_ = 0;  // vertical
  double width_ = 0, scale_ = 0, left_ = 0, total_ = 0, rank_width_ = 0, column_ = 1, font_ = 0;
  bool whole_labels_ = false;
  std::int32_t every_ = 1;  // how many ranks share a name
  list<std::int32_t> shown_;
  svg_writer backs_, bars_text_, marks_;
  looks used_;
};

}  // namespace detail

// A picture of a program in time, complete in itself: a row of bars for each rank, thin lines below for its
// messages, its idle share on the right. Bars tell on hover what they are. What takes no time is not drawn.
// Asks for: a program, and when its instructions ran: from simulate(), or measured.
// Memory: the picture's text; for more than .most_bars computations without hover texts.
// Errors: none of its own.
// Example:
//   std::string picture(const program& steps, const timeline& when) {
//     return draw_svg(steps, when, {.title = "1F1B", .unit = "ms"});
//   }
inline std::string draw_svg(const program& of, const timeline& when, const svg_style& style = {}) {
  return detail::svg_picture(of, when, nullptr, style).draw();
}

// Two rows for each rank, plan above run, on one axis; on the right how much more of its time the rank idled
// in the run.
inline std::string draw_overlay_svg(const program& of, const timeline& plan, const timeline& run,
                                    const svg_style& style = {}) {
  return detail::svg_picture(of, plan, &run, style).draw();
}

}  // namespace motet
