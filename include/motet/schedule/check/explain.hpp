// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/check/check.hpp>
#include <motet/schedule/core/rules.hpp>

#include <string>

namespace motet {

// "forward of picture, stage 2, microbatch 7".
inline std::string describe(const program& of, const instruction& it) {
  std::string text = name_of(it.what);
  if (it.what == op::join) return sentence({text, " ", it.voice, ", group ", it.microbatch});
  if (it.voice < 0 || it.voice >= of.voices.size()) return sentence({text, " of module ", it.voice});
  const voice& sings = of.voices[it.voice];
  text += " of ";
  text += sings.name.view().empty() ? "module " + std::to_string(it.voice) : std::string(sings.name.view());
  if (sings.replica > 0) text += sentence({" (replica ", sings.replica, ")"});
  if (sings.shards > 1) text += sentence({" (shard ", sings.shard, " of ", sings.shards, ")"});
  text += ", stage " + std::to_string(it.stage);
  if (it.microbatch >= 0) text += ", microbatch " + std::to_string(it.microbatch);
  return text;
}
// "rank 1, instruction 17 (receive_forward of picture, stage 2, microbatch 4)".
inline std::string locate(const program& of, std::int32_t i) {
  const std::int32_t rank = of.rank_of(i);
  return sentence(
      {"rank ", rank, ", instruction ", i - of.starts[rank], " (", describe(of, of.instructions[i]), ")"});
}

// A finding lies here, and counted this: "rank 1, instruction 17 (...) (got 3, wanted 4)".
inline std::string detail_of(const program& of, const finding& found) {
  std::string text;
  if (found.at >= 0) text = locate(of, found.at);
  else if (found.rank >= 0) text = "rank " + std::to_string(found.rank);
  if (found.why == reason::left_out && found.at < 0) {
    text += found.wanted < 0 ? ", the update of stage " + std::to_string(found.got)
                             : sentence({", stage ", found.got, ", microbatch ", found.wanted});
  } else if (found.why == reason::deadlock) {
    text += sentence({", one of ", found.got, " lanes that are stuck"});
  } else if (found.got != 0 || found.wanted != 0) {
    text += sentence({text.empty() ? "" : " ", "(got ", found.got, ", wanted ", found.wanted, ")"});
  }
  if (found.why != reason::deadlock && found.other >= 0) text += "; see " + locate(of, found.other);
  return text;
}
// Names the ranks of a deadlock, each and for whom it waits.
inline std::string cycle_of(const program& of, const check_result& result) {
  std::string text;
  for (const blocked& each : result.cycle)
    text += "\n  " + locate(of, each.at) + " waits for " + locate(of, each.waits_for);
  return text;
}

// Says a finding in one sentence; empty when nothing was found.
inline std::string explain(const program& of, const finding& found) {
  if (found.ok()) return {};
  const message& row = *found.why;
  const std::string detail = detail_of(of, found);
  return std::string(row.sentence) + (detail.empty() ? "" : ": " + detail) + " [" + row.code + "]";
}
inline std::string explain(const program& of, const check_result& result) {
  return explain(of, result.found) + cycle_of(of, result);
}

// Stops with a sentence when a program is not legal.
// Asks for: a program, from compile(), a file or by hand.
// Memory: what check() takes, and the sentence.
// Errors: MT-P01, MT-P04, MT-P06, MT-P11, MT-P20, MT-P21, MT-P22, MT-P23, MT-P24, MT-P25, MT-P26, MT-P28,
// MT-P29, MT-P30, MT-P31, MT-P32, MT-P33, MT-P34, MT-P35, MT-P36, MT-P37, MT-P38
// Example:
//   std::string why_not(const program& steps) { return explain(steps, check(steps)); }
void require_legal(const program& of, delivery how = delivery::rendezvous);
void require_legal(const program& of, delivery how, program_graph& buffered);

// The buffers that each stage needs, in_turn as of count_buffers(); a program for which no number is enough
// is refused as by require_legal().
buffer_counts require_buffers(const program& of, bool in_turn = false);

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {
inline void require_found(const program& of, const check_result& result) {
  if (!result.ok()) fail(*result.found.why, detail_of(of, result.found) + cycle_of(of, result));
}
}  // namespace detail
MOTET_BODY void require_legal(const program& of, delivery how) { detail::require_found(of, check(of, how)); }
MOTET_BODY void require_legal(const program& of, delivery how, program_graph& buffered) {
  detail::require_found(of, check(of, how, buffered));
}
MOTET_BODY buffer_counts require_buffers(const program& of, bool in_turn) {
  buffer_counts counts;
  if (const finding found = count_buffers(of, counts, in_turn); !found.ok())
    fail(*found.why, detail_of(of, found));
  return counts;
}
#endif

}  // namespace motet
