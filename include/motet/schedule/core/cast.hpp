// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/schedule/core/score.hpp>

#include <string>

namespace motet {

// A cast is what scores have in common that take turns from step to step: the voices, the rank of each of
// their stages, whose rows enter whom, and the ranks. Messages, meetings and the memory of stages follow
// from it, and the order of a step does not change it.
struct cast_difference {
  const char* what = "";   // empty: there is none
  std::int32_t voice = 0;  // where it was found
  isize got = 0, wanted = 0;

  constexpr bool is_there() const { return what[0] != '\0'; }
};

// "voice 0 has 2 stages, wanted 3".
inline std::string words_of(const cast_difference& of) {
  return sentence({"voice ", of.voice, " has ", of.got, " ", of.what, ", wanted ", of.wanted});
}

namespace detail {

constexpr cast_difference unlike_voices(const voice& first, const voice& other, std::int32_t v) {
  const auto differs = [&](const char* what, isize wanted, isize got) {
    return cast_difference{what, v, got, wanted};
  };
  if (first.module != other.module) return differs("module", first.module, other.module);
  if (first.stages != other.stages) return differs("stages", first.stages, other.stages);
  if (first.microbatches != other.microbatches)
    return differs("microbatches", first.microbatches, other.microbatches);
  if (first.group != other.group) return differs("microbatches of a loss", first.group, other.group);
  if (first.lane != other.lane) return differs("lane", first.lane, other.lane);
  if (first.offload_beyond != other.offload_beyond)
    return differs("microbatches that stay", first.offload_beyond, other.offload_beyond);
  if (!(first == other)) return differs("another shard or replica, or learns otherwise", v, v);
  return {};
}

}  // namespace detail

// Finds in what the cast of `other` is not that of `first`.
// Asks for: nothing.
// Memory: none.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/write/gpipe.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   static_assert(!find_other_cast(one_f_one_b::write({.stages = 2, .microbatches = 4}),
//                                  gpipe::write({.stages = 2, .microbatches = 4}))
//                      .is_there());  // so these take turns
constexpr cast_difference find_other_cast(const score& first, const score& other) {
  if (first.ranks() != other.ranks()) return {"ranks", 0, other.ranks(), first.ranks()};
  if (first.voices().size() != other.voices().size())
    return {"voices", 0, other.voices().size(), first.voices().size()};
  for (std::int32_t v = 0; v < first.voices().size(); ++v)
    if (const cast_difference found = detail::unlike_voices(first.voices()[v], other.voices()[v], v);
        found.is_there())
      return found;
  for (std::int32_t v = 0; v < first.voices().size(); ++v)
    for (std::int32_t s = 0; s < first.voices()[v].stages; ++s)
      if (const std::int32_t got = other.place(other.voices()[v], s),
          wanted = first.place(first.voices()[v], s);
          got != wanted)
        return {"as the rank of a stage", v, got, wanted};
  if (!(first.feeds() == other.feeds())) return {"feeds", 0, other.feeds().size(), first.feeds().size()};
  return {};
}

}  // namespace motet
