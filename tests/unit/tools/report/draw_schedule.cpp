// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/report/draw_schedule.hpp>

#include <motet/format/files/file.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace motet;

namespace {

struct played {
  program order = compile(one_f_one_b::write({.stages = 2, .microbatches = 3}));
  timeline when;
  played() { simulate(order, even_costs(order, {1, 1, 1}), when); }
};

std::string text_of(const std::filesystem::path& path) { return std::string(mapped_file(path).text()); }

}  // namespace

TEST_CASE("a file's name ends in what is drawn into it") {
  const scratch folder;
  const played of;
  const auto drawn = [&](const char* name, const schedule_drawing& how = {}) {
    const std::filesystem::path file = folder / name;
    draw_schedule(file.string(), of.order, of.when, how);
    return text_of(file);
  };
  CHECK(drawn("order.svg", {.title = "mine"}) == draw_svg(of.order, of.when, {.title = "mine"}));
  CHECK(drawn("order.json") == draw_trace(of.order, of.when, {.seconds = 1e-3}));
  CHECK(drawn("order.json", {.seconds = 1}) == draw_trace(of.order, of.when, {.seconds = 1}));
  CHECK(drawn("order.txt") == draw_text(of.order, of.when));
  CHECK(read_csv(drawn("order.csv")) == of.order);
}

TEST_CASE("an ending that says no form is refused, and so is a place that cannot be written") {
  const scratch folder;
  const played of;
  const auto refuses = [&](const std::string& name, const char* with) {
    const std::string file = (folder / name).string();
    CHECK_THROWS_WITH_AS(draw_schedule(file, of.order, of.when), doctest::Contains(with), error);
    CHECK(!std::filesystem::exists(file));
  };
  for (const char* name : {"order.png", "order", "svg", "order.svg.gz"}) refuses(name, "MT-X07");
  refuses("order.png", "order.png\"");
  refuses("order.png", ".csv for the order alone");
  refuses("none/order.svg", "MT-F05");
}
