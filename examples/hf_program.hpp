// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/messages.hpp>
#include <motet/meta/error.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

// Programs that read or write Hugging Face models do these alike: words to flags, errors to exit codes.
namespace motet {

// Calls take(flag, value) for every flag, where value() is the word behind it. It says whether there is such
// a flag.
template <class Take>
void read_hf_flags(int count, char** words, Take&& take) {
  for (int i = 1; i < count; ++i) {
    const std::string flag = words[i];
    const auto value = [&]() -> std::string {
      if (i + 1 >= count) fail(hf_command_line, flag + " needs a value");
      return words[++i];
    };
    if (!take(flag, value)) fail(hf_command_line, "unknown flag " + flag);
  }
}

// run(count, words), but for --help. What it throws is told, and ends in its code of the table.
template <class Run>
int hf_program(int count, char** words, const char* usage, Run&& run) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--help" || std::string_view(words[i]) == "-h")
      return std::fputs(usage, stdout) < 0 || std::fputs(exit_table().c_str(), stdout) < 0 ? 1 : 0;
  }
  try {
    run(count, words);
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem);
  }
}

}  // namespace motet
