// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/text/utf8.hpp>
#include <motet/jobs/watch/journal.hpp>
#include <motet/jobs/watch/line_feed.hpp>
#include <motet/jobs/watch/live_cluster.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

enum class watch_clock : std::uint8_t { wall, lines };

struct watch_rules {
  watch_clock clock = watch_clock::wall;
  double far_deadline = 0;  // seconds that all jobs have; 0: as lines say
  isize journal_bytes = usual_journal_bytes;
};

// Takes lines and writes changes, so that whoever kills it at any moment loses nothing: a line is taken when
// it stands in the journal, and all else follows from the journal. When it is made it takes all lines of its
// journal again; then changes.jsonl, which is written behind the journal, gets what it lacks. A journal that
// has grown long begins anew with the state that its lines have led to.
class job_watch {
 public:
  // `begins` is what a journal must have begun with to be gone on with. Throws MT-J42 and MT-J43.
  job_watch(const std::filesystem::path& folder, job_world& world, const job_site& site, live_policy policy,
            json begins, const watch_rules& rules)
      : live_(world, std::move(policy), rules.far_deadline),
        reader_(world.speeds.cluster(), site),
        site_(site),
        rules_(rules),
        begins_(std::move(begins)),
        journal_(folder / "journal"),
        changes_(folder / "changes.jsonl") {
    std::vector<json> records = journal_.take_records();
    if (records.empty()) {
      journal_.add(begins_);
      journal_.commit();
    } else {
      require_same(records[0]);
    }
    for (std::size_t r = 1; r < records.size(); ++r) replay(records[r], r + 1);
    catch_up(folder / "changes.jsonl");
  }

  // One line, at this time where the clock is the wall's. The answer is JSON, to be told when commit() has
  // returned; `refused` says why nothing was taken.
  struct answer {
    std::string text, refused;
  };
  answer take(const fed_line& line, double now) {
    json record{{"from", line.origin}, {"line", line.number}, {"end", line.end}};
    answer out;
    const std::size_t before = unwritten_.size();
    const isize first = count_;
    try {
      if (line.cut)
        fail(jobs_bad_line,
             sentence({place_of(line.origin, line.number), " is longer than ", longest_line, " bytes"}));
      const job_line read = reader_.read(line.text, line.origin, line.number);
      const double time = std::max(time_of(read, now, line), live_.world().now);
      record.set("time", time);
      record.set("text", line.text);
      carry_out(read, time, line.origin);
    } catch (const error& problem) {
      if (std::string_view(problem.code()) == jobs_policy_broke.code) throw;
      out.refused = problem.what();
      // Long words are cut, perhaps within a letter.
      for (std::size_t bad = 0; (bad = utf8_first_bad(out.refused)) != std::string::npos;)
        out.refused[bad] = '?';
      if (record.find("text") == nullptr) record.set("refused", true);
    }
    const std::string_view made = std::string_view(unwritten_).substr(before);
    record.set("changes", checksum_text(made));
    journal_.add(record);
    taken_from_[line.origin] = {line.number, line.end};
    json told{{"line", line.number}, {"taken", out.refused.empty()}};
    if (!out.refused.empty()) told.set("refused", out.refused);
    out.text = write_json(told);
    if (count_ > first) {
      out.text.pop_back();
      out.text += ", \"changes\": [";
      for (const char letter : made.substr(0, made.size() - 1)) {
        if (letter == '\n') out.text += ", ";
        else out.text += letter;
      }
      out.text += "]}";
    }
    return out;
  }
  // The time at which the policy wants to be asked though nothing happens.
  double wakes() const { return live_.wakes(); }
  void wake(double now) {
    const std::size_t before = unwritten_.size();
    pass(now);
    journal_.add(
        json{{"wake", now}, {"changes", checksum_text(std::string_view(unwritten_).substr(before))}});
  }
  // Lines that were taken are on the disk afterwards, and what they change behind them.
  void commit() {
    journal_.commit();
    write_changes();
    // A state is written when as much as it takes was written behind the last one: it costs no more than
    // that.
    if (journal_.bytes() - state_bytes_ <= std::max(as_size(rules_.journal_bytes), state_bytes_)) return;
    changes_.sync();  // nobody can make them again from then on
    journal_.begin_anew({begins_, json{{"state", keep()}}});
    state_bytes_ = journal_.bytes();
  }

  struct position {
    isize lines = 0;
    std::size_t bytes = 0;
  };
  // Each origin was read so far.
  const std::map<std::string, position>& taken_from() const { return taken_from_; }
  isize lines_taken() const { return static_cast<isize>(lines_); }
  const live_cluster& live() const { return live_; }

 private:
  double time_of(const job_line& read, double now, const fed_line& line) const {
    const bool told = read.time >= 0;
    if (told == (rules_.clock == watch_clock::lines)) return told ? read.time : now;
    fail(jobs_bad_line,
         place_of(line.origin, line.number) + (told ? ": has a \"time\", which the wall's clock tells here"
                                                    : ": has no \"time\", which lines tell here"));
  }
  void put(const std::vector<job_change>& all) {
    for (const job_change& each : all) unwritten_ += change_line(each, ++count_, live_.world(), site_) + "\n";
  }
  // Time goes on, and the policy is asked where it wanted to be.
  void pass(double time) {
    while (live_.wakes() <= time) put(live_.wake(live_.wakes()));
  }
  void carry_out(const job_line& line, double time, const std::string& origin) {
    pass(time);
    put(live_.take(line, time, origin));
    ++lines_;
  }

  void require_same(const json& had) const {
    for (const json::member each : begins_.members()) {
      const json* const was = had.find(each.name);
      if (was == nullptr || !(*was == each.value))
        fail(jobs_journal_differs, "it began with " + each.name + " " +
                                       (was == nullptr ? "unsaid" : write_json(*was)) + ", got " +
                                       write_json(each.value));
    }
  }
  json keep() {
    json from{json::object{}};
    for (const auto& [origin, at] : taken_from_)
      if (origin.ends_with(".events"))  // who asks by a socket asks anew
        from.set(origin, json{{"lines", at.lines}, {"bytes", at.bytes}});
    return {{"live", live_.keep()}, {"lines", lines_}, {"from", std::move(from)}, {"told", kept(told_)}};
  }
  void read_back(const json& state) try {
    live_.read_back(state.at("live"));
    lines_ = static_cast<std::size_t>(state.at("lines").integer());
    for (const json::member each : state.at("from").members())
      taken_from_[each.name] = {static_cast<isize>(each.value.at("lines").integer()),
                                static_cast<std::size_t>(each.value.at("bytes").integer())};
    motet::read_back(state.at("told"), told_);
    count_ = told_.changes;
  } catch (const error& problem) {
    fail(jobs_journal_differs,
         journal_.path.string() + ": its state is none of this program's: " + problem.what());
  }
  void replay(const json& record, std::size_t number) {
    if (const json* const state = record.find("state")) return read_back(*state);
    const std::size_t before = unwritten_.size();
    if (const json* const woken = record.find("wake")) {
      pass(woken->number());
    } else {
      const std::string& origin = record.at("from").string();
      const isize line = record.at("line").integer();
      taken_from_[origin] = {line, static_cast<std::size_t>(record.at("end").integer())};
      if (const json* const text = record.find("text")) {
        try {
          carry_out(reader_.read(text->string(), origin, line), record.at("time").number(), origin);
        } catch (const error& problem) {
          if (std::string_view(problem.code()) == jobs_policy_broke.code) throw;
        }
      }
    }
    if (checksum_text(std::string_view(unwritten_).substr(before)) != record.at("changes").string())
      fail(jobs_journal_differs, sentence({"record ", number, " was decided otherwise than it is now"}));
  }
  void catch_up(const std::filesystem::path& path) {
    const mapped_file now(path);
    const std::string_view there = now.text();
    changes_told before;
    before.add(there.substr(0, told_.bytes));
    const std::string_view behind = there.substr(std::min(told_.bytes, there.size()));
    if (before.sum != told_.sum || !std::string_view(unwritten_).starts_with(behind))
      fail(jobs_journal_differs, path.string() + " has other changes than the journal says");
    told_.add(unwritten_);
    changes_.append(std::string_view(unwritten_).substr(behind.size()));
    unwritten_.clear();
  }
  void write_changes() {
    changes_.append(unwritten_);
    told_.add(unwritten_);
    unwritten_.clear();
  }

  // What stands in changes.jsonl.
  struct changes_told {
    isize changes = 0;
    std::size_t bytes = 0;
    std::string sum = checksum_text("");  // of the last line, and what this was before it

    void add(std::string_view lines) {
      for (std::size_t end = 0; (end = lines.find('\n')) != lines.npos; lines.remove_prefix(end + 1)) {
        sum = checksum_text(sum + std::string(lines.substr(0, end)));
        bytes += end + 1;
        ++changes;
      }
    }
    template <class With>
    void remembers(With& with) {
      with("changes", changes);
      with("bytes", bytes);
      with("sum", sum);
    }
  };

  live_cluster live_;
  job_line_reader reader_;
  const job_site& site_;
  watch_rules rules_;
  json begins_;
  job_journal journal_;
  std::size_t state_bytes_ = 0;  // with which the journal began
  appended_file changes_;
  changes_told told_;
  std::string unwritten_;  // changes that are not in the file yet
  isize count_ = 0;        // with those
  std::size_t lines_ = 0;
  std::map<std::string, position> taken_from_;
};

}  // namespace motet
