// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/csv/csv_sheet.hpp>

namespace motet {

namespace detail {

// Makes a program of a sheet.
class csv_reader {
 public:
  explicit csv_reader(std::string_view text) : sheet_(csv_sheet_reader(text).read()) {}

  program read() {
    if (!sheet_.headed) infer_voice();
    find_ranges();
    require_all();
    place_stages();
    return build();
  }

 private:
  void infer_voice() {
    voice made;
    made.learns = false;
    for (const csv_action& each : sheet_.actions) {
      made.learns = made.learns || is_backward(each.it.what);
      made.stages = std::max(made.stages, each.it.stage + 1);
      made.microbatches = std::max(made.microbatches, each.it.microbatch + 1);
    }
    sheet_.voices.push_back(made);
    sheet_.slots.emplace_back();
  }
  void find_ranges() const {
    std::int32_t joins = 0;
    for (const voice& each : sheet_.voices) joins = std::max(joins, each.join + 1);
    for (const csv_action& each : sheet_.actions) {
      const instruction& it = each.it;
      if (it.what == op::join) {
        if (it.voice >= joins) each.refuse(csv_too_large, sentence({"join ", it.voice, " has no member"}));
        continue;
      }
      const voice& of = sheet_.voices[as_size(it.voice)];
      if (it.stage >= of.stages)
        each.refuse(csv_too_large, sentence({"stage ", it.stage, " of ", of.stages}));
      if (it.microbatch >= of.microbatches)
        each.refuse(csv_too_large, sentence({"microbatch ", it.microbatch, " of ", of.microbatches}));
    }
  }
  // A file leaves nothing out. This also keeps a misspelt number from asking for gigabytes: tables are never
  // larger than the file.
  void require_all() const {
    require_all("forward", false, [](op what) { return what <= op::forward_only; });
    require_all("backward", true, [](op what) { return what == op::backward || what == op::backward_input; });
    require_all("weight part of backward", true,
                [](op what) { return what == op::backward || what == op::backward_weight; });
  }
  template <class Is>
  void require_all(const char* name, bool of_learners, Is is) const {
    struct cell {
      std::int32_t voice, stage, microbatch;
      auto operator<=>(const cell&) const = default;
    };
    const auto concerns = [&](std::int32_t v) { return !of_learners || sheet_.voices[as_size(v)].learns; };
    const auto voices = static_cast<std::int32_t>(sheet_.voices.size());
    isize wanted = 0;
    for (std::int32_t v = 0; v < voices; ++v)
      if (concerns(v))
        wanted += isize{sheet_.voices[as_size(v)].stages} * sheet_.voices[as_size(v)].microbatches;
    std::vector<cell> found;
    for (const csv_action& each : sheet_.actions)
      if (is(each.it.what) && concerns(each.it.voice))
        found.push_back({each.it.voice, each.it.stage, each.it.microbatch});
    if (static_cast<isize>(found.size()) >= wanted) return;  // check() finds what stands there twice
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    cell next{0, 0, 0};
    const auto skip = [&] {
      while (!concerns(next.voice)) ++next.voice;
    };
    skip();
    for (const cell& each : found) {
      if (each != next) break;
      const voice& of = sheet_.voices[as_size(next.voice)];
      if (++next.microbatch < of.microbatches) continue;
      next.microbatch = 0;
      if (++next.stage == of.stages) next = {next.voice + 1, 0, 0}, skip();
    }
    std::string where;
    for (const csv_action& each : sheet_.actions)
      if (where.empty() && each.it.what != op::join && each.it.voice == next.voice &&
          each.it.stage == next.stage)
        where = sentence({"row ", each.row, ": "});
    if (voices > 1) where += sentence({"voice ", next.voice, ", "});
    fail(csv_incomplete,
         sentence({where, "stage ", next.stage, " has no ", name, " of microbatch ", next.microbatch}));
  }

  void place_stages() {
    std::vector<std::vector<const csv_action*>> seen(sheet_.voices.size());
    for (std::size_t v = 0; v < sheet_.voices.size(); ++v)
      seen[v].resize(as_size(sheet_.voices[v].stages), nullptr);
    for (const csv_action& each : sheet_.actions) {
      if (each.it.what == op::join) continue;
      const csv_action*& first = seen[as_size(each.it.voice)][as_size(each.it.stage)];
      if (first == nullptr) first = &each;
      if (first->row != each.row)
        each.refuse(csv_stage_twice, sentence({"stage ", each.it.stage, " lies in row ", first->row,
                                               ", column ", first->column}));
    }
    for (std::size_t v = 0; v < sheet_.voices.size(); ++v) {
      list<std::int32_t> held(sheet_.headed ? 0 : static_cast<isize>(sheet_.starts.size()), 0);
      voice& made = sheet_.voices[v];
      for (const csv_action* const& first : seen[v]) {
        if (first == nullptr)
          fail(csv_incomplete, sentence({"stage ", &first - seen[v].data(), " is in no row"}));
        if (!sheet_.headed) made.chunks = std::max(made.chunks, ++held[first->row - sheet_.first_row]);
      }
      score_.add(made, [&](std::int32_t s) { return seen[v][as_size(s)]->row - sheet_.first_row; });
    }
    for (const fed_cell& each : sheet_.feeds) score_.feed(each);
    if (const misfed found = find_misfed(score_.voices(), score_.feeds()); !found.ok())
      fail(csv_bad_header, sentence({"the feeds of voice ", found.from, " and voice ", found.to,
                                     " do not fit: of a voice all microbatches feed others, or none does"}));
  }

  program build() {
    bool has_messages = false, has_others = false;
    for (const csv_action& each : sheet_.actions) {
      has_messages = has_messages || (is_transfer(each.it.what) && !each.wait);
      has_others = has_others || !is_compute(each.it.what);
    }
    for (std::size_t r = 0; r < sheet_.starts.size(); ++r) {
      score_.rank();
      for (std::size_t i = sheet_.starts[r]; i < sheet_.end_of(r); ++i) {
        const instruction& it = sheet_.actions[i].it;
        if (!is_compute(it.what)) continue;
        if (it.what == op::join) score_.join(it.voice, it.microbatch);
        else score_.play(it.what, it.voice, it.stage, it.microbatch);
      }
    }
    program made;
    made.voices = score_.voices();
    made.places = score_.places();
    made.joins = score_.joins();
    made.feeds = score_.feeds();
    const bool adds_messages = sheet_.headed ? sheet_.computations_only : !has_messages,
               adds_updates = sheet_.headed ? sheet_.computations_only : !has_others;
    message_writer carrier(score_, made, messages::in_channels);
    const cell_links links(made.voices, made.feeds);
    csv_lanes lanes(made.places.size());
    const update_writer updates(made, {});
    open_.resize(2 * isize{score_.cells()} + made.places.size(), 0);
    for (std::size_t r = 0; r < sheet_.starts.size(); ++r) {
      const auto rank = static_cast<std::int32_t>(r);
      carrier.begin_rank();
      lanes.begin_rank();
      for (std::size_t i = sheet_.starts[r]; i < sheet_.end_of(r);) {
        std::size_t last = i;
        while (sheet_.actions[last].it.paired) ++last;
        for (std::size_t c = i; adds_messages && c <= last; ++c)
          carrier.before(cue_of(sheet_.actions[c].it), rank);
        for (std::size_t c = i; c <= last; ++c) put(sheet_.actions[c], made, links, lanes);
        for (std::size_t c = i; adds_messages && c <= last; ++c)
          carrier.after(cue_of(sheet_.actions[c].it), rank);
        i = last + 1;
      }
      if (adds_updates) updates.put(rank);
      made.starts.push(static_cast<std::int32_t>(made.instructions.size()));
    }
    made.slots = live_of_stages(made);
    for (std::size_t v = 0; v < sheet_.slots.size(); ++v)
      for (std::size_t s = 0; s < sheet_.slots[v].size(); ++s)
        made.slots[made.voices[static_cast<isize>(v)].first_place + static_cast<isize>(s)] =
            sheet_.slots[v][s];
    return made;
  }
  static cue cue_of(const instruction& it) {
    cue made;
    made.what = it.what;
    made.voice = it.voice;
    made.stage = it.stage;
    made.microbatch = it.microbatch;
    return made;
  }
  void put(const csv_action& cell, program& made, const cell_links& links, csv_lanes& lanes) {
    instruction it = cell.it;
    const voice* const voices = made.voices.data();
    if (it.what == op::send_forward || it.what == op::send_backward || it.what == op::reduce_gradient) {
      const voice& of = voices[it.voice];
      const isize sent = 2 * isize{it.microbatch < 0 ? 0 : of.cell(it.stage, it.microbatch)} +
                         (it.what == op::send_backward ? 1 : 0);
      std::uint8_t& open =
          open_[it.what == op::reduce_gradient ? 2 * isize{score_.cells()} + of.first_place + it.stage
                                               : sent];
      if (cell.wait && open == 0) cell.refuse(csv_lone_wait, "nothing is under way there");
      open = cell.wait ? 0 : 1;
      if (cell.wait) return;
    }
    const std::uint8_t usual = lanes.of(it, voices);
    if (!cell.laned) it.lane = usual;
    if (is_transfer(it.what)) {
      const linked_cell other = links.other_end(is_send(it.what), message_kind(it.what), it.voice, it.stage,
                                                it.microbatch, it.part);
      if (other.there()) it.peer = made.place(voices[other.at.voice], other.at.stage);
    }
    made.instructions.push(it);
  }

  csv_sheet sheet_;
  score score_;
  list<std::uint8_t> open_;  // sends and reductions that nobody waited for
};

}  // namespace detail

// The program in a file in the CSV form of torch.distributed.pipelining, or in the same form with a header of
// ours. Where it holds computations alone, messages and updates are added as compile() does. What cannot be a
// program is refused with row and column (MT-P50..); whether the program is legal is for check() to say.
// Asks for: the text of a file, a line for each rank.
// Memory: the program.
// Errors: MT-P50, MT-P51, MT-P52, MT-P53, MT-P54, MT-P55, MT-P56, MT-P57
// Example:
//   const program two = read_csv("0F0,,0B0\n1F0,1B0\n");
inline program read_csv(std::string_view text) { return detail::csv_reader(text).read(); }

}  // namespace motet
