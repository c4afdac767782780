// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/nn/core/rules.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/files/plan_fields.hpp>
#include <motet/schedule/write/batch_sync.hpp>

// Models as JSON, written and read by hand: what keeps its usual value is left out. docs/plan/model_file.md
// lists all fields.

namespace motet {

namespace detail {

struct tower_number {
  const char* name;
  isize tower_outline::*value;
  std::int64_t least, most;
  bool required = false;
};
struct tower_fact {
  const char* name;
  bool tower_outline::*value;
};
// The limits are small enough for any product of them that costs are made of.
inline constexpr tower_number tower_numbers[] = {{"layers", &tower_outline::layers, 1, 1 << 16, true},
                                                 {"width", &tower_outline::width, 1, 1 << 20, true},
                                                 {"heads", &tower_outline::heads, 1, 1 << 16, true},
                                                 {"tokens", &tower_outline::tokens, 1, 1 << 24, true},
                                                 {"vocabulary", &tower_outline::vocabulary, 0, 1 << 30},
                                                 {"key_heads", &tower_outline::key_heads, 0, 1 << 16},
                                                 {"head_width", &tower_outline::head_width, 0, 1 << 16},
                                                 {"hidden", &tower_outline::hidden, 0, 1 << 22},
                                                 {"patch", &tower_outline::patch, 0, 1 << 24},
                                                 {"embedding", &tower_outline::embedding, 0, 1 << 20},
                                                 {"experts", &tower_outline::experts, 0, 1 << 16},
                                                 {"chosen", &tower_outline::chosen, 1, 1 << 16}};
inline constexpr tower_fact tower_facts[] = {{"frozen", &tower_outline::frozen},
                                             {"cached", &tower_outline::cached},
                                             {"causal", &tower_outline::causal},
                                             {"gated", &tower_outline::gated},
                                             {"rms", &tower_outline::rms},
                                             {"positions", &tower_outline::positions},
                                             {"rotary", &tower_outline::rotary},
                                             {"class_row", &tower_outline::class_row},
                                             {"patch_bias", &tower_outline::patch_bias},
                                             {"pre_norm", &tower_outline::pre_norm},
                                             {"ring", &tower_outline::ring},
                                             {"cut_vocabulary", &tower_outline::cut_vocabulary}};
inline constexpr const char* tower_ends[] = {"row", "block_of_row", "mean", "attention"};
inline constexpr const char* join_losses[] = {"info_nce", "sigmoid"};

inline std::vector<std::string_view> tower_field_names() {
  std::vector<std::string_view> all{"name"};
  for (const tower_number& each : tower_numbers) all.push_back(each.name);
  for (const tower_fact& each : tower_facts) all.push_back(each.name);
  all.push_back("uneven");
  all.push_back("end");
  return all;
}

// The number of a word among those that a field may have.
template <std::size_t Count>
std::size_t read_word(const json& from, const std::string& path, const char* const (&words)[Count]) {
  std::string all;
  for (std::size_t i = 0; i < Count; ++i) {
    if (from.is_string() && from.string() == words[i]) return i;
    all += (i > 0 ? ", " : "") + std::string(words[i]);
  }
  fail(plan_wrong_kind,
       path + " is " + (from.is_string() ? write_json(from) : from.kind()) + ", wanted one of " + all);
}
inline std::string read_text(const json& from, const std::string& path) {
  if (!from.is_string()) fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted the name of a tower");
  return from.string();
}

// Sizes that do not fit, in words.
inline void require_tower(const tower_outline& of, const std::string& path) {
  const auto number = [](isize n) { return std::to_string(n); };
  if (of.vocabulary > 0 && of.patch > 0)
    fail(tower_does_not_fit, path + " has a vocabulary of " + number(of.vocabulary) + " and patches of " +
                                 number(of.patch) + " numbers, wanted one of them");
  const verdict found = check(of);
  if (found.ok()) return;
  if (found.why == reason::heads_do_not_divide)
    fail(tower_does_not_fit, path + ": " + number(of.heads) + " heads do not divide a width of " +
                                 number(of.width) + "; change one, or say head_width");
  if (found.why == reason::kv_heads_do_not_divide)
    fail(tower_does_not_fit,
         path + ": " + number(of.key_heads) + " key_heads do not divide " + number(of.heads) + " heads");
  fail(tower_does_not_fit,
       path + ": " + number(of.chosen) + " of " + number(of.experts) + " experts cannot be chosen");
}

// Features of one width can meet: where a tower tells none, that of the others, or else the width of the
// narrowest.
inline void project_alike(list<tower_outline>& towers) {
  isize common = 0, narrowest = towers[0].width;
  for (isize k = 0; k < towers.size(); ++k) {
    const isize own = towers[k].embedding;
    if (own > 0 && common > 0 && own != common)
      fail(tower_does_not_fit, sentence({"towers[", k, "].embedding is ", own, ", but features of ", common,
                                         " numbers cannot meet those"}));
    if (own > 0) common = own;
    if (towers[k].width < narrowest) narrowest = towers[k].width;
  }
  for (tower_outline& each : towers) each.embedding = common > 0 ? common : narrowest;
}

inline tower_outline read_tower(const json& from, const std::string& path) {
  const std::vector<std::string_view> names = tower_field_names();
  const plan_fields fields(from, path, names);
  tower_outline out;
  static_cast<void>(fields.at("name"));
  fields.read("name", out.name);
  for (const tower_number& each : tower_numbers) {
    if (each.required) static_cast<void>(fields.at(each.name));
    fields.read(each.name, out.*each.value, each.least, each.most);
  }
  for (const tower_fact& each : tower_facts) fields.read(each.name, out.*each.value);
  fields.read("uneven", out.uneven, 1, 1 << 16);
  if (out.cached) {
    if (fields.find("frozen") != nullptr && !out.frozen)
      fail(tower_does_not_fit,
           path + " is cached and not frozen, but features of weights that change are no use");
    out.frozen = true;
  }
  if (const json* const end = fields.find("end"))
    out.end = static_cast<tower_end>(read_word(*end, fields.path_of("end"), tower_ends));
  require_tower(out, path);
  return out;
}

// Reads where towers meet: who came, and in which loss.
class joins_reader {
 public:
  explicit joins_reader(const model_shape& of) : of_(of), met_(of.towers.size(), 0) {}

  // A loss, an object, or an array of towers or of objects.
  void read_join(const json& from, const std::string& path) {
    if (from.is_string()) return all_meet(join_losses[read_word(from, path, join_losses)]);
    if (from.is_object()) return read_object(from, path);
    if (!from.is_array())
      fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted a loss, an object or an array");
    if (from.items().empty()) fail(plan_wrong_kind, path + " is an empty array, wanted towers");
    if (!from.items()[0].is_object()) return read_towers(from, path);
    if (from.items().size() > 1)
      fail(model_not_planned, path + "[1] is a second join; the planner knows one, in which all towers meet");
    read_object(from.items()[0], path + "[0]");
  }
  // [from, to] or {"from": , "to": }; to a loss, for what goes from one tower to another is not planned.
  void read_edge(const json& from, const std::string& path) {
    std::string source, target;
    if (from.is_array() && from.items().size() == 2) {
      source = read_text(from.items()[0], path + "[0]");
      target = read_text(from.items()[1], path + "[1]");
    } else if (from.is_object()) {
      const plan_fields fields(from, path, {"from", "to"});
      source = read_text(fields.at("from"), path + ".from");
      target = read_text(fields.at("to"), path + ".to");
    } else {
      fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted [from, to] or an object with both");
    }
    const isize tower = find(source);
    if (tower < 0) unknown(source, path);
    if (find(target) >= 0)
      fail(model_not_planned, path + ": " + source + " feeds " + (source == target ? "itself" : target) +
                                  "; the planner knows towers that meet in a loss alone");
    for (const char* each : join_losses)
      if (target == each) return meet(tower, each, path, false);
    unknown(target, path);
  }
  label loss() const { return loss_.empty() ? label("info_nce") : label(loss_); }
  // Nobody may stay away.
  void finish() {
    if (loss_.empty()) return;
    for (isize k = 0; k < of_.towers.size(); ++k)
      if (met_[k] == 0)
        fail(model_not_planned, std::string(of_.towers[k].name.view()) +
                                    " is in no join; the planner knows one, in which all towers meet");
  }

 private:
  isize find(const std::string& name) const {
    for (isize k = 0; k < of_.towers.size(); ++k)
      if (of_.towers[k].name.view() == name) return k;
    return -1;
  }
  [[noreturn]] void unknown(const std::string& name, const std::string& path) const {
    std::string all;
    for (const tower_outline& each : of_.towers)
      all += (all.empty() ? "" : ", ") + std::string(each.name.view());
    fail(tower_names_differ, path + " names " + write_json(json(name)) + "; there are " + all);
  }
  void meet(isize tower, const std::string& loss, const std::string& path, bool once) {
    if (!loss_.empty() && loss_ != loss)
      fail(model_not_planned,
           path + " is " + loss + ", but towers meet in " + loss_ + " as well; the planner knows one join");
    if (once && met_[tower] != 0)
      fail(tower_names_differ, path + " names " + std::string(of_.towers[tower].name.view()) + " twice");
    loss_ = loss;
    met_[tower] = 1;
  }
  void all_meet(const std::string& loss) {
    for (isize k = 0; k < of_.towers.size(); ++k) meet(k, loss, "join", false);
  }
  void read_towers(const json& from, const std::string& path, const std::string& loss = "info_nce") {
    if (!from.is_array()) fail(plan_wrong_kind, path + " is " + from.kind() + ", wanted an array");
    std::size_t i = 0;
    for (const json& item : from.items()) {
      const std::string at = sentence({path, "[", i++, "]"}), name = read_text(item, at);
      const isize tower = find(name);
      if (tower < 0) unknown(name, at);
      meet(tower, loss, at, true);
    }
  }
  void read_object(const json& from, const std::string& path) {
    const plan_fields fields(from, path, {"loss", "towers"});
    const json* const loss = fields.find("loss");
    const std::string chosen =
        loss == nullptr ? join_losses[0] : join_losses[read_word(*loss, path + ".loss", join_losses)];
    loss_ = chosen;
    if (const json* const towers = fields.find("towers")) read_towers(*towers, path + ".towers", chosen);
    else all_meet(chosen);
  }

  const model_shape& of_;
  list<std::uint8_t> met_;
  std::string loss_;
};

}  // namespace detail

// JSON that is no model is refused with the path of what is wrong (MT-P70 to MT-P72, MT-P78 to MT-P80).
inline model_shape read_model(const json& from) {
  if (!from.is_object())
    fail(plan_wrong_kind, std::string("the model is ") + from.kind() + ", wanted an object");
  const detail::plan_fields fields(from, "", {"name", "towers", "join", "edges"});
  model_shape out;
  out.name = "model";
  if (const json* const name = fields.find("name")) {
    if (!name->is_string() || name->string().empty())
      fail(plan_wrong_kind,
           std::string("name is ") + (name->is_string() ? "empty" : name->kind()) + ", wanted a name");
    out.name = label(name->string());  // as much of it as there is room for
  }
  static_cast<void>(fields.at("towers"));
  fields.each("towers", [&](const json& item, const std::string& path) {
    const tower_outline made = detail::read_tower(item, path);
    for (isize k = 0; k < out.towers.size(); ++k)
      if (out.towers[k].name == made.name)
        fail(tower_names_differ, sentence({path, " is called ", made.name.view(), " as towers[", k, "] is"}));
    out.towers.push(made);
    if (out.towers.size() > batch_sync::most_towers)
      fail(plan_out_of_range,
           sentence({path, " is one more than there may be, wanted 1 to ", batch_sync::most_towers}));
  });
  if (out.towers.empty())
    fail(plan_out_of_range, "towers is empty, wanted 1 to " + std::to_string(batch_sync::most_towers));
  detail::project_alike(out.towers);
  detail::joins_reader joins(out);
  if (const json* const join = fields.find("join")) joins.read_join(*join, "join");
  fields.each("edges", [&](const json& item, const std::string& path) { joins.read_edge(item, path); });
  joins.finish();
  out.join = joins.loss();
  return out;
}
// `origin` is named where the text is no JSON or no model.
inline model_shape parse_model(std::string_view text, const std::string& origin) {
  const json whole = read_json(text, origin);
  try {
    return read_model(whole);
  } catch (const error& problem) {
    throw error(problem, origin);
  }
}
inline model_shape load_model(const std::filesystem::path& path) {
  return parse_model(mapped_file(path).text(), path.string());
}
// --model is given a file that ends with .json, or a name.
// Asks for: a name that is listed in docs/plan/model_file.md, or a file with the fields listed there.
// Memory: the file's text while it is read, and the model.
// Errors: MT-F01, MT-F04, MT-P70, MT-P71, MT-P72, MT-P78, MT-P79, MT-P80, MT-P82
// Example:
//   const model_shape clip = choose_model("b16");
inline model_shape choose_model(const std::string& text) {
  if (text.ends_with(".json")) return load_model(text);
  if (const known_model* const found = find_model(text)) return found->make();
  std::string all;
  for (const known_model& each : known_models) all += (all.empty() ? "" : ", ") + std::string(each.name);
  fail(no_such_model, "got \"" + text + "\", wanted one of " + all + ", or a file that ends with .json");
}

inline json tower_json(const tower_outline& from) {
  json out;
  const tower_outline usual;
  out.set("name", from.name.view());
  for (const detail::tower_number& each : detail::tower_numbers)
    if (each.required || from.*each.value != usual.*each.value) out.set(each.name, from.*each.value);
  for (const detail::tower_fact& each : detail::tower_facts)
    if (from.*each.value != usual.*each.value) out.set(each.name, from.*each.value);
  if (from.uneven != usual.uneven) out.set("uneven", from.uneven);
  if (from.end != usual.end) out.set("end", detail::tower_ends[static_cast<int>(from.end)]);
  return out;
}
// A line for each tower.
inline std::string format_model(const model_shape& from) {
  std::string out = "{\n  \"name\": " + write_json(json(from.name.view())) + ",\n  \"towers\": [";
  const char* between = "\n    ";
  for (const tower_outline& each : from.towers) {
    out += between + write_json(tower_json(each));
    between = ",\n    ";
  }
  return out + "\n  ],\n  \"join\": " + write_json(json(from.join.view())) + "\n}\n";
}

}  // namespace motet
