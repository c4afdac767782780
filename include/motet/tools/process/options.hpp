// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/meta/config.hpp>
#include <motet/meta/nearest.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace motet {

// The command line of a program: declare each option with the variable that it sets, then parse(). What is
// not understood is an error (MT-X..) that names the nearest option. --help is known to all, and so is
// --config: a file whose members are options without their dashes, {"batch": 64, "no-flip": true}; the
// command line counts where both say something.
// Asks for: variables that outlive it, each with the value that counts where nothing is said.
// Memory: what the options are called, and what helps.
// Errors: MT-D01, MT-F01, MT-X01, MT-X02, MT-X03, MT-X04, MT-X05
// Example:
//   #include <cstdio>
//   int main(int count, char** words) {
//     std::ptrdiff_t batch = 64;
//     options asked("train", "Trains a pair of towers.");
//     asked.count("batch", batch, 1, "samples of a step");
//     if (!asked.parse(count, words)) std::puts(asked.help().c_str());
//   }
class options {
 public:
  options(std::string program, std::string about) : program_(std::move(program)), about_(std::move(about)) {}

  void flag(std::string name, bool& value, std::string help) {
    add({std::move(name), "", std::move(help), &value});
  }
  void text(std::string name, std::string& value, std::string unit, std::string help) {
    add({std::move(name), std::move(unit), std::move(help), &value});
  }
  // An option that may be given several times.
  void texts(std::string name, std::vector<std::string>& values, std::string unit, std::string help) {
    add({std::move(name), std::move(unit), std::move(help), &values});
  }
  void choice(std::string name, std::string& value, std::vector<std::string> choices, std::string help) {
    std::string unit;
    for (const std::string& each : choices) unit += (unit.empty() ? "" : "|") + each;
    entry made{std::move(name), std::move(unit), std::move(help), &value};
    made.choices = std::move(choices);
    add(std::move(made));
  }
  // Most fits what programs keep counts in: none is cut behind the command line.
  static constexpr isize most_of_counts = (isize{1} << 31) - 1;
  void count(std::string name, isize& value, isize least, std::string help) {
    count(std::move(name), value, least, most_of_counts, std::move(help));
  }
  void count(std::string name, isize& value, isize least, isize most, std::string help) {
    entry made{std::move(name), "N", std::move(help), &value};
    made.least = static_cast<double>(least);
    made.most = static_cast<double>(most);
    add(std::move(made));
  }
  void count(std::string name, std::uint64_t& value, std::string help) {
    add({std::move(name), "N", std::move(help), &value});
  }
  void real(std::string name, double& value, double least, double most, std::string help) {
    entry made{std::move(name), "X", std::move(help), &value};
    made.least = least;
    made.most = most;
    add(std::move(made));
  }

  // The result is false when --help was asked for; `help()` is then to be printed.
  bool parse(int count, const char* const* words) {
    for (int i = 1; i < count; ++i) {
      const std::string_view word = words[i];
      if (word == "--help" || word == "-h") return false;
      if (word == "--config" || word.starts_with("--config=")) {
        if (word == "--config" && (i + 1 >= count || std::string_view(words[i + 1]).starts_with("--")))
          fail(option_without_value, "--config FILE.json");
        read_config(word == "--config" ? words[++i] : std::string(word.substr(9)));
      }
    }
    for (int i = 1; i < count; ++i) {
      std::string_view word = words[i];
      if (!word.starts_with("--")) fail(unexpected_word, "\"" + std::string(word) + "\"");
      std::string_view value;
      bool joined = false;
      if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
        value = word.substr(equals + 1);
        word = word.substr(0, equals);
        joined = true;
      }
      if (word == "--config") {
        i += joined ? 0 : 1;
        continue;
      }
      entry& found = known(word, {});
      if (found.configured) {
        // The command line's values take the place of the file's.
        if (auto* const several = std::get_if<std::vector<std::string>*>(&found.value)) (*several)->clear();
        found.configured = false;
      }
      found.given = true;
      if (auto* const flag = std::get_if<bool*>(&found.value)) {
        if (joined)
          fail(bad_option_value, found.name + " takes no value, got \"" + std::string(value) + "\"");
        **flag = true;
        continue;
      }
      if (!joined) {
        if (i + 1 >= count || (std::string_view(words[i + 1]).starts_with("--")))
          fail(option_without_value, found.name + " " + found.unit);
        value = words[++i];
      }
      set(found, value);
    }
    return true;
  }
  // All options are set to this now, as a file for --config has it: without those of `but`, empty texts, and
  // flags that are not set.
  json settings(std::initializer_list<std::string_view> but = {}) const {
    json out(json::object{});
    for (const entry& each : entries_) {
      if (std::find(but.begin(), but.end(), each.name) != but.end()) continue;
      const std::string name = each.name.substr(2);
      if (const auto* flag = std::get_if<bool*>(&each.value)) {
        if (**flag) out.set(name, true);
      } else if (const auto* text = std::get_if<std::string*>(&each.value)) {
        if (!(*text)->empty()) out.set(name, **text);
      } else if (const auto* several = std::get_if<std::vector<std::string>*>(&each.value)) {
        json all(json::array{});
        for (const std::string& one : **several) all.push_back(one);
        if (!(*several)->empty()) out.set(name, std::move(all));
      } else if (const auto* whole = std::get_if<isize*>(&each.value)) {
        out.set(name, **whole);
      } else if (const auto* word = std::get_if<std::uint64_t*>(&each.value)) {
        out.set(name, **word);
      } else if (const auto* real = std::get_if<double*>(&each.value)) {
        out.set(name, **real);
      }
    }
    return out;
  }
  bool given(std::string_view name) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const entry& each) { return each.name == name && each.given; });
  }
  void require(std::string_view name) const {
    if (!given(name)) fail(option_missing, std::string(name));
  }

  std::string help() const {
    std::string out = program_ + ": " + about_ + "\n\n";
    std::size_t widest = 0;
    for (const entry& each : entries_)
      if (const std::size_t wide = left(each).size(); wide <= column_) widest = std::max(widest, wide);
    // What is wider than the column stands on a line of its own: an option of many choices does not push the
    // sentences of all others out of sight.
    const auto tell = [&](const std::string& start, const std::string& said) {
      const bool fits = start.size() <= column_;
      out += "  " + start + (fits ? "" : "\n  ");
      out += std::string(fits ? std::max(widest, start.size()) + 2 - start.size() : widest + 2, ' ') + said +
             "\n";
    };
    for (const entry& each : entries_) {
      const std::string standard = standard_of(each);
      tell(left(each), each.help + (standard.empty() ? "" : " [" + standard + "]"));
    }
    tell(std::string(config_),
         "options from a file, by their names without dashes; the command line counts where both say "
         "something");
    return out;
  }

 private:
  struct entry {
    std::string name, unit, help;
    std::variant<bool*, std::string*, std::vector<std::string>*, isize*, std::uint64_t*, double*> value;
    std::vector<std::string> choices{};
    double least = 0, most = 0;
    std::string standard{};
    bool given = false, configured = false;
  };
  static constexpr std::string_view config_ = "--config FILE.json";
  static constexpr std::size_t column_ = 44;  // of help, at most

  // The option of this name; `where` says who asks for it.
  entry& known(std::string_view word, const std::string& where) {
    for (entry& each : entries_)
      if (each.name == word) return each;
    std::vector<std::string_view> names;
    names.reserve(entries_.size());
    for (const entry& each : entries_) names.push_back(each.name);
    const std::string near(nearest(word, names));
    fail(unknown_option, where + std::string(word) + (near.empty() ? "" : "; did you mean " + near));
  }
  void read_config(const std::string& path) {
    const json file = read_json(read_text(path), path);
    if (!file.is_object())
      fail(bad_option_value, "--config wants an object of options in " + path + ", got " + file.kind());
    for (const json::member each : file.members()) {
      entry& found = known("--" + std::string(each.name), path + ": ");
      try {
        take(found, each.value);
      } catch (const error& problem) {
        throw error(problem, path);
      }
      found.given = found.configured = true;
    }
  }
  static void take(const entry& which, const json& value) {
    const auto wanted = [&](bool fits, const char* what) {
      if (!fits) fail(bad_option_value, which.name + " wants " + what + ", got " + value.kind());
    };
    if (auto* const flag = std::get_if<bool*>(&which.value)) {
      wanted(value.is_boolean(), "true or false");
      **flag = value.boolean();
    } else if (auto* const several = std::get_if<std::vector<std::string>*>(&which.value)) {
      wanted(value.is_string() || value.is_array(), "a list of texts");
      (*several)->clear();
      if (value.is_string()) return set(which, value.string());
      for (const json& one : value.items()) {
        wanted(one.is_string(), "a list of texts");
        set(which, one.string());
      }
    } else if (std::holds_alternative<std::string*>(which.value)) {
      wanted(value.is_string() || value.is_number(), "a text");
      set(which, value.is_string() ? value.string() : write_json(value));
    } else {
      wanted(value.is_number(), "a number");
      set(which, write_json(value));
    }
  }

  void add(entry made) {
    made.standard = standard_of(made);
    entries_.push_back(std::move(made));
  }
  static std::string left(const entry& each) {
    return each.name + (each.unit.empty() ? "" : " " + each.unit);
  }
  // The value before parsing is what help shows.
  static std::string standard_of(const entry& each) {
    if (!each.standard.empty()) return each.standard;
    if (const auto* text = std::get_if<std::string*>(&each.value)) return **text;
    if (const auto* whole = std::get_if<isize*>(&each.value)) return std::to_string(**whole);
    if (const auto* word = std::get_if<std::uint64_t*>(&each.value)) return std::to_string(**word);
    if (const auto* real = std::get_if<double*>(&each.value)) return shortest(**real);
    return {};
  }
  static std::string shortest(double value) {
    char digits[32];
    const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, value);
    return {digits, end};
  }

  template <class Number>
  static Number number(const entry& which, std::string_view value, const char* wanted) {
    Number out{};
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (failed != std::errc{} || end != value.data() + value.size() || value.empty())
      fail(bad_option_value, which.name + " wants " + wanted + ", got \"" + std::string(value) + "\"");
    return out;
  }
  static void set(const entry& which, std::string_view value) {
    if (auto* const text = std::get_if<std::string*>(&which.value)) {
      if (!which.choices.empty() &&
          std::find(which.choices.begin(), which.choices.end(), value) == which.choices.end())
        fail(bad_option_value,
             which.name + " wants one of " + which.unit + ", got \"" + std::string(value) + "\"");
      if (value.empty()) fail(option_without_value, which.name + " " + which.unit);
      **text = value;
    } else if (auto* const several = std::get_if<std::vector<std::string>*>(&which.value)) {
      if (value.empty()) fail(option_without_value, which.name + " " + which.unit);
      (*several)->emplace_back(value);
    } else if (auto* const whole = std::get_if<isize*>(&which.value)) {
      const isize got = number<isize>(which, value, "a whole number");
      if (static_cast<double>(got) < which.least)
        fail(bad_option_value,
             sentence({which.name, " wants at least ", static_cast<isize>(which.least), ", got ", got}));
      if (static_cast<double>(got) > which.most)
        fail(bad_option_value,
             sentence({which.name, " wants at most ", static_cast<isize>(which.most), ", got ", got}));
      **whole = got;
    } else if (auto* const word = std::get_if<std::uint64_t*>(&which.value)) {
      **word = number<std::uint64_t>(which, value, "a whole number that is not negative");
    } else if (auto* const real = std::get_if<double*>(&which.value)) {
      const double got = number<double>(which, value, "a number");
      if (!std::isfinite(got) || got < which.least || got > which.most)
        fail(bad_option_value, which.name + " wants a number from " + shortest(which.least) + " to " +
                                   shortest(which.most) + ", got \"" + std::string(value) + "\"");
      **real = got;
    }
  }

  std::string program_, about_;
  std::vector<entry> entries_;
};

}  // namespace motet
