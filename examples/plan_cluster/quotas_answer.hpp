// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer_text.hpp"
#include "settings.hpp"

#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/plan/quotas/plan_of_quotas.hpp>
#include <motet/plan/quotas/quotas_of_towers.hpp>
#include <motet/plan/search/search_refusals.hpp>

// Modules share devices by quotas of multiprocessors: waves, their times beside plans without shares, and a
// plan that runs.
namespace motet::plan_cluster {

struct quotas_reply {
  quota_question asked;
  quota_answer found;
  plan_by_quotas runs;
};

// Throws MT-P85 where nothing fits, MT-P100 and MT-P101 for clusters that are not planned so.
inline quotas_reply answer_quotas(const settings& given, const answer& of) {
  require_question(of.towers, of.machine, given.batch, of.wishes);
  quotas_reply out{quotas_of_towers(of.towers, of.machine, given.batch, of.wishes.bytes), {}, {}};
  if (of.wishes.play.measured != nullptr) out.asked.pairs = of.wishes.play.measured->pairs;
  out.found = search_quotas(out.asked);
  if (!out.found.best.fits)
    fail(model_fits_nowhere,
         sentence({given.model, " on at most ", out.asked.devices, " devices of ",
                   in_words(out.asked.memory_bytes), " needs ", in_words(out.found.best.bytes)}));
  out.runs = plan_of_quotas(out.asked, out.found.best.how);
  require_plan(out.runs.how, facts_of(of.towers), given.batch);
  return out;
}

namespace detail {

inline std::string devices_of(std::uint64_t set) {
  std::vector<isize> out;
  for (isize d = 0; d < 64; ++d)
    if ((set >> d & 1) != 0) out.push_back(d);
  return row_of(out);
}
struct named_quotas {
  const char *key, *words;
  quota_found quota_answer::*which;
};
inline constexpr named_quotas ways_by_quotas[] = {
    {"in_turn", "each module on all devices in turn", &quota_answer::in_turn},
    {"disjoint", "each on devices of its own", &quota_answer::disjoint},
    {"waves", "waves of such sets", &quota_answer::waves},
    {"walled", "shares, waves end together", &quota_answer::walled},
    {"best", "shares", &quota_answer::best}};
inline std::string manner_of(const quota_plan& of) {
  return std::string(of.barriers ? "waves end together" : "each begins when it can") +
         (of.elastic ? ", shares grow" : "") + (of.remade ? ", remade" : "");
}
// What makes ranks on one GPU have these quotas.
inline std::string share_words(const std::vector<std::int32_t>& quotas) {
  std::string out;
  for (const std::int32_t each : quotas) out += (out.empty() ? "" : ",") + std::to_string(each);
  return out;
}

}  // namespace detail

inline std::string tell_quotas(const quotas_reply& of, const settings& given) {
  const quota_found& best = of.found.best;
  std::string out = given.model + " on " + given.cluster + ", " + std::to_string(given.batch) +
                    " samples a step, times modelled: " + with_unit(best.seconds, "s") + ", " +
                    with_unit(best.bytes, "B") + " on the fullest device, " + detail::manner_of(best.how) +
                    "\n\n";
  std::vector<detail::row> rows{{"wave", "module", "devices", "multiprocessors", "forward", "backward"}};
  const quota_times times(of.asked, best.how.remade);
  for (std::size_t w = 0; w < best.how.waves.size(); ++w) {
    for (const quota_place& each : best.how.waves[w]) {
      const std::int32_t devices = std::popcount(each.on);
      rows.push_back({std::to_string(w + 1), std::string(of.asked.modules[as_size(each.module)].name.view()),
                      detail::devices_of(each.on), std::to_string(of.asked.chip.quota(each.rung)),
                      with_unit(times.phase(each.module, false, devices, each.rung), "s"),
                      with_unit(times.phase(each.module, true, devices, each.rung), "s")});
    }
  }
  out += detail::table_of(rows, 1) + "\n";
  rows = {{"plan", "step", "of the best", "fits"}};
  for (const detail::named_quotas& each : detail::ways_by_quotas) {
    const quota_found& own = of.found.*each.which;
    char ratio[32];
    std::snprintf(ratio, sizeof ratio, "%.3f", own.seconds / best.seconds);
    rows.push_back({each.words, with_unit(own.seconds, "s"), ratio, own.fits ? "yes" : "no"});
  }
  out += detail::table_of(rows, 1) + "\nas a plan: " + layout_of(of.runs.how) + "\n";
  if (!of.runs.quotas.empty())
    out += "on one GPU: --device cuda --sm-share " + detail::share_words(of.runs.quotas) + "\n";
  else
    for (const module_plan& each : of.runs.how.modules)
      if (each.share > 0)
        out += std::string(each.name.view()) + " in lane " + std::to_string(each.lane) + " with " +
               percent(each.share) + "\n";
  if (!of.runs.exact) out += "lanes have the larger share where waves want unlike ones\n";
  return out;
}

// Plan files hold the plan first.
inline std::string write_quotas(const quotas_reply& of, const settings& given) {
  const quota_found& best = of.found.best;
  json waves{json::array{}}, ways, plans{json::array{}}, one, out;
  for (const quota_wave& wave : best.how.waves) {
    json places{json::array{}};
    for (const quota_place& each : wave) {
      json place;
      place.set("module", of.asked.modules[as_size(each.module)].name.view());
      place.set("devices", detail::devices_of(each.on));
      place.set("multiprocessors", of.asked.chip.quota(each.rung));
      places.push_back(std::move(place));
    }
    waves.push_back(std::move(places));
  }
  for (const detail::named_quotas& each : detail::ways_by_quotas) {
    json way;
    way.set("step_seconds", (of.found.*each.which).seconds).set("fits", (of.found.*each.which).fits);
    ways.set(each.key, std::move(way));
  }
  one.set("step_seconds", best.seconds);
  one.set("samples_per_second", static_cast<double>(given.batch) / best.seconds);
  one.set("memory_bytes", best.bytes);
  one.set("layout", layout_of(of.runs.how));
  one.set("sm_share", detail::share_words(of.runs.quotas));
  one.set("exact", of.runs.exact);
  one.set("plan", motet::plan_json(of.runs.how));
  plans.push_back(std::move(one));
  out.set("search", given.search);
  out.set("model", given.model);
  out.set("cluster", given.cluster);
  out.set("batch", given.batch);
  out.set("barriers", best.how.barriers).set("elastic", best.how.elastic).set("remade", best.how.remade);
  out.set("waves", std::move(waves));
  out.set("ways", std::move(ways));
  out.set("plans", std::move(plans));
  return write_json(out, 2) + "\n";
}

}  // namespace motet::plan_cluster
