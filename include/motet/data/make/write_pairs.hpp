// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/make/set_folder.hpp>
#include <motet/data/make/sift.hpp>

#include <functional>
#include <map>
#include <span>
#include <string>

namespace motet {

// The names of all classes that kept pairs are of, in alphabetical order, with their numbers.
inline std::map<std::string, isize> classes_of(const listing& from, const sifted& kept) {
  std::map<std::string, isize> out;
  for (const auto* side : {&kept.train, &kept.held_out})
    for (const isize i : *side)
      if (const std::string& label = from.pairs()[as_size(i)].label; !label.empty()) out.emplace(label, 0);
  isize number = 0;
  for (auto& [label, which] : out) which = number++;
  return out;
}

// "test0000003", the key of the third sample of its split.
inline std::string key_of(const std::string& split, isize number) { return split + padded(number, 7); }

// A path as text: what is not UTF-8 in it is a question mark.
inline std::string readable(std::string text) {
  for (std::size_t bad; (bad = utf8_first_bad(text)) != std::string::npos;) text[bad] = '?';
  return text;
}

// Writes these pairs as shards of `each` samples: picture, caption, and where they come from. Pictures are
// copied as they are, to the byte. `tell`, if given, hears how many samples were written.
inline void write_pairs(set_folder& into, const listing& from, const std::vector<picture_facts>& facts,
                        std::span<const isize> pairs, const std::string& split, isize each,
                        const std::function<void(isize)>& tell = {}) {
  std::vector<std::uint8_t> bytes;
  tar_writer* tar = nullptr;
  for (isize i = 0; i < static_cast<isize>(pairs.size()); ++i) {
    if (i % each == 0) {
      if (tar != nullptr) tar->finish();
      tar = &into.shard(split + "-" + padded(i / each, 3) + ".tar");
    }
    const listed_pair& pair = from.pairs()[as_size(pairs[as_size(i)])];
    const picture_facts& known = facts[as_size(pair.picture)];
    from.read(pair.picture, bytes);
    if (checksum(std::as_bytes(std::span(bytes))) != known.content)
      fail(data_unreadable, from.name(pair.picture) + " (it was changed while the set was made)");
    const std::string key = key_of(split, i);
    json origin{{"source", readable(from.name(pair.picture))}};
    if (!pair.label.empty()) origin.set("class", pair.label);
    tar->add(key + "." + known.field, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    tar->add(key + ".txt", trimmed(pair.caption));
    tar->add(key + ".json", write_json(origin));
    if (tell) tell(i + 1);
  }
  if (tar != nullptr) tar->finish();
}

// classes.json: every class with its caption, by `form`, and the class of each held-out sample.
inline std::string format_classes(const listing& from, const sifted& kept, std::string_view form) {
  const std::map<std::string, isize> classes = classes_of(from, kept);
  json rows(json::array{}), samples(json::object{});
  for (const auto& [label, which] : classes)
    rows.push_back({{"name", label}, {"caption", listing::caption_of_class(form, label)}});
  for (std::size_t i = 0; i < kept.held_out.size(); ++i)
    if (const std::string& label = from.pairs()[as_size(kept.held_out[i])].label; !label.empty())
      samples.set(key_of("test", static_cast<isize>(i)), classes.at(label));
  return write_json(json{{"classes", std::move(rows)}, {"samples", std::move(samples)}}, 1) + "\n";
}

}  // namespace motet
