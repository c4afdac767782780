// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/messages.hpp>
#include <motet/plan/describe/plan.hpp>

#include <charconv>
#include <string>
#include <string_view>

// A plan as C++: the text of a header with a constexpr function that returns it, so that a search's answer
// becomes a constant that the compiler proves.

namespace motet {

struct header_words {
  std::string name = "best_plan";  // of the function
  std::string about = {};          // a comment, of as many lines as it has
  isize samples = 0;               // of a step; 0: no constant for it
};

namespace detail {

// C++ or this library has taken these names.
inline constexpr std::string_view taken_names =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "class co_await"
    " co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double"
    " dynamic_cast else enum explicit export extern false float for friend goto if inline int long main "
    "motet mutable namespace new"
    " noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "requires return short signed"
    " sizeof static static_assert static_cast std struct switch template this thread_local throw true try "
    "typedef typeid typename"
    " union unsigned using virtual void volatile wchar_t while xor xor_eq ";

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

inline bool may_name_a_function(std::string_view text) {
  if (text.empty() || !is_letter(text[0]) || text.find("__") != std::string_view::npos) return false;
  for (const char c : text)
    if (!is_letter(c) && !is_digit(c) && c != '_') return false;
  return taken_names.find(" " + std::string(text) + " ") == std::string_view::npos;
}

inline std::string cpp_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 32 || code > 126) {
      // Octal ends after three digits, hexadecimal does not end.
      for (const int part : {64, 8, 1}) out += (part == 64 ? "\\" : "") + std::to_string(code / part % 8);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// "{0, 1, 2}", in lines that people can read.
template <class T>
std::string cpp_list(const list<T>& of, const std::string& indent) {
  std::string out = "{", line;
  for (isize i = 0; i < of.size(); ++i) {
    const std::string word = std::to_string(of[i]) + (i + 1 < of.size() ? "," : "");
    if (line.size() + word.size() > 110) {
      out += line + "\n" + indent;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "}";
}

inline std::string cpp_degrees(const degrees& of) {
  std::string out;
  const auto put = [&](const char* name, std::int32_t ways) {
    if (ways != 1) out += sentence({(out.empty() ? "." : ", ."), name, " = ", ways});
  };
  put("stages", of.stages);
  put("data", of.data);
  put("context", of.context);
  put("tensor", of.tensor);
  return "motet::degrees{" + out + "}";
}

inline std::string cpp_module(const module_plan& from, isize number) {
  const degrees& split = from.on.split();
  const list<std::int32_t>& ranks = from.on.ranks();
  const bool in_a_row = !ranks.empty() && from.on == mesh::from(ranks[0], split);
  std::string out =
      sentence({"  of.modules.push(motet::on_ranks(", cpp_string(from.name.view()), ", ",
                in_a_row ? ranks[0] : 0, ", ", cpp_degrees(in_a_row ? split : degrees{}),
                (from.microbatches != 1 ? ", " + std::to_string(from.microbatches) : ""), "));\n"});
  const module_plan usual;
  const auto set = [&](const char* field, const std::string& value) {
    out += sentence({"  of.modules[", number, "].", field, " = ", value, ";\n"});
  };
  const auto put = [&](const char* field, int value, int otherwise) {
    if (value != otherwise) set(field, std::to_string(value));
  };
  const auto put_real = [&](const char* field, double value, double otherwise) {
    char digits[32];
    if (value != otherwise) set(field, {digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
  };
  if (!in_a_row)
    set("on", "motet::mesh(" + cpp_degrees(split) + ",\n      " + cpp_list(ranks, "       ") + ")");
  put("chunks", from.chunks, usual.chunks);
  if (!from.layers.empty()) set("layers", cpp_list(from.layers, "    "));
  if (!from.remade.empty()) set("remade", cpp_list(from.remade, "    "));
  put("group", from.group, usual.group);
  put("stash", from.stash, usual.stash);
  put("ahead", from.ahead, usual.ahead);
  put("offload_beyond", from.offload_beyond, usual.offload_beyond);
  put("zero", from.zero, usual.zero);
  put("experts", from.experts, usual.experts);
  if (from.balanced != usual.balanced) set("balanced", from.balanced ? "true" : "false");
  put("long_rows", from.long_rows, usual.long_rows);
  if (from.fills != usual.fills) set("fills", from.fills ? "true" : "false");
  if (from.multiplexed != usual.multiplexed) set("multiplexed", from.multiplexed ? "true" : "false");
  put("room", from.room, usual.room);
  put_real("forward_takes", from.forward_takes, usual.forward_takes);
  put_real("backward_takes", from.backward_takes, usual.backward_takes);
  put("lane", from.lane, usual.lane);
  put_real("share", from.share, usual.share);
  put("pieces", from.pieces, usual.pieces);
  return out;
}

}  // namespace detail

// A name of letters, digits and single underscores made of any text: "clip-1.1b on v100:8x8" becomes
// clip_1_1b_on_v100_8x8.
inline std::string function_name(std::string_view from) {
  std::string out;
  for (const char c : from) {
    if (detail::is_letter(c) || detail::is_digit(c)) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return detail::may_name_a_function(out) ? out : out.empty() ? "best_plan" : "plan_" + out;
}

// A whole header: include it, and prove what it returns by
// static_assert(motet::require<motet::prove_plan<my_model, NAME, NAME_batch>()>). MT-P81: `words.name` cannot
// name a function.
// Asks for: a plan, and a name that a function can have; function_name() makes one of any text.
// Memory: the text.
// Errors: MT-P81
// Example:
//   std::string header(const plan& best) {
//     return plan_header(best, {.name = function_name("clip on h100:2"), .samples = 512});
//   }
inline std::string plan_header(const plan& from, const header_words& words = {}) {
  if (!detail::may_name_a_function(words.name)) fail(no_function_name, "\"" + words.name + "\"");
  std::string out = "// ";
  for (const char c : words.about) {
    // A backslash at the end of a line would make a comment of the next one too.
    out += c == '\n' ? "\n// "
                     : std::string(1, c == '\\'                            ? '/'
                                      : static_cast<unsigned char>(c) < 32 ? ' '
                                                                           : c);
  }
  const std::string batch = words.samples > 0 ? words.name + "_batch" : "SAMPLES";
  out += (words.about.empty() ? "" : "\n//\n// ") +
         ("static_assert(motet::require<motet::prove_plan<my_model, " + words.name + ", " + batch + ">()>);");
  out += "\n#pragma once\n\n#include <motet/plan/describe/plan.hpp>\n\n";
  if (words.samples > 0)
    out += sentence({"inline constexpr motet::isize ", batch, " = ", words.samples, ";\n\n"});
  out += sentence({"constexpr motet::plan ", words.name,
                   "() {\n  motet::plan of;\n  of.cluster = {.ranks = ", from.cluster.ranks});
  if (from.cluster.ranks_per_node != 0)
    out += ", .ranks_per_node = " + std::to_string(from.cluster.ranks_per_node);
  if (from.cluster.tensor_may_cross_nodes) out += ", .tensor_may_cross_nodes = true";
  out += "};\n  of.schedule = " + detail::cpp_string(from.schedule.view()) + ";\n";
  for (isize k = 0; k < from.modules.size(); ++k) out += detail::cpp_module(from.modules[k], k);
  return out + "  return of;\n}\n";
}

}  // namespace motet
