// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_text.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/tools/messages.hpp>

#include <string>
#include <string_view>

namespace motet {

struct schedule_drawing {
  std::string title = {};  // of a picture
  double seconds = 1e-3;   // of a unit of the times, which a trace has in microseconds
};

// Draws a program into a file, with its times as they were simulated or as a step took them. The file's name
// ends in the form: .svg is a picture, .json a trace for Perfetto, .txt lines of a terminal, and .csv the
// order alone, which schedule_explorer --import reads.
// Asks for: a folder that can be written; times of this program, where its order alone is not enough.
// Memory: the text of the file.
// Errors: MT-F05, MT-F06, MT-X07
// Example:
//   void draw(const program& order, const cost_table& costs) {
//     timeline when;
//     simulate(order, costs, when);
//     draw_schedule("order.svg", order, when, {.title = "my order"});
//   }
inline void draw_schedule(const std::string& file, const program& of, const timeline& when,
                          const schedule_drawing& how = {}) {
  const auto drawn = [&]() -> std::string {
    const std::string_view name = file;
    if (name.ends_with(".svg")) return draw_svg(of, when, {.title = how.title});
    if (name.ends_with(".json")) return draw_trace(of, when, {.seconds = how.seconds});
    if (name.ends_with(".txt")) return draw_text(of, when);
    if (name.ends_with(".csv")) return write_csv(of);
    fail(drawing_without_form, "\"" + file + "\"");
  };
  const std::string text = drawn();
  atomic_file to(file);
  to.write(text);
  to.commit();
}

}  // namespace motet
