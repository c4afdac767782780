// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4 8
#include <mpi_ranks.hpp>

#include <motet/backend/transport/mpi/mpi.hpp>
#include <motet/runtime/ranks/executor.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// This process's part of a program: messages with rows that tell step and tag, meetings to which each brings
// its rank.
class process {
 public:
  process(program from, motet::isize rows)
      : here_(tests::mpi_session()),
        sheet_(std::move(from)),
        members_(static_cast<std::size_t>(sheet_.graph.meeting_sizes.size())),
        sent_(static_cast<std::size_t>(sheet_.messages)),
        met_(static_cast<std::size_t>(here_.ranks())),
        world_(sheet_.of.ranks(), sheet_.messages, meetings()),
        end_(world_, here_.rank()),
        player_(sheet_, here_.rank(), end_) {
    for (auto& each : sent_) each.resize(static_cast<std::size_t>(rows));
    for (std::int32_t i = sheet_.of.starts[here_.rank()]; i < sheet_.of.starts[here_.rank() + 1]; ++i) {
      const op what = sheet_.of.instructions[i].what;
      player_.set(i, {sheet_.graph.meetings[i] >= 0 ? &meet
                      : is_send(what)               ? &send
                      : is_receive(what)            ? &receive
                                                    : &compute,
                      this});
    }
  }
  // Runs a step; whether everything came as it should.
  bool step() {
    ++step_;
    done_ = 0;
    good_ = true;
    player_.run();
    end_.finish_step();
    return good_ && done_ == sheet_.of.starts[here_.rank() + 1] - sheet_.of.starts[here_.rank()];
  }

 private:
  static process& self(void* state) { return *static_cast<process*>(state); }
  static bool compute(void* state, const instruction&, std::int32_t) {
    ++self(state).done_;
    return true;
  }
  static bool send(void* state, const instruction& it, std::int32_t i) {
    process& own = self(state);
    auto& rows = own.sent_[static_cast<std::size_t>(own.sheet_.tags[i])];
    std::fill(rows.begin(), rows.end(), own.says(i));
    own.end_.send(own.sheet_.tags[i], it.peer, reinterpret_cast<const std::byte*>(rows.data()),
                  static_cast<motet::isize>(rows.size()) * 4);
    return compute(state, it, i);
  }
  static bool receive(void* state, const instruction& it, std::int32_t i) {
    process& own = self(state);
    // A rank may wait for several messages at once, each in memory of its own.
    auto& rows = own.sent_[static_cast<std::size_t>(own.sheet_.tags[i])];
    if (!own.end_.receive(own.sheet_.tags[i], it.peer, reinterpret_cast<std::byte*>(rows.data()),
                          static_cast<motet::isize>(rows.size()) * 4))
      return false;
    for (const std::int32_t each : rows) own.good_ = own.good_ && each == own.says(i);
    return compute(state, it, i);
  }
  static bool meet(void* state, const instruction& it, std::int32_t i) {
    process& own = self(state);
    const std::int32_t meeting = own.sheet_.tags[i];
    const auto& all = own.members_[static_cast<std::size_t>(meeting)];
    const auto member =
        static_cast<std::int32_t>(std::find(all.begin(), all.end(), own.here_.rank()) - all.begin());
    own.own_ = own.here_.rank();
    if (!own.end_.gather(meeting, member, reinterpret_cast<const std::byte*>(&own.own_), 4,
                         reinterpret_cast<std::byte*>(own.met_.data())))
      return false;
    own.good_ = own.good_ && std::equal(all.begin(), all.end(), own.met_.begin());
    return compute(state, it, i);
  }
  std::int32_t says(std::int32_t i) const { return step_ * 100000 + sheet_.tags[i]; }
  const std::vector<std::vector<std::int32_t>>& meetings() {
    for (std::int32_t i = 0; i < sheet_.of.instructions.size(); ++i)
      if (sheet_.graph.meetings[i] >= 0)
        members_[static_cast<std::size_t>(sheet_.graph.meetings[i])].push_back(sheet_.of.rank_of(i));
    return members_;
  }

  mpi::session& here_;
  score_sheet sheet_;
  std::vector<std::vector<std::int32_t>> members_, sent_;
  std::vector<std::int32_t> met_;
  mpi::world world_;
  mpi::endpoint end_;
  rank_player<mpi::endpoint> player_;
  std::int32_t own_ = 0, step_ = 0, done_ = 0;
  bool good_ = true;
};

}  // namespace

TEST_CASE("ranks that are processes play programs, step after step") {
  const std::int32_t ranks = tests::mpi_session().ranks();
  list<program> programs;
  programs.push(compile(one_f_one_b::write({ranks, 2 * ranks})));
  programs.push(compile(zb_h2::write({ranks, 2 * ranks + 1})));
  if (ranks > 1) programs.push(compile(interleaved::write({ranks, 2 * ranks})));
  // Two modules that meet in groups of samples.
  if (ranks > 1) programs.push(compile(batch_sync::write({{{ranks - 1, 8, 4, 0}, {1, 8, 4, 0, 1}}, 2})));
  for (const program& each : programs)
    for (const motet::isize rows : {3, 30000}) {
      REQUIRE(each.ranks() == ranks);
      process own(each, rows);
      for (int step = 0; step < 4; ++step) CHECK(own.step());
    }
}
