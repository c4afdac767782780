// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace motet {

// "1:02:03", "2:03".
inline std::string clock_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9)) return "-";
  const auto whole = static_cast<long>(std::lround(seconds));
  char out[48];
  if (whole >= 3600)
    std::snprintf(out, sizeof out, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else std::snprintf(out, sizeof out, "%ld:%02ld", whole / 60, whole % 60);
  return out;
}

// Work that takes so long from `now` on is done then: "0:45, at 14:32", "30:00:00, on Thu 3 Dec at 14:32".
inline std::string finish_text(double seconds, std::time_t now) {
  const std::time_t end = now + static_cast<std::time_t>(std::lround(std::clamp(seconds, 0.0, 1e9)));
  std::tm parts{};
  localtime_r(&end, &parts);
  char at[48];
  std::strftime(at, sizeof at, seconds < 12 * 3600 ? ", at %H:%M" : ", on %a %e %b at %H:%M", &parts);
  return clock_text(seconds) + at;
}

// "1.25 GB", "312 MB": powers of ten.
inline std::string bytes_text(double bytes) {
  char out[48];
  if (bytes >= 1e9) std::snprintf(out, sizeof out, "%.2f GB", bytes / 1e9);
  else if (bytes >= 1e6) std::snprintf(out, sizeof out, "%.0f MB", bytes / 1e6);
  else std::snprintf(out, sizeof out, "%.0f kB", bytes / 1e3);
  return out;
}

// Most memory that this process ever held.
inline isize peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<isize>(usage.ru_maxrss);
#else
  return static_cast<isize>(usage.ru_maxrss) * 1024;
#endif
}

// One of several losses, by the name that people know it by.
struct named_loss {
  std::string name;
  double loss = 0;
};

struct step_line {
  isize step = 0, steps = 0;  // counted from 1
  double loss = 0, gradient_norm = 0, rate = 0;
  double seconds = 0, samples_per_second = 0;
  double utilisation = 0;  // of the named peak; 0: not known
  isize memory = 0;
  double data_wait = 0;             // share of the time since the last line
  double reordered = 0;             // how many times as fast the order of its samples made it; 0: it has none
  std::string score{};              // that it played, where several take turns
  isize queue = -1;                 // batches that wait, made elsewhere; negative: there is no queue
  double left = 0;                  // seconds
  std::vector<named_loss> parts{};  // of the loss, where there are several
};

inline std::string text_of(const step_line& line) {
  char out[288], order[40] = "", queue[32] = "", number[32];
  std::string parts;
  for (const named_loss& each : line.parts) {
    std::snprintf(number, sizeof number, " %.4f", each.loss);
    parts += (parts.empty() ? " (" : ", ") + each.name + number;
  }
  if (!parts.empty()) parts += ")";
  if (line.queue >= 0) std::snprintf(queue, sizeof queue, "  queue %td", line.queue);
  if (line.reordered > 0) std::snprintf(order, sizeof order, "  reordered %.2fx", line.reordered);
  const std::string score = line.score.empty() ? "" : "  score " + line.score;
  std::snprintf(
      out, sizeof out, "step %td/%td %3.0f%%  loss %.4f", line.step, line.steps,
      line.steps > 0 ? 100.0 * static_cast<double>(line.step) / static_cast<double>(line.steps) : 0.0,
      line.loss);
  const std::string losses = out + parts;
  std::snprintf(
      out, sizeof out,
      "  norm %.3f  lr %.2e  %.0f ms  %.1f samples/s  MFU %.1f%%  mem %s  data-wait %.1f%%%s%s%s  ETA %s",
      line.gradient_norm, line.rate, line.seconds * 1e3, line.samples_per_second, line.utilisation * 100,
      bytes_text(static_cast<double>(line.memory)).c_str(), line.data_wait * 100, queue, order, score.c_str(),
      clock_text(line.left).c_str());
  return losses + out;
}

// Lines in a pipe or a file; on a terminal one line with a bar that is drawn anew.
// Asks for: a file that is open; a line for each step, or for some.
// Memory: none beyond a line.
// Errors: none of its own.
// Example:
//   void told() {
//     progress lines;
//     lines.show({.step = 1, .steps = 500, .loss = 4.2});
//     lines.say("done");
//   }
class progress {
 public:
  explicit progress(std::FILE* out = stdout) : out_(out), live_(isatty(fileno(out)) != 0) {}
  progress(std::FILE* out, bool live) : out_(out), live_(live) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { finish(); }

  bool live() const { return live_; }

  void show(const step_line& line) {
    const std::string text = text_of(line);
    if (!live_) {
      std::fprintf(out_, "%s\n", text.c_str());
      std::fflush(out_);
      return;
    }
    const int columns = width();
    const double done = line.steps > 0 ? static_cast<double>(line.step) / static_cast<double>(line.steps) : 0;
    std::string shown = bar(done, 20) + " " + text;
    // A line that wraps cannot be drawn anew.
    if (columns > 0) shown = clip(shown, columns - 1);
    std::fprintf(out_, "\r%s\x1b[K", shown.c_str());
    std::fflush(out_);
    open_ = true;
  }
  // A line of its own that stays.
  void say(const std::string& text) {
    if (open_) std::fputs("\r\x1b[K", out_);
    open_ = false;
    std::fprintf(out_, "%s\n", text.c_str());
    std::fflush(out_);
  }
  void finish() {
    if (open_) std::fputc('\n', out_);
    open_ = false;
    std::fflush(out_);
  }

  static std::string bar(double done, int cells) {
    static constexpr const char* eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                              "\u258c", "\u258b", "\u258a", "\u2589"};
    const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * cells * 8);
    std::string out = "\u2595";
    for (int i = 0; i < full / 8; ++i) out += "\u2588";
    int drawn = full / 8;
    if (full % 8 != 0) {
      out += eighths[full % 8];
      ++drawn;
    }
    out.append(as_size(cells - drawn), ' ');
    return out + "\u258f";
  }
  // The first `columns` letters of UTF-8 text.
  static std::string clip(const std::string& text, int columns) {
    std::size_t at = 0;
    for (int seen = 0; at < text.size(); ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xc0u) != 0x80u && ++seen > columns) break;
    }
    return text.substr(0, at);
  }

 private:
  int width() const {
    winsize size{};
    return ioctl(fileno(out_), TIOCGWINSZ, &size) == 0 ? static_cast<int>(size.ws_col) : 0;
  }

  std::FILE* out_;
  bool live_;
  bool open_ = false;
};

}  // namespace motet
