// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/data/permutation.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace motet {

// A position says where a run stands in its data: enough to go on exactly, whatever the number of threads and
// even with another batch size.
struct data_position {
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the data set
  isize samples = 0;              // of the data set
  isize next = 0;                 // samples delivered since the start of the run
  std::vector<isize> waiting{};   // places before `next` whose samples wait for a batch with room for them
  std::uint64_t windows = 0;      // step_windows::mark of those in which samples wait for each other

  isize epoch() const { return samples > 0 ? next / samples : 0; }
  bool operator==(const data_position&) const = default;
};

// Refuses where a run of other data, or of another seed, stood.
template <class Source>
void check_position(const Source& source, std::uint64_t seed, const data_position& from) {
  if (from.samples != source.size() || from.fingerprint != source.fingerprint())
    fail(bad_data_state, sentence({"saved with a data set of ", from.samples, " samples, this one has ",
                                   source.size(), (from.samples == source.size() ? " of other names" : "")}));
  if (from.seed != seed) fail(bad_data_state, sentence({"saved with seed ", from.seed, ", now ", seed}));
  if (from.next < 0) fail(bad_data_state, sentence({"place ", from.next, " in the data"}));
  for (const isize each : from.waiting)
    if (each < 0 || each >= from.next)
      fail(bad_data_state, sentence({"place ", each, " waits, before place ", from.next}));
}

// A run is the epochs' orders one after another: which sample stands at a place of it. Each thread has one.
class run_order {
 public:
  run_order(isize count, std::uint64_t seed, bool shuffle) : count_(count), seed_(seed), shuffle_(shuffle) {}

  isize operator()(isize place) {
    const isize within = place % count_;
    if (!shuffle_) return within;
    if (const isize epoch = place / count_; !order_ || epoch != epoch_) {
      epoch_ = epoch;
      order_.emplace(count_, seed_, static_cast<std::uint64_t>(epoch));
    }
    return (*order_)(within);
  }

 private:
  isize count_;
  std::uint64_t seed_;
  bool shuffle_;
  isize epoch_ = -1;
  std::optional<permutation> order_;
};

// Random numbers that belong to a place of the run and to what they are for.
inline random_stream draws_at(std::uint64_t seed, std::string_view what, isize place) {
  return {seed, random_stream::hash(what) + static_cast<std::uint64_t>(place) * 0x9E3779B97F4A7C15ull};
}

// The sample that stands for a damaged one: put(sample) of one that is not in `chosen` is true where that is
// whole. A few random tries spread the replacements; then all samples in turn, so that one that is left is
// found. -1: there is none.
template <class Put>
isize replacement(isize count, std::uint64_t seed, isize place, const std::vector<isize>& chosen, Put&& put) {
  constexpr isize tries = 16;
  const random_stream draws = draws_at(seed, "replacement", place);
  const auto start = static_cast<isize>(draws.block(0)[0]) % count;
  for (isize tried = 0; tried < count + tries; ++tried) {
    const isize sample = tried < tries
                             ? static_cast<isize>(draws.word(static_cast<std::uint64_t>(tried) + 4)) % count
                             : (start + tried) % count;
    if (std::find(chosen.begin(), chosen.end(), sample) != chosen.end()) continue;
    if (put(sample)) return sample;
  }
  return -1;
}

}  // namespace motet
