// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/progress.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
std::string written(bool live) {
  std::FILE* file = std::tmpfile();
  {
    progress out(file, live);
    step_line line{.step = 1,
                   .steps = 4,
                   .loss = 0.5,
                   .gradient_norm = 1.25,
                   .rate = 1e-3,
                   .seconds = 0.1,
                   .samples_per_second = 640,
                   .utilisation = 0.5,
                   .memory = 1000000,
                   .data_wait = 0.01,
                   .left = 65};
    out.show(line);
    out.say("news");
    line.step = 2;
    line.reordered = 1.25;
    line.left = 3700;
    out.show(line);
  }
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}
}  // namespace

TEST_CASE("in a pipe every step is a plain line") {
  const std::string text = written(false);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("step 1/4  25%  loss 0.5000  norm 1.250  lr 1.00e-03  100 ms  640.0 samples/s  MFU 50.0%  "
                  "mem 1 MB  data-wait 1.0%  ETA 1:05\n") == 0);
  CHECK(text.find("\nnews\n") != std::string::npos);
  CHECK(text.find("  data-wait 1.0%  reordered 1.25x  ETA 1:01:40\n") != std::string::npos);
}

TEST_CASE("on a terminal one line is drawn anew and ends with a line feed") {
  const std::string text = written(true);
  CHECK(text.find("\r") == 0);
  CHECK(text.find("\x1b[Knews\n") != std::string::npos);
  CHECK(text.back() == '\n');
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  CHECK(lines == 2);
}

TEST_CASE("the bar fills in eighths of a cell and never leaves its width") {
  CHECK(progress::bar(0, 2) == "\u2595  \u258f");
  CHECK(progress::bar(0.5, 2) == "\u2595\u2588 \u258f");
  CHECK(progress::bar(0.25, 2) == "\u2595\u258c \u258f");
  CHECK(progress::bar(7, 2) == "\u2595\u2588\u2588\u258f");
  CHECK(progress::clip("\u2588\u2588ab", 3) == "\u2588\u2588a");
  CHECK(progress::clip("ab", 9) == "ab");
}

TEST_CASE("times, sizes and the process's memory") {
  CHECK(clock_text(0.4) == "0:00");
  CHECK(clock_text(125) == "2:05");
  CHECK(clock_text(-1) == "-");
  CHECK(bytes_text(1.5e9) == "1.50 GB");
  CHECK(bytes_text(2e6) == "2 MB");
  CHECK(peak_memory() > 100000);
}

TEST_CASE("the end of a run is told as a time to wait and a time of day, of a long one with its day") {
  const std::time_t noon = [] {
    std::tm at{};
    at.tm_year = 126, at.tm_mon = 11, at.tm_mday = 3, at.tm_hour = 12, at.tm_isdst = -1;
    return std::mktime(&at);
  }();
  CHECK(finish_text(45, noon) == "0:45, at 12:00");
  CHECK(finish_text(2 * 3600 + 61, noon) == "2:01:01, at 14:01");
  CHECK(finish_text(26 * 3600, noon) == "26:00:00, on Fri  4 Dec at 14:00");
}

TEST_CASE("each of several losses stands beside their sum") {
  step_line line{.step = 1, .steps = 4, .loss = 3.5};
  line.parts = {{"info_nce of picture and caption", 1.5}, {"next_token of talk", 1}};
  CHECK(
      text_of(line).find("  loss 3.5000 (info_nce of picture and caption 1.5000, next_token of talk 1.0000)  "
                         "norm 0.000  lr") != std::string::npos);
}
