// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/make/write_pairs.hpp>
#include <motet/data/pictures/resize.hpp>
#include <motet/data/words/tokenizer.hpp>
#include <motet/tools/report/data_uri.hpp>
#include <motet/tools/report/report.hpp>

#include <array>
#include <cmath>

// These tell what is in a set, in a few lines, and on a page to look at before anything is trained.
namespace motet::packing {

// The least, the one in the middle and the greatest of some numbers.
struct spread_of {
  isize least = 0, middle = 0, most = 0;
  explicit spread_of(std::vector<isize> of) {
    if (of.empty()) return;
    std::sort(of.begin(), of.end());
    least = of.front();
    middle = of[of.size() / 2];
    most = of.back();
  }
  std::string text() const { return sentence({least, " to ", most, ", ", middle, " in the middle"}); }
};

struct contents {
  const listing& from;
  const sifted& kept;
  const tokenizer& words;
  isize classes = 0;
  std::vector<isize> tokens;  // of each kept caption, begin and end included
  std::vector<isize> shorter_sides;
  isize bytes = 0;

  contents(const listing& listed, const sifted& sorted, const tokenizer& by)
      : from(listed),
        kept(sorted),
        words(by),
        classes(static_cast<isize>(classes_of(listed, sorted).size())) {
    tokenizer::scratch work;
    std::vector<tokenizer::token> line;
    for (const auto* side : {&kept.train, &kept.held_out})
      for (const isize i : *side) {
        const listed_pair& pair = from.pairs()[as_size(i)];
        const picture_facts& facts = kept.pictures[as_size(pair.picture)];
        line.clear();
        words.encode_text(trimmed(pair.caption), line, work);
        tokens.push_back(static_cast<isize>(line.size()) + 2);
        shorter_sides.push_back(std::min(facts.width, facts.height));
        bytes += facts.bytes;
      }
  }
  isize longer_than(isize context) const {
    return std::count_if(tokens.begin(), tokens.end(), [&](isize each) { return each > context; });
  }
};

// The middle square of a picture, small enough for a page.
inline bitmap thumbnail(const bitmap& of) {
  static constexpr isize side = 176;
  const isize edge = std::min(of.width, of.height), made = std::min(side, edge);
  std::vector<float> planes(as_size(3 * made * made));
  resampler resize;
  resize(of, {(of.width - edge) / 2, (of.height - edge) / 2, edge, edge, false}, made, {{0, 0, 0}, {1, 1, 1}},
         planes.data());
  bitmap out{made, made, std::vector<std::uint8_t>(as_size(3 * made * made))};
  for (isize i = 0; i < made * made; ++i)
    for (isize c = 0; c < 3; ++c)
      out.pixels[as_size(3 * i + c)] = static_cast<std::uint8_t>(
          std::lround(255 * std::clamp(planes[as_size(c * made * made + i)], 0.0f, 1.0f)));
  return out;
}

// Reasons with how often each was the one, the most frequent first.
inline std::vector<std::pair<isize, std::string>> reasons(const sifted& kept) {
  std::map<std::string, isize> counts;
  for (const left_out& each : kept.left) {
    // A reason names its picture; how many have it is asked without the name.
    std::string why = each.why;
    if (const std::size_t at = why.find(each.where); at != std::string::npos)
      why.erase(at, each.where.size());
    ++counts[why];
  }
  std::vector<std::pair<isize, std::string>> out;
  out.reserve(counts.size());
  for (const auto& [why, count] : counts) out.emplace_back(count, why);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return out;
}

inline std::string preview(const contents& of, const std::string& title, const std::string& sources) {
  report_page page;
  page.title = title;
  page.subtitle = "What pack made of " + sources;
  const auto count = [](std::size_t of_them) { return std::to_string(of_them); };
  page.headline = {{count(of.kept.train.size()), "samples to train on"},
                   {count(of.kept.held_out.size()), "held out"},
                   {std::to_string(of.classes), "classes"},
                   {count(of.kept.left.size()), "left out"},
                   {std::to_string(of.words.size()), "tokens in the vocabulary"}};
  page.pictures_title = "Some of them";
  page.pictures_note = "Pictures from all over the set, and what their captions become.";
  const std::size_t all = of.kept.train.size() + of.kept.held_out.size(),
                    shown = std::min<std::size_t>(24, all);
  std::vector<std::uint8_t> bytes;
  bitmap shot;
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t at = k * all / shown, train = of.kept.train.size();
    const listed_pair& pair =
        of.from.pairs()[as_size(at < train ? of.kept.train[at] : of.kept.held_out[at - train])];
    of.from.read(pair.picture, bytes);
    decode_picture(bytes, shot);
    const picture_facts& facts = of.kept.pictures[as_size(pair.picture)];
    const std::string caption(trimmed(pair.caption));
    report_picture made{data_uri(thumbnail(shot)), {}, {}};
    made.caption = sentence({caption.substr(0, 300), " \u2014 ", facts.width, " x ", facts.height, ", ",
                             of.tokens[at], " tokens", (pair.label.empty() ? "" : ", class " + pair.label),
                             (at < train ? "" : ", held out")});
    page.pictures.push_back(std::move(made));
  }
  page.facts_title = "The set";
  page.facts = {{"From", sources},
                {"Shorter sides", spread_of(of.shorter_sides).text() + " pixels"},
                {"Captions", spread_of(of.tokens).text() + " tokens, with begin and end"},
                {"Longer than 32 tokens",
                 sentence({of.longer_than(32), ": models of that context do not see their ends"})},
                {"Longer than 77 tokens", sentence({of.longer_than(77), ": CLIP's own context"})},
                {"Bytes of pictures", std::to_string(of.bytes)}};
  for (const auto& [how_many, why] : reasons(of.kept))
    if (page.facts.size() < 26) page.facts.emplace_back(sentence({"Left out: ", how_many}), readable(why));
  return render_report(page);
}

}  // namespace motet::packing
