// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/fed_cell.hpp>
#include <motet/schedule/core/instruction.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// A cue says what a rank computes next. A score keeps it as one number, because compilers interpret constant
// expressions: numbers cost them a twentieth of structs.
struct cue {
  op what = op::forward;
  bool paired = false;  // overlapped with the next one
  bool aside = false;   // beside the computation, in a lane of its own
  std::int32_t voice = 0;
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;

  constexpr cue() = default;
  constexpr explicit cue(std::int64_t code)
      : what(static_cast<op>(code & 31)),
        paired((code >> 5 & 1) != 0),
        aside((code >> 6 & 1) != 0),
        voice(static_cast<std::int32_t>(code >> 7 & 0xffff)),
        stage(static_cast<std::int32_t>(code >> 23 & 0xfffff)),
        microbatch(static_cast<std::int32_t>(code >> 43 & 0xfffff)) {}
};

// The order in which every rank computes: what a schedule writes. Messages, updates and memory follow from it
// (compile.hpp).
//
//   score out;
//   const int tower = out.add(made, [](int stage) { return stage; });  // a voice, and the rank of each of
//   its stages
//   for (int d = 0; d < ranks; ++d) {
//     out.rank();
//     out.play(op::forward, tower, stage, microbatch);
//     ...
// Asks for: voices first, then the order of one rank after the other.
// Memory: one number of 64 bits for each computation.
// Errors: none of its own.
// Example:
//   score one_rank() {
//     score out;
//     const int tower = out.add(voice{}, [](int) { return 0; });
//     out.rank();
//     out.play(op::forward, tower, 0, 0);
//     out.play(op::backward, tower, 0, 0);
//     return out;
//   }
class score {
 public:
  // Returns the voice's number.
  template <class Where>
  constexpr int add(voice made, Where where) {
    made.first_place = static_cast<std::int32_t>(places_.size());
    made.first_cell = cells_;
    cells_ += made.stages * made.microbatches;
    codes_.reserve(codes_.size() + isize{3} * cells_);
    for (std::int32_t s = 0; s < made.stages; ++s) places_.push(where(s));
    if (made.join >= joins_) joins_ = made.join + 1;
    voices_.push(made);
    return static_cast<int>(voices_.size()) - 1;
  }
  // Room for voices with so many cells in all, where they are known before they are added.
  constexpr void reserve(isize cells) { codes_.reserve(3 * cells); }
  // Cues that are played from here on are the order of the next rank.
  constexpr void rank() { starts_.push(static_cast<std::int32_t>(codes_.size())); }
  constexpr void play(op what, int voice, int stage, int microbatch) {
    const std::int64_t v = voice, s = stage, m = microbatch;
    codes_.push(static_cast<std::int64_t>(what) | v << 7 | s << 23 | m << 43);
  }
  // The next two run overlapped, as one.
  constexpr void play_pair(op first, int stage, int microbatch, op second, int second_stage,
                           int second_microbatch, int voice = 0) {
    play(first, voice, stage, microbatch);
    codes_.back() |= 32;
    play(second, voice, second_stage, second_microbatch);
  }
  // The loss of one group over all members of a join. Aside, it does not hold up the computation.
  constexpr void join(int which, int group, bool aside = false) {
    play(op::join, which, 0, group);
    if (aside) codes_.back() |= 64;
  }
  // The rows of a microbatch of one voice enter a microbatch of another.
  constexpr void feed(const fed_cell& made) { feeds_.push(made); }
  // Each microbatch of one voice the same of another.
  constexpr void feed(int from, int to) {
    for (std::int32_t m = 0; m < voices_[from].microbatches; ++m) feeds_.push({from, m, to, m});
  }
  // A voice computes in another lane of its ranks.
  constexpr void compute_in(int voice, std::int32_t lane) { voices_[voice].lane = lane; }
  // What backward needs of more microbatches of a voice's stage leaves the device's memory.
  constexpr void offload_beyond(int voice, std::int32_t count) { voices_[voice].offload_beyond = count; }
  // Other feeds than were said.
  constexpr void feed_as(const list<fed_cell>& all) { feeds_ = all; }
  // Changes a cue that was written already.
  constexpr void pair_with_next() { codes_.back() |= 32; }

  constexpr std::int32_t ranks() const { return static_cast<std::int32_t>(starts_.size()); }
  constexpr std::int32_t begin_of(std::int32_t rank) const {
    return rank < ranks() ? starts_[rank] : static_cast<std::int32_t>(codes_.size());
  }
  constexpr std::int32_t end_of(std::int32_t rank) const { return begin_of(rank + 1); }
  constexpr const list<std::int64_t>& codes() const { return codes_; }
  constexpr cue operator[](std::int32_t i) const { return cue(codes_[i]); }
  constexpr const list<voice>& voices() const { return voices_; }
  constexpr const list<std::int32_t>& places() const { return places_; }
  constexpr const list<fed_cell>& feeds() const { return feeds_; }
  constexpr std::int32_t place(const voice& of, std::int32_t stage) const {
    return places_[of.first_place + stage];
  }
  constexpr std::int32_t cells() const { return cells_; }
  constexpr std::int32_t joins() const { return joins_; }
  friend constexpr bool operator==(const score&, const score&) = default;

 private:
  list<voice> voices_;
  list<std::int32_t> places_;  // the rank of each stage, voice after voice
  list<fed_cell> feeds_;
  list<std::int64_t> codes_;   // rank after rank
  list<std::int32_t> starts_;  // of each rank in codes
  std::int32_t cells_ = 0;
  std::int32_t joins_ = 0;
};

}  // namespace motet
