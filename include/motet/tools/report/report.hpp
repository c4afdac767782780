// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/tools/report/chart.hpp>

#include <utility>

namespace motet {

struct report_number {
  std::string value, label;
};
struct report_guess {
  static constexpr double alone = -1;
  std::string caption;
  double share = 0;  // probability among all captions; alone: there are no others
  bool right = false;
};
struct report_picture {
  std::string source;   // data URI
  std::string caption;  // its own
  std::vector<report_guess> guesses;
};
struct section_share {
  std::string name;
  double seconds = 0;
};
struct report_chart {
  chart_config config;
  std::vector<chart_series> series;
};

// All of a run on one page.
struct report_page {
  std::string title, subtitle;
  std::vector<report_number> headline;
  std::vector<report_chart> charts;
  std::vector<section_share> sections;
  std::vector<report_picture> pictures;
  std::string pictures_title = "Held-out pictures and their best captions", pictures_note;
  std::string facts_title = "The run";
  std::vector<std::pair<std::string, std::string>> facts;
};

namespace detail {

inline constexpr const char* report_style = R"(
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#667085;--edge:#e4e7ec;--main:#2f6fed;--faint:#2f6fed55;--good:#12875a;--bad:#c4442f;--second:#c2611f;--third:#12875a;--fourth:#8a3ffc}
@media(prefers-color-scheme:dark){:root{--page:#0f141b;--card:#171e27;--ink:#e8edf4;--soft:#93a1b3;--edge:#27313d;--main:#6ea2ff;--faint:#6ea2ff55;--good:#4cc38a;--bad:#ff8a75;--second:#f0a35e;--third:#4cc38a;--fourth:#be95ff}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:32px 20px 56px}h1{font-size:26px;margin:0}h2{font-size:17px;margin:0 0 12px}.sub{color:var(--soft);margin:4px 0 24px}
.grid2{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:16px}.card{background:var(--card);border:1px solid var(--edge);border-radius:12px;padding:18px 20px;margin-bottom:16px}
.grid2 .card{margin:0}.grid2{margin-bottom:16px}.numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:16px;margin-bottom:16px}.numbers .card{margin:0;padding:14px 18px}
.value{font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}.label{color:var(--soft);font-size:13px}svg{display:block;width:100%;height:auto}.gridline,.grid{stroke:var(--edge);stroke-width:1}
.tick{fill:var(--soft);font-size:12px;font-variant-numeric:tabular-nums}.curve{fill:none;stroke:var(--main);stroke-width:2.2;stroke-linejoin:round}.faint{fill:none;stroke:var(--faint);stroke-width:1}.dot{fill:var(--main)}
.curve.series1,.faint.series1{stroke:var(--second)}.curve.series2,.faint.series2{stroke:var(--third)}.curve.series3,.faint.series3{stroke:var(--fourth)}
.faint.series1,.faint.series2,.faint.series3{opacity:.35}.dot.series1{fill:var(--second)}.dot.series2{fill:var(--third)}.dot.series3{fill:var(--fourth)}
.bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:8px 12px;align-items:center;font-variant-numeric:tabular-nums}.track{background:var(--edge);border-radius:4px;height:12px;overflow:hidden}
.fill{background:var(--main);height:100%}.shots{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:14px}.shot{display:flex;gap:12px;align-items:flex-start}
.shot img{width:88px;height:88px;border-radius:8px;image-rendering:pixelated;flex:none;border:1px solid var(--edge)}.shot ol{list-style:none;margin:0;padding:0;font-size:13px;min-width:0}.shot li{overflow-wrap:anywhere}
.own{font-size:12px;color:var(--soft);margin-top:4px;overflow-wrap:anywhere}.right{color:var(--good);font-weight:600}.wrong{color:var(--bad)}.later{color:var(--soft)}
table{border-collapse:collapse;width:100%}td{padding:5px 0;border-top:1px solid var(--edge);vertical-align:top}td:first-child{color:var(--soft);padding-right:20px;white-space:nowrap}td:last-child{overflow-wrap:anywhere}tr:first-child td{border-top:0}
)";

}  // namespace detail

// The page as one HTML text that needs no other file and no network.
inline std::string render_report(const report_page& page) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>" +
      escape_html(page.title) + "</title><style>" + detail::report_style +
      "</style></head><body><main>\n<h1>" + escape_html(page.title) + "</h1><p class=\"sub\">" +
      escape_html(page.subtitle) + "</p>\n";
  char text[160];
  if (!page.headline.empty()) {
    out += "<div class=\"numbers\">";
    for (const report_number& each : page.headline)
      out += "<div class=\"card\"><div class=\"value\">" + escape_html(each.value) +
             "</div><div class=\"label\">" + escape_html(each.label) + "</div></div>";
    out += "</div>\n";
  }
  out += "<div class=\"grid2\">";
  for (const report_chart& each : page.charts)
    out += "<section class=\"card\"><h2>" + escape_html(each.config.title) + "</h2>" +
           chart_svg(each.series, each.config) + "</section>\n";
  out += "</div>\n";
  if (!page.sections.empty()) {
    double sum = 0, most = 0;
    for (const section_share& each : page.sections) sum += each.seconds, most = std::max(most, each.seconds);
    out += "<section class=\"card\"><h2>Where a step's time goes</h2><div class=\"bars\">";
    for (const section_share& each : page.sections) {
      std::snprintf(
          text, sizeof text,
          "<div class=\"track\"><div class=\"fill\" style=\"width:%.1f%%\"></div></div><span>%.1f%%</span>",
          most > 0 ? 100 * each.seconds / most : 0.0, sum > 0 ? 100 * each.seconds / sum : 0.0);
      out += "<span>" + escape_html(each.name) + "</span>" + text;
    }
    out += "</div></section>\n";
  }
  if (!page.pictures.empty()) {
    out += "<section class=\"card\"><h2>" + escape_html(page.pictures_title) + "</h2><p class=\"sub\">" +
           escape_html(page.pictures_note) + "</p><div class=\"shots\">";
    for (const report_picture& each : page.pictures) {
      out += "<div class=\"shot\"><img alt=\"" + escape_html(each.caption) + "\" src=\"" + each.source +
             "\"><div><ol>";
      bool first = true;
      for (const report_guess& guess : each.guesses) {
        if (guess.share < 0) std::snprintf(text, sizeof text, "</li>");
        else std::snprintf(text, sizeof text, " %.0f%%</li>", 100 * guess.share);
        out += std::string("<li class=\"") +
               (guess.right ? "right"
                : first     ? "wrong"
                            : "later") +
               "\">" + escape_html(guess.caption) + text;
        first = false;
      }
      out += "</ol><div class=\"own\">" + escape_html(each.caption) + "</div></div></div>\n";
    }
    out += "</div></section>\n";
  }
  if (!page.facts.empty()) {
    out += "<section class=\"card\"><h2>" + escape_html(page.facts_title) + "</h2><table>";
    for (const auto& [name, value] : page.facts)
      out += "<tr><td>" + escape_html(name) + "</td><td>" + escape_html(value) + "</td></tr>";
    out += "</table></section>\n";
  }
  return out + "</main></body></html>\n";
}

// Writes the page of a run into a file, which appears complete or not at all.
// Asks for: a folder that can be written; pictures as data URIs.
// Memory: the page's text.
// Errors: MT-F05, MT-F06
// Example:
//   void tell(const std::string& folder) {
//     report_page page;
//     page.title = "A pair of towers";
//     page.headline.push_back({"94.9 %", "right"});
//     write_report(folder + "/index.html", page);
//   }
inline void write_report(const std::filesystem::path& path, const report_page& page) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  write_file(path, render_report(page));
}

}  // namespace motet
