// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>

#include <charconv>
#include <cstdint>
#include <optional>

namespace motet {

namespace detail {

inline std::string step_folder(std::int64_t step) {
  const std::string digits = std::to_string(step);
  return "step-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}
// The step of "step-000123", or nothing.
inline std::optional<std::int64_t> folder_step(std::string_view name) {
  std::int64_t step = 0;
  if (!name.starts_with("step-")) return std::nullopt;
  name.remove_prefix(5);
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (failed != std::errc{} || end != name.data() + name.size() || name.size() < 6 || step < 0)
    return std::nullopt;
  return step;
}

}  // namespace detail

// The newest checkpoint of a run: what `latest` names, else the highest complete step. Nothing when there is
// none. What `latest` names was complete once, so without an index it is damaged, and is not passed over.
inline std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& run) {
  std::error_code ignored;
  if (std::filesystem::exists(run / "latest", ignored)) {
    const mapped_file pointer(run / "latest");
    const std::string name(pointer.text().substr(0, pointer.text().find('\n')));
    if (detail::folder_step(name) && std::filesystem::exists(run / name, ignored)) return run / name;
  }
  std::optional<std::int64_t> best;
  std::filesystem::path found;
  for (std::filesystem::directory_iterator it(run, ignored), end; it != end; it.increment(ignored)) {
    const auto step = detail::folder_step(it->path().filename().string());
    if (step && (!best || *step > *best) && std::filesystem::exists(it->path() / "index.json", ignored))
      best = step, found = it->path();
  }
  if (!best) return std::nullopt;
  return found;
}

}  // namespace motet
