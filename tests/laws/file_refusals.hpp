// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

#include <doctest/doctest.h>

#include <string>

namespace motet::laws {

// The text with one part replaced.
inline std::string with(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

// That a reader of texts refuses this one, with this code and in these words, and names the file.
template <class Read>
void check_refused(Read read, const std::string& text, const std::string& code, const std::string& says) {
  std::string said;
  try {
    read(text, "my.json");
  } catch (const error& problem) {
    said = problem.what();
    CHECK(problem.code() == code);
  }
  CAPTURE(said);
  CAPTURE(says);
  CHECK(said.find(says) != std::string::npos);
  CHECK(said.find("my.json") != std::string::npos);
}

}  // namespace motet::laws
