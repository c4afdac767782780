// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/draw/draw_legend.hpp>

#include "unit/schedule/drawn_programs.hpp"
#include "unit/schedule/xml_reader.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::detail;

namespace {
struct legend {
  std::vector<xml_element> parts;
  double height = 0;
  std::string words() const {
    std::string all;
    for (const xml_element& each : parts)
      if (each.name == "text") all += (all.empty() ? "" : " | ") + each.text;
    return all;
  }
};
legend make(const program& p, const looks& shown, double width = 600) {
  svg_writer out;
  legend made;
  made.height = put_legend(out, p, drawn_names(p, 1), shown, 10, width);
  made.parts = xml_reader("<g>" + out.text() + "</g>").elements;
  return made;
}
}  // namespace

TEST_CASE("one module without a name is one line, joins included") {
  const program p = compile(batch_sync::write(one_tower(8, 4)));
  looks shown;
  CHECK(make(p, shown).words().empty());
  for (const op each : {op::forward, op::backward, op::send_forward, op::send_backward, op::join})
    shown.add(look(0, each, 0, 1));
  const legend made = make(p, shown);
  CHECK(made.words() == "forward | backward | rows | gradients | join");
  CHECK(made.height == legend_line);
}

TEST_CASE("each module has a line with its name") {
  program p = compile(batch_sync::write(two_towers()));
  p.voices[0].name = "a<b";
  p.voices[1].name = "caption";
  looks shown;
  shown.add(look(0, op::forward_only, 0, 1));
  shown.add(look(1, op::backward, 0, 1));
  CHECK(make(p, shown).words() == "a<b | forward only | caption | backward");
  CHECK(make(p, shown).height == 2 * legend_line);
  shown.add(look(0, op::join, 0, 1));
  CHECK(make(p, shown).height == 3 * legend_line);
}

TEST_CASE("lighter chunks are shown by the colour of the first") {
  const program p = compile(interleaved::write({2, 2, 2}));
  looks shown;
  shown.add(look(0, op::forward, 1, 2));
  const legend made = make(p, shown);
  CHECK(made.words() == "forward");
  CHECK(made.parts[1].at("fill") == look(0, op::forward, 0, 1).colour());
}

TEST_CASE("replicas and modules whose colour is taken have no line of their own") {
  score many;
  for (int v = 0; v < 12; ++v) {
    voice made;
    made.module = v / 2 < 4 ? v / 2 : v;
    many.add(made, [](int) { return 0; });
  }
  many.rank();
  const program p = compile(many, {.update = false});
  int lines = 0;
  for (std::int32_t v = 0; v < 12; ++v) lines += names_colour(p, v);
  CHECK(lines == 4);  // 0 to 3; 8 to 11 repeat their colours
}

TEST_CASE("what is too long is broken, and stays inside") {
  const program p = compile(batch_sync::write(two_towers()));
  looks shown;
  for (int what = 0; what < op_count; ++what)
    for (int module = 0; module < 2; ++module) shown.add(look(module, static_cast<op>(what), 0, 1));
  const legend wide = make(p, shown, 3000), narrow = make(p, shown, 300);
  CHECK(wide.height == 3 * legend_line);
  CHECK(narrow.height > 6 * legend_line);
  CHECK(wide.words() == narrow.words());
  for (const xml_element& each : narrow.parts) {
    if (each.name == "g") continue;
    CHECK(each.number("x") >= 10);
    CHECK(each.number("x") + (each.name == "text" ? legend_letter * static_cast<double>(each.text.size())
                                                  : each.number("width")) <=
          310);
    CHECK(each.number("y") < narrow.height);
  }
}
