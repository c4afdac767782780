// SPDX-License-Identifier: Apache-2.0

// Any bytes are read or refused with MT-F01; what is read is the same after writing and reading again.
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  motet::json value;
  try {
    value = motet::read_json(text);
  } catch (const motet::error& refused) {
    if (std::string_view(refused.code()) != "MT-F01") std::abort();
    return 0;
  }
  if (!(motet::read_json(motet::write_json(value)) == value) ||
      !(motet::read_json(motet::write_json(value, 2)) == value))
    std::abort();
  return 0;
}
