// SPDX-License-Identifier: Apache-2.0

// Finds an order of a step's samples from what they cost: who gets which, which share a microbatch, and in
// which turn they run, with the times of the order, of orders by chance, and of none that can be less.
#include "reorder/told.hpp"

#include <motet/tools/process/exit_code.hpp>

#include <exception>

namespace motet::reorder {
namespace {

std::string text_for(const settings& given) {
  step of = read_headers(given);
  packing packed;
  if (given.rows > 0) of = pack(given, of, packed);
  else check_even(given, of);
  const found chosen = find(given, of.times);
  return given.emit == "json" ? write_json(answer(given, of, packed, chosen), 2) + "\n"
                              : told(given, of, packed, chosen);
}

int run(int count, const char* const* words) {
  try {
    settings given;
    if (!read_settings(count, words, given)) return 0;
    const std::string text = text_for(given);
    if (!given.output.empty()) write_file(given.output, text);
    else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      fail(file_unwritable, "standard output");
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem, "reorder");
  }
}

}  // namespace
}  // namespace motet::reorder

int main(int count, char** words) { return motet::reorder::run(count, words); }
