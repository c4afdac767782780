// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/balance_kinds.hpp>
#include <motet/plan/search/search_every.hpp>
#include <motet/plan/search/shared_ranks.hpp>

#include <optional>

namespace motet {

// The best plans of a model for a batch of `samples` a step, best first, the first one proven; others differ
// from it in degrees or in who shares ranks. Equally fast ones: fewer ranks first, then simpler ones. Throws
// MT-P85 to MT-P89 where there is none.
// Asks for: towers that check() accepts, a device at least, and a batch that the losses divide.
// Memory: what the towers take alone at all their degrees, and the plans that may still be best.
// Errors: MT-P85, MT-P86, MT-P87, MT-P88, MT-P89
// Example:
//   #include <motet/plan/describe/cluster_presets.hpp>
//   #include <motet/plan/describe/model_presets.hpp>
//   plan best_of_eight() {
//     return search_plans(find_model("b16")->make(), cluster_named("h100:1"), 4096).plans[0].how;
//   }
search_result search_plans(const model_shape& model, const cluster_facts& cluster, isize samples,
                           const search_options& options = {});

#if !defined(MOTET_COMPILED_PLANNER)
namespace detail {

class plan_searcher {
 public:
  plan_searcher(const model_shape& model, const cluster_facts& on, isize samples,
                const search_options& options)
      : model_(model),
        on_(on),
        samples_(samples),
        options_(options),
        joins_(samples / losses(samples, options)),
        small_(on.devices() <= every_plan::most_devices && model.towers.size() <= every_plan::most_towers),
        contest_(model, on, samples, options, joins_),
        limit_(options, contest_),
        library_(std::in_place, model, on, samples / joins_, joins_, options, small_, 1, false, false) {}

  search_result run() {
    look();
    if (contest_.empty()) refuse();
    search_result found = contest_.result(considered_);
    found.not_tried = limit_.not_tried();
    return found;
  }

 private:
  static constexpr isize most_played = 500'000, most_devices = 1 << 20;

  void look() {
    guided(rank_steps(), options_.finalists);
    // Bytes of shared ranks and of uneven microbatches are known better when a plan is played.
    for (const double room : {0.95, 0.8}) {
      if (!contest_.empty() || limit_.over()) break;
      library_.emplace(model_, on_, samples_ / joins_, joins_, options_, small_, room, false, false);
      guided(rank_steps(), options_.finalists);
    }
    if (contest_.empty() && limit_.over()) {
      limit_.lift();
      library_.emplace(model_, on_, samples_ / joins_, joins_, options_, small_, 1, false, false);
      return look();
    }
    if (!contest_.empty() && step_nodes() > 1) {
      if (limit_.over()) limit_.leave("the numbers of ranks around the best plan's");
      else guided(steps_around(contest_.best()), options_.finalists / 4);
    }
    share_experts();
    if (small_ && limit_.over()) {
      limit_.leave("all combinations one by one");
    } else if (small_) {
      library_.emplace(model_, on_, samples_ / joins_, joins_, options_, small_);
      every_plan every(model_.towers.size(), on_, joins_, options_, *library_, contest_, limit_);
      every.run();
      considered_ += every.considered();
    }
  }
  // Plans in which replicas share experts are played beside those in which none do, and take no place of
  // them: none is longer than it was.
  void share_experts() {
    const auto has = [](const tower_outline& each) { return each.experts > 1; };
    if (std::none_of(model_.towers.begin(), model_.towers.end(), has)) return;
    if (limit_.over()) return limit_.leave("replicas that share experts");
    for (const double room : {1.0, 0.8}) {
      library_.emplace(model_, on_, samples_ / joins_, joins_, options_, small_, room, false);
      guided(rank_steps(), options_.finalists);
      if (!contest_.empty() || limit_.over()) break;
    }
  }
  static isize losses(isize samples, const search_options& options) {
    return options.contrastive_batch > 0 ? options.contrastive_batch : samples;
  }
  // A tower may have any number of ranks on some dozens of devices, on more whole nodes, on thousands several
  // of them.
  isize step_nodes() const { return std::max(1, on_.nodes / 64); }
  list<isize> rank_steps() const {
    list<isize> out;
    const isize devices = on_.devices(), node = on_.devices_per_node;
    for (isize n = 1; n <= devices; ++n)
      if (devices <= 64 || n <= node || n % (node * step_nodes()) == 0 || fills_place(n)) out.push(n);
    return out;
  }
  bool fills_place(isize devices) const {
    return std::any_of(library_->places().begin(), library_->places().end(),
                       [&](const device_place& each) { return each.devices() == devices; });
  }
  list<isize> steps_around(const plan_sketch& found) const {
    list<isize> out;
    const isize node = on_.devices_per_node, step = node * step_nodes();
    for (isize n = 1; n <= on_.devices(); ++n) {
      const auto near = [&](const tower_point& each) {
        return n == each.ranks() || (n % node == 0 && n > each.ranks() - step && n < each.ranks() + step);
      };
      if (std::any_of(found.points.begin(), found.points.end(), near)) out.push(n);
    }
    return out;
  }

  // What some towers can do that share ranks in a place, or one by itself: on every number of ranks what
  // nothing on as many or fewer ranks beats. Hosts are numbers of all towers, points come in the order of the
  // members. Groupings have most groups in common.
  struct group {
    list<plan_sketch> choices;
    isize considered = 0;
  };
  using known_groups = std::map<std::pair<isize, std::vector<isize>>, group>;

  // Balances every grouping of the towers, and plays what comes out best.
  void guided(const list<isize>& steps, isize finalists) {
    list<plan_sketch> all;
    known_groups known;
    const isize towers = model_.towers.size();
    const list<list<isize>> ways = groupings(towers, options_.apart, options_.together);
    skipped_ = sizes_ = 0;
    cut_ = false;
    for (const list<isize>& groups : ways) {
      const isize number = &groups - ways.begin();
      if (!all.empty() && limit_.over("choosing who shares ranks", number, ways.size())) {
        limit_.leave(ways.size() - number, ways.size(), "ways to share ranks");
        break;
      }
      each_placing(groups, [&](const list<isize>& places) {
        balance_group(groups, places, steps, finalists, known, all);
      });
    }
    if (cut_) limit_.leave("some combinations on shared ranks");
    limit_.leave(skipped_, sizes_, "numbers of ranks");
    list<plan_sketch> played;
    finalists *= on_.kinds();
    constexpr isize most_alike = 3;
    // Seats are sorted by what leaves nodes; how fast their devices are shows when they are played.
    const isize most_seats = on_.kinds() > 1 ? 8 : step_nodes() > 1 ? 1 : 2;
    for (const plan_sketch* const next : by_time(all, joins_)) {
      const plan_sketch& each = *next;
      if (played.size() >= finalists || contest_.played() > most_played) break;
      const isize wanted = std::min(finalists, all.size());
      if (limit_.over("playing plans", played.size(), wanted) && !contest_.empty()) {
        limit_.leave(wanted - played.size(), wanted, "plans that promised most");
        break;
      }
      const auto alike = [&](const plan_sketch& other) { return other.same_structure(each); };
      if (std::count_if(played.begin(), played.end(), alike) >= most_alike) continue;
      played.push(each);
      contest_.offer(each, most_seats);
    }
  }

  // Calls visit(places) for ways to put groups of towers into places, a number for each group: all of them in
  // one with any devices, and all other ways where these are few, else those where each group is on one kind.
  template <class Visit>
  void each_placing(const list<isize>& groups, Visit visit) {
    constexpr isize most_placings = 256, most_tried = 4096;
    const isize count = 1 + *std::max_element(groups.begin(), groups.end()),
                places = std::ssize(library_->places()), kinds = on_.kinds();
    for (isize place = places == 1 ? 0 : kinds; place < places; ++place) visit(list<isize>(count, place));
    if (places == 1) return;
    isize ways = 1;
    for (isize g = 0; g < count; ++g) ways = std::min(ways * places, 2 * most_placings);
    const isize choices = ways <= most_placings ? places : kinds;
    list<isize> own(count, 0);
    for (isize g = 0, tried = 0; g < count && tried < most_tried; ++tried) {
      if (own[0] < kinds || std::any_of(own.begin(), own.end(), [&](isize p) { return p != own[0]; }))
        visit(own);
      for (g = 0; g < count && ++own[g] == choices; ++g) own[g] = 0;
    }
  }
  // The best numbers of ranks of groups that are in these places.
  void balance_group(const list<isize>& groups, const list<isize>& places, const list<isize>& steps,
                     isize finalists, known_groups& known, list<plan_sketch>& all) {
    const isize towers = groups.size(), kinds = on_.kinds();
    list<list<tower_choice>> choices;
    std::vector<const list<plan_sketch>*> meant;
    list<isize> kind_of, devices;
    for (isize kind = 0; kind < kinds; ++kind) devices.push(library_->places()[as_size(kind)].devices());
    for (isize g = 0; g < places.size(); ++g) {
      list<isize> members;
      for (isize k = 0; k < towers; ++k)
        if (groups[k] == g) members.push(k);
      meant.push_back(&group_choices(members, places[g], steps, known));
      list<tower_choice> own;
      for (const plan_sketch& each : *meant.back()) own.push({each.ranks(), each.seconds});
      choices.push(own);
      kind_of.push(places[g] < kinds ? places[g] : -1);
    }
    const list<balanced> found = balance_kinds(choices, kind_of, devices, joins_);
    for (isize i = 0; i < std::min(found.size(), finalists); ++i) {
      plan_sketch made{list<tower_point>(towers), list<isize>(towers, -1), found[i].seconds};
      for (isize g = 0; g < places.size(); ++g) {
        const plan_sketch& part = (*meant[as_size(g)])[found[i].choices[g]];
        for (isize k = 0, m = 0; k < towers; ++k) {
          if (groups[k] != g) continue;
          made.points[k] = part.points[m];
          made.hosts[k] = part.hosts[m];
          ++m;
        }
      }
      all.push(made);
    }
  }

  const list<plan_sketch>& group_choices(const list<isize>& members, isize place, const list<isize>& steps,
                                         known_groups& known) {
    const auto [at, anew] =
        known.try_emplace(std::pair(place, std::vector<isize>(members.begin(), members.end())));
    if (anew) find_choices(members, place, steps, at->second);
    considered_ += at->second.considered;
    return at->second.choices;
  }
  void find_choices(const list<isize>& members, isize place, const list<isize>& steps, group& out) {
    isize last = 0;
    const isize most = library_->places()[as_size(place)].devices();
    for (const isize ranks : steps) {
      if (ranks > most) break;
      ++sizes_;
      // When it is over, numbers from twice the last one on are enough to have a plan for all ranks.
      if (limit_.over("finding what towers take", sizes_, 0) && ranks < 2 * last && ranks != steps.back() &&
          ranks != most) {
        ++skipped_;
        continue;
      }
      last = ranks;
      list<plan_sketch> here;
      if (members.size() == 1) {
        for (const tower_point& each : library_->best(members[0], ranks, false, place))
          here.push({{each}, {-1}, each.seconds});
        out.considered += library_->count(members[0], ranks, place);
      } else {
        share(members, place, ranks, out, here);
      }
      for (const plan_sketch* const next : by_time(here, joins_)) {
        const auto covered = [&](const plan_sketch& by) { return covers(by.seconds, next->seconds, joins_); };
        if (std::none_of(out.choices.begin(), out.choices.end(), covered)) out.choices.push(*next);
      }
    }
  }
  void share(const list<isize>& members, isize place, isize ranks, group& known, list<plan_sketch>& out) {
    std::vector<phase_seconds> met;
    for (const plan_sketch& each : known.choices) met.push_back(each.seconds);
    for (isize host = 0; host < members.size(); ++host) {
      std::vector<shared_ranks::chosen> ways;
      for (isize m = 0; m < members.size(); ++m) ways.push_back(ways_beside(members, host, place, ranks, m));
      shared_ranks all(ways, library_->places()[as_size(place)].as_one.device.memory_bytes, joins_);
      known.considered += all.size();
      all.each(
          std::move(met),
          [&](const shared_ranks::chosen& points, const phase_seconds& seconds) {
            plan_sketch made{{}, list<isize>(members.size(), members[host]), seconds};
            made.hosts[host] = -1;
            for (const tower_point* const each : points) made.points.push(*each);
            out.push(made);
          },
          [&] {
            if (out.empty() || !limit_.over("sharing ranks", sizes_, 0)) return true;
            cut_ = true;
            return false;
          });
      met = all.known();
    }
  }
  // The points of a tower that shares its host's ranks, or a part of them.
  shared_ranks::chosen ways_beside(const list<isize>& members, isize host, isize place, isize ranks,
                                   isize m) {
    constexpr isize fewest_ways = 16, most_ways = 4;
    shared_ranks::chosen out;
    for (isize part = 1; part <= (m == host ? 1 : most_ways); part *= 2) {
      // equal numbers are met with the other one as host
      if (ranks % part != 0 || (part == 1 && m < host)) continue;
      const list<tower_point>& own = library_->best(members[m], ranks / part, true, place);
      for (isize i = 0; i < std::min(own.size(), fewest_ways / (members.size() - 1)); ++i)
        out.push_back(&own[i]);
    }
    return out;
  }

  bool fits() {
    look();
    return !contest_.empty();
  }
  // Of several kinds it is told what the thriftiest plan of each tower has on a rank, beside each kind's
  // room.
  [[noreturn]] void refuse_kinds() {
    list<double> least(model_.towers.size(), 1e300);
    for (isize i = 0; i < std::ssize(library_->questions()); ++i) {
      tower_question asked = library_->questions()[as_size(i)];
      asked.thorough = false;
      tower_point_finder here(asked);
      for (const isize n : rank_steps())
        if (n <= asked.on.devices()) static_cast<void>(here.on(n));
      double& own = least[i % model_.towers.size()];
      own = std::min(own, here.least_bytes());
    }
    refuse_on_kinds(model_, on_, least);
  }
  [[noreturn]] void refuse() {
    if (on_.kinds() > 1) refuse_kinds();
    list<tower_need> needs;
    isize most = 0, sum = 0;
    for (tower_question asked : library_->questions()) {
      asked.thorough = false;
      tower_point_finder here(asked), anywhere(asked);
      tower_need own;
      for (const isize n : rank_steps())
        if (!here.on(n).empty() && own.ranks == 0) own.ranks = n;
      own.bytes = here.least_bytes();
      constexpr isize most_ranks = 1 << 16;
      const isize node = on_.devices_per_node;
      for (isize n = 1; n <= most_ranks && own.ranks == 0; n += n < node        ? 1
                                                                : n < 64 * node ? node
                                                                                : n / node / 8 * node)
        if (!anywhere.on(n).empty()) own.ranks = n;
      most = own.ranks == 0 ? most_devices : std::max(most, own.ranks);
      sum += own.ranks;
      needs.push(own);
    }
    // Towers with ranks of their own need the sum; where they share some, perhaps less.
    std::int32_t nodes = 0;
    const auto whole = [&](isize devices) {
      return static_cast<std::int32_t>((devices + on_.devices_per_node - 1) / on_.devices_per_node);
    };
    constexpr std::int32_t most_tries = 16;
    if (most < most_devices && options_.apart) nodes = whole(sum);
    for (std::int32_t n = std::max(whole(most), on_.nodes), tries = 0;
         most < most_devices && options_.together && tries < most_tries; ++n, ++tries) {
      if (nodes > 0 && n >= nodes) break;
      cluster_facts larger = on_;
      larger.nodes = n;
      if (plan_searcher(model_, larger, samples_, options_).fits()) nodes = n;
    }
    refuse_model(model_, on_, needs, nodes, options_);
  }

  const model_shape& model_;
  const cluster_facts& on_;
  isize samples_;
  const search_options& options_;
  isize joins_, considered_ = 0;
  bool small_;
  plan_contest contest_;
  search_limit limit_;
  isize skipped_ = 0, sizes_ = 0;  // numbers of ranks of towers and groups that were left out, and all
  bool cut_ = false;               // whether combinations on shared ranks were left out
  std::optional<tower_library> library_;
};

}  // namespace detail

MOTET_BODY search_result search_plans(const model_shape& model, const cluster_facts& cluster, isize samples,
                                      const search_options& options) {
  require_question(model, cluster, samples, options);
  return detail::plan_searcher(model, cluster, samples, options).run();
}
#endif

}  // namespace motet
