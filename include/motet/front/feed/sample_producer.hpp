// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/meet/bell.hpp>
#include <motet/front/feed/production.hpp>
#include <motet/front/feed/step_answer.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace motet {

struct producer_options {
  std::string data;                   // its own path to the data of the run
  std::string address = "127.0.0.1";  // or a name of one of this machine's interfaces
  std::uint16_t port = 0;             // 0: any that is free
  int listens = -1;                   // a socket that listens already, instead of these two
  std::string token{};                // empty: on a loopback address it makes one, in a file of its user's
  isize threads = 1;
  double leave = 5;  // seconds in which a run's ranks may leave before another run is refused
  std::function<void(const std::string&)> say{};  // a sentence for whoever looks after it
};

// Serves finished steps to the processes of a run, which tell it what decides them: it reads shards, decodes,
// resizes and tokenizes, and knows no model and no step before the one that is wanted. So it may come, go and
// be killed at any time, and of several each makes what it is asked for. It serves one run at a time, and the
// next one when all of that have left.
// Asks for: the data of the run; a token where it listens beyond this machine.
// Memory: that of a loader, and steps until they are taken.
// Errors: MT-B18
// Example:
//   void serve(const std::function<bool()>& ends) {
//     sample_producer one({.data = "shapes", .port = 29600, .threads = 2});
//     while (!ends()) std::this_thread::sleep_for(std::chrono::seconds(1));
//   }
class sample_producer {
 public:
  explicit sample_producer(producer_options options) : options_(std::move(options)), door_(listen(options_)) {
    const sockaddr_in here = door_->address();
    const std::uint32_t at = ntohl(here.sin_addr.s_addr);
    if (options_.token.size() < 16 && !tcp::is_loopback(here))
      fail(meeting_refused, sentence({"a producer at ", options_.address, ":", port(),
                                      ", which is no loopback address: a token of at least 16 characters is ",
                                      "wanted (MOTET_TOKEN)"}));
    if (options_.token.empty()) left_.emplace(at, port(), options_.token = fresh_token());
    // What one left that was killed here is nobody's token.
    else ::unlink(token_file::path(at, port()).c_str());
    thread_ = std::thread([this] { welcome_all(); });
  }
  sample_producer(const sample_producer&) = delete;
  sample_producer& operator=(const sample_producer&) = delete;
  ~sample_producer() {
    {
      const std::lock_guard hold(guard_);
      ends_ = true;
      for (const guest& each : guests_) {
        if (each.at) ::shutdown(each.at.watched().fd, SHUT_RDWR);
        each.rings.ring();
      }
    }
    left_run_.notify_all();
    rings_.ring();
    thread_.join();
    for (guest& each : guests_) each.thread.join();
  }

  std::uint16_t port() const { return ntohs(door_->address().sin_port); }

 private:
  static constexpr std::size_t most_guests = 1024, most_wanted = 256;
  // Silence would be taken for death.
  static constexpr double busy_seconds = 1;

  struct guest {
    tcp::connection at;
    meet::bell rings;
    std::thread thread;
    bool gone = false;
  };
  // One run: what decides its steps, in its words and in ours.
  struct served_run {
    std::string asked;
    json ours;
    data_position place;
    std::unique_ptr<data_folder> data;
    std::unique_ptr<step_source> steps;
    isize samples = 0;  // of a step
    isize takers = 0;
  };

  static std::unique_ptr<tcp::listener> listen(const producer_options& how) {
    if (how.listens >= 0) return std::make_unique<tcp::listener>(how.listens);
    return std::make_unique<tcp::listener>(how.address, how.port, "a producer");
  }
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  void welcome_all() {
    for (;;) {
      pollfd watched[] = {door_->watched(), rings_.watched()};
      ::poll(watched, 2, 1000);
      rings_.quiet();  // before what it rang for is looked at
      const std::lock_guard hold(guard_);
      if (ends_) return;
      for (auto each = guests_.begin(); each != guests_.end();) {
        if (each->gone) each->thread.join();
        each = each->gone ? guests_.erase(each) : std::next(each);
      }
      while (tcp::connection next = door_->take()) {
        if (guests_.size() >= most_guests) break;
        guest& own = guests_.emplace_back();
        own.at = std::move(next);
        own.thread = std::thread([this, &own] { serve(own); });
      }
    }
  }

  void serve(guest& who) {
    std::shared_ptr<served_run> run;
    try {
      if (production::welcome(who.at, options_.token)) {
        const std::string asked = who.at.receive(tcp::deadline(30), "a rank", production::most_said);
        run = join(asked);
        // Both ends see whether they mean the same.
        who.at.send(write_json(run->ours), tcp::deadline(30), "a rank");
        if (run->steps && run->asked == asked) hand_over(who, *run);
      }
    } catch (const std::exception&) {
      // Whoever asks for nonsense is sent away as one that left.
    }
    if (run) say("a rank left");
    {
      const std::lock_guard hold(guard_);
      if (run) --run->takers;
      left_run_.notify_all();
      who.at = {};
    }
    // This may end what makes steps, which still rings at guests.
    run.reset();
    const std::lock_guard hold(guard_);
    who.gone = true;
    rings_.ring();
  }

  // The run that is asked for. Another one's ranks have a moment to leave, as a run that is started again may
  // be here before its old self is gone.
  std::shared_ptr<served_run> join(const std::string& asked) {
    std::unique_lock hold(guard_);
    const auto is_free = [&] { return !run_ || run_->takers == 0; };
    left_run_.wait(hold, [&] { return ends_ || !opens_; });
    left_run_.wait_for(hold, std::chrono::duration<double>(options_.leave),
                       [&] { return ends_ || (!opens_ && (is_free() || run_->asked == asked)); });
    left_run_.wait(hold, [&] { return ends_ || !opens_; });
    if (!ends_ && is_free() && !(run_ && run_->steps && run_->asked == asked)) {
      std::shared_ptr<served_run> made = std::exchange(run_, nullptr);
      opens_ = true;
      hold.unlock();
      // What the last one read and made is given back first.
      made.reset();
      made = open(asked);
      hold.lock();
      run_ = std::move(made);
      opens_ = false;
      left_run_.notify_all();
    }
    if (!run_) fail(meeting_refused, "this producer ends");
    ++run_->takers;
    return run_;
  }
  std::shared_ptr<served_run> open(const std::string& asked) {
    auto made = std::make_shared<served_run>();
    made->asked = asked;
    try {
      const json wanted = read_json(asked, "what a rank asks for");
      const sample_shape shape = shape_in(wanted);
      const data_wishes wishes = wishes_in(wanted, options_.data, options_.threads);
      made->data = std::make_unique<data_folder>(wishes, shape);
      made->ours = production_of(wishes, shape, *made->data);
      made->samples = wishes.batch;
      made->ours.set("place", wanted.at("place"));
      if (!first_difference(made->ours, wanted).empty()) return made;
      const auto told = [this] { tell_all(); };
      data_folder& data = *made->data;
      if (data.has_pieces()) {
        made->place = {wishes.seed, data.samples().fingerprint(), data.size(), 0};
        made->steps = std::make_unique<step_maker<sample_maker>>(data.samples(), data.words(),
                                                                 data.sample_config(), told);
      } else {
        made->place = {wishes.seed, data.pairs().fingerprint(), data.size(), 0};
        made->steps =
            std::make_unique<step_maker<pair_maker>>(data.pairs(), data.words(), data.config(), told);
      }
      say(sentence({"serves ", data.describe(), " to ", shape.model, ", ", wishes.batch, " samples a step"}));
    } catch (const std::exception& problem) {
      made->steps.reset();
      made->ours.set("problem", problem.what());
      say(problem.what());
    }
    return made;
  }
  // Called by those who make steps.
  void tell_all() {
    const std::lock_guard hold(guard_);
    for (guest& each : guests_) each.rings.ring();
  }

  // Steps that are wanted, as they are made.
  void hand_over(guest& who, served_run& run) {
    const std::uint64_t mark = checksum(std::string_view(run.asked));
    std::vector<wanted_step> owed;
    std::size_t told = 0;  // of the samples that were skipped
    auto heard = std::chrono::steady_clock::now();
    for (;;) {
      pollfd watched[] = {who.at.watched(), who.rings.watched()};
      ::poll(watched, 2, static_cast<int>(1000 * busy_seconds / 2));
      isize takers = 0;
      {
        const std::lock_guard hold(guard_);
        if (ends_) return;
        takers = run.takers;
      }
      if (watched[0].revents != 0) owed.push_back(take_request(who.at, run));
      if (owed.size() > most_wanted) fail(meeting_refused, "a rank wants too many steps at a time");
      who.rings.quiet();
      for (std::size_t k = 0; k < owed.size();) {
        const auto made = run.steps->made(owed[k].step);
        if (!made) {
          ++k;
          continue;
        }
        told = production::send_skips(who.at, mark, run.data->skips(), told);
        production::send_step(who.at, mark, owed[k], *made);
        heard = std::chrono::steady_clock::now();
        // Whoever has its words alone asks for its pictures later.
        if (owed[k].parts != asked_parts::words) run.steps->taken(owed[k].step, takers);
        owed.erase(owed.begin() + static_cast<std::ptrdiff_t>(k));
      }
      const auto now = std::chrono::steady_clock::now();
      if (owed.empty() || std::chrono::duration<double>(now - heard).count() < busy_seconds) continue;
      production::send_step(who.at, mark, owed.front(), busy_);
      heard = now;
    }
  }
  using wanted_step = production::wanted_step;
  static wanted_step take_request(const tcp::connection& from, const served_run& run) {
    const json asked =
        read_json(from.receive(tcp::deadline(5), "a rank", production::most_said), "a request");
    step_request out{asked.at("step").unsigned_integer(), asked.at("known").unsigned_integer(), run.place};
    read_place(asked.at("place"), out.from);
    const json* const share = asked.find("share");
    wanted_step made{out.step, share != nullptr ? share_in(*share, run.samples) : std::nullopt,
                     parts_in(asked)};
    run.steps->want(out);
    return made;
  }
  producer_options options_;
  std::unique_ptr<tcp::listener> door_;
  std::optional<token_file> left_;
  const finished_step busy_{
      step_kind::busy, {}, {}, {}, {}, checksum(std::string_view()), checksum(std::span<const std::byte>())};
  std::mutex guard_;
  std::condition_variable left_run_;
  bool ends_ = false, opens_ = false;
  std::list<guest> guests_;
  meet::bell rings_;
  std::shared_ptr<served_run> run_;  // rings at guests
  std::thread thread_;               // last: it uses the others
};

}  // namespace motet
