// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/file.hpp>
#include <motet/format/utf8.hpp>
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

// Takes lines and writes changes, so that whoever kills it at any moment loses nothing: a line is taken when
// it stands in the journal, and all else follows from the journal. When it is made it takes all lines of its
// journal again; then changes.jsonl, which is written behind the journal, gets what it lacks.
class job_watch {
 public:
  // `begins` is what a journal must have begun with to be gone on with. Throws MT-J42 and MT-J43.
  job_watch(const std::filesystem::path& folder, job_world& world, const job_site& site, live_policy policy,
            const json& begins, watch_clock clock, double far_deadline = 0)
      : live_(world, std::move(policy), far_deadline),
        reader_(world.speeds.cluster(), site),
        site_(site),
        clock_(clock),
        journal_(folder / "journal"),
        changes_(folder / "changes.jsonl") {
    std::vector<json> records = journal_.take_records();
    if (records.empty()) {
      journal_.add(begins);
      journal_.commit();
    } else {
      require_same(records[0], begins);
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
    changes_.append(unwritten_);
    unwritten_.clear();
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
    if (told == (clock_ == watch_clock::lines)) return told ? read.time : now;
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

  static void require_same(const json& had, const json& wants) {
    for (const json::member each : wants.members()) {
      const json* const was = had.find(each.name);
      if (was == nullptr || !(*was == each.value))
        fail(jobs_journal_differs, "it began with " + each.name + " " +
                                       (was == nullptr ? "unsaid" : write_json(*was)) + ", got " +
                                       write_json(each.value));
    }
  }
  void replay(const json& record, std::size_t number) {
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
    if (there.size() > unwritten_.size() || there != std::string_view(unwritten_).substr(0, there.size()))
      fail(jobs_journal_differs, path.string() + " has other changes than the journal says");
    changes_.append(std::string_view(unwritten_).substr(there.size()));
    unwritten_.clear();
  }

  live_cluster live_;
  job_line_reader reader_;
  const job_site& site_;
  watch_clock clock_;
  job_journal journal_;
  appended_file changes_;
  std::string unwritten_;  // changes that are not in the file yet
  isize count_ = 0;
  std::size_t lines_ = 0;
  std::map<std::string, position> taken_from_;
};

}  // namespace motet
