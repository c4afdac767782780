// SPDX-License-Identifier: Apache-2.0

// From a model and a cluster to the best plans: what they give by simulation, why the others lost, and the
// best one as a picture, as JSON that train_clip follows, or as a C++ header that the compiler proves.
#include "plan_cluster/answer_json.hpp"
#include "plan_cluster/answer_text.hpp"
#include "plan_cluster/cells_answer.hpp"
#include "plan_cluster/chain_answer.hpp"
#include "plan_cluster/filled_answer.hpp"
#include "plan_cluster/here.hpp"
#include "plan_cluster/picture.hpp"
#include "plan_cluster/pins.hpp"
#include "plan_cluster/quotas_answer.hpp"
#include "plan_cluster/settings.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/plan/cost/require_gaps.hpp>
#include <motet/plan/cost/require_times.hpp>
#include <motet/plan/distmm/search_distmm.hpp>
#include <motet/plan/distmm/search_megatron.hpp>
#include <motet/plan/files/cluster_json.hpp>
#include <motet/plan/files/model_json.hpp>
#include <motet/plan/files/plan_header.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/plan/search/search.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/long_work.hpp>

namespace motet::plan_cluster {
namespace {

std::string summary_of(const answer& of) {
  const run_forecast& gives = of.found.plans[0].gives;
  return of.model + " on " + of.cluster + ", " + std::to_string(of.batch) +
         " samples a step: " + with_unit(gives.step_seconds, "s") + ", " +
         std::to_string(std::llround(gives.samples_per_second)) + " samples/s, " +
         percent(gives.bubble_rate) + " bubbles";
}

std::string header_of(const answer& of, const settings& given) {
  const plan& best = of.found.plans[0].how;
  const std::string name = given.name.empty() ? function_name(of.model + " on " + of.cluster) : given.name;
  return plan_header(
      best, {.name = name, .about = summary_of(of) + ".\n" + layout_of(best) + ".", .samples = of.batch});
}

// "playing plans, 3 of 24; the best so far takes 12.3 ms".
std::string text_of(const search_news& news) {
  std::string out(news.doing);
  if (news.all > 0) out += ", " + std::to_string(news.done + 1) + " of " + std::to_string(news.all);
  if (news.best_seconds > 0) out += "; the best so far takes " + with_unit(news.best_seconds, "s");
  return out;
}

// A search that ended by its limit, in a sentence.
std::string ended_early(const search_result& of, const settings& given) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", given.seconds);
  return std::string("the search ended after its ") + seconds + " seconds (--seconds) with the best of " +
         std::to_string(of.simulated) + (of.simulated == 1 ? " plan" : " plans") +
         " that it played; not tried: " + of.not_tried;
}

search_result find(const answer& of) {
  if (of.search == "distmm") return search_distmm(of.towers, of.machine, of.batch, of.wishes);
  if (of.search == "megatron") return search_megatron(of.towers, of.machine, of.batch, of.wishes);
  return search_plans(of.towers, of.machine, of.batch, of.wishes);
}

std::string picture_of(const answer& of) {
  if (of.search == "motet") return draw_best(of, of.towers, of.wishes.play);
  const published_question asked(of.towers, of.machine, of.batch, of.wishes);
  return draw_best(of, asked.model, asked.options.play);
}

std::string answer_to(const settings& given) {
  if (find_chain(given.model) != nullptr) {
    const chain_reply found = answer_chain(given);
    return given.emit == "json" ? write_chain(found, given) : tell_chain(found, given);
  }
  if (find_filled_model(given.model)) {
    const filled_reply found = answer_filled(given);
    return given.emit == "json" ? write_filled(found, given) : tell_filled(found, given);
  }
  answer of{given.search,
            given.model,
            given.cluster,
            choose_model(given.model),
            cluster_of(given.cluster),
            given.batch,
            given.wishes,
            {}};
  of.wishes.pins = read_pins(given.pins, of.towers);
  of.wishes.bytes = of.machine.bytes;
  machine_profile measured;
  if (!given.profile.empty()) {
    measured = load_profile(given.profile);
    require_gaps_of(measured, given.profile, facts_of(of.towers));
    require_times_of(measured, given.profile, of.towers);
    of.wishes.play.measured = &measured;
    of.wishes.bytes.activation = measured.activation_bytes;
  }
  if (given.bytes) {
    training_bytes& bytes = of.wishes.bytes;
    double* const fields[] = {&bytes.weight, &bytes.gradient, &bytes.state, &bytes.activation};
    for (std::size_t i = 0; i < 4; ++i) *fields[i] = (*given.bytes)[i];
  }
  if (given.search == "crius" || given.search == "cells") {
    const cells_reply found = answer_cells(given, of);
    return given.emit == "json" ? write_cells(found, given) : tell_cells(found, given);
  }
  if (given.search == "quotas") {
    const quotas_reply found = answer_quotas(given, of);
    return given.emit == "json" ? write_quotas(found, given) : tell_quotas(found, given);
  }
  long_work waits("plan_cluster");
  waits.at("searching");
  double next = 0;
  of.wishes.goes_on = [&](const search_news& news) {
    constexpr double now_and_then = 0.1;
    const double seconds = waits.seconds();
    if (seconds >= next) waits.at(text_of(news));
    if (seconds >= next) next = seconds + now_and_then;
    return seconds < given.seconds;
  };
  of.found = find(of);
  if (!of.found.not_tried.empty()) of.found.not_tried = ended_early(of.found, given);
  waits.finish();
  if (!of.found.not_tried.empty() && given.emit != "text")
    std::fprintf(stderr, "plan_cluster: %s\n", of.found.not_tried.c_str());
  if (given.emit == "json") return write_answer(of);
  if (given.emit == "header") return header_of(of, given);
  if (given.emit == "svg") return picture_of(of);
  return tell_answer(of);
}

std::string names_of_models() {
  std::vector<detail::row> rows;
  for (const known_model& each : known_models) {
    std::string towers;
    for (const tower_outline& of : each.make().towers)
      towers += (towers.empty() ? "" : ", ") + std::string(of.name.view()) + " " + std::to_string(of.layers) +
                " x " + std::to_string(of.width);
    rows.push_back({std::string(each.name), towers, std::string(each.about)});
  }
  for (const chain_model& each : known_chains) {
    const chain_part& words = each.parts[chain_model::middle];
    rows.push_back({std::string(each.name.view()),
                    "encoder, language " + std::to_string(words.layers) + " x " +
                        std::to_string(words.width) + ", generator",
                    "DistTrain's, one behind the other"});
  }
  for (const auto* const list : {&known_encoders[0], &known_languages[0]})
    for (const layered_model* each = list;
         each != list + (list == known_encoders ? std::size(known_encoders) : std::size(known_languages));
         ++each)
      rows.push_back(
          {std::string(each->name.view()), std::to_string(each->layers) + " x " + std::to_string(each->width),
           each->encodes
               ? "Optimus's, in front of a language model: " + std::string(each->name.view()) + "+gpt-175b"
               : "behind one or more encoders"});
  return detail::table_of(rows, 2);
}
std::string names_of_clusters() {
  std::vector<detail::row> rows;
  for (const cluster_facts& each : known_clusters)
    rows.push_back({std::string(each.name.view()), std::string(each.device.name.view()),
                    std::to_string(each.nodes) + " x " + std::to_string(each.devices_per_node),
                    with_unit(each.device.half_flops, "FLOP/s"), with_unit(each.device.memory_bytes, "B")});
  rows.push_back({"h100:2+a100:4", "both, one behind the other", "2 x 8 and 4 x 8", "", ""});
  rows.push_back({"here", "processor core", "measured when asked for", "", ""});
  return detail::table_of(rows, 2);
}

void put(const settings& given, const std::string& text) {
  if (!given.output.empty()) return write_file(given.output, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(file_unwritable, "standard output");
}

int run(int count, const char* const* words) {
  try {
    settings given;
    if (!read_settings(count, words, given)) return 0;
    put(given, given.list_models     ? names_of_models()
               : given.list_clusters ? names_of_clusters()
                                     : answer_to(given));
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem, "plan_cluster");
  }
}

}  // namespace
}  // namespace motet::plan_cluster

int main(int count, char** words) { return motet::plan_cluster::run(count, words); }
