// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/watch/kept_state.hpp>
#include <motet/jobs/world/world.hpp>

#include <string>
#include <vector>

namespace motet {

// A world as JSON. Of a job that is gone its name and how it went are kept, as its number stands for it.
inline json kept_world(job_world& world) {
  json out{json::object{}};
  std::vector<speed_table::job_shape> shapes = world.speeds.shapes();
  std::vector<speed_table::learnt_time> learnt = world.speeds.learnt();
  out.set("now", world.now);
  out.set("shapes", kept(shapes));
  out.set("learnt", kept(learnt));
  json jobs{json::array{}};
  for (std::size_t j = 0; j < world.jobs.size(); ++j) {
    const job_status how = world.jobs[j].status;
    if (how == job_status::finished || how == job_status::dropped)
      jobs.push_back(json{{"id", world.traced[j].id}, {"gone", static_cast<int>(how)}});
    else jobs.push_back(json{{"submitted", kept(world.traced[j])}, {"state", kept(world.jobs[j])}});
  }
  out.set("jobs", std::move(jobs));
  out.set("running", kept(world.running));
  out.set("waiting", kept(world.waiting));
  json owners{json::array{}};
  for (std::int32_t d = 0; d < world.places.devices(); ++d) owners.push_back(world.places.owner_of(d));
  out.set("owners", std::move(owners));
  return out;
}

// Into a world that has the same cluster and times, and no jobs. Throws MT-F02 and MT-J05.
inline void read_world_back(const json& from, job_world& world) {
  std::vector<speed_table::job_shape> shapes;
  std::vector<speed_table::learnt_time> learnt;
  read_back(from.at("now"), world.now);
  read_back(from.at("shapes"), shapes);
  read_back(from.at("learnt"), learnt);
  for (const speed_table::job_shape& each : shapes) {
    traced_job like;
    like.model = each.model + "__" + each.size;
    like.batch = each.batch;
    world.speeds.shape_of(like, "the state");
  }
  for (const speed_table::learnt_time& each : learnt) world.speeds.learn(each.shape, each.on, each.seconds);
  for (const json& each : from.at("jobs").items()) {
    traced_job& traced = world.traced.emplace_back();
    job_state& state = world.jobs.emplace_back();
    if (const json* const gone = each.find("gone")) {
      read_back(each.at("id"), traced.id);
      read_back(*gone, state.status);
    } else {
      read_back(each.at("submitted"), traced);
      read_back(each.at("state"), state);
    }
  }
  world.places.add_jobs(static_cast<isize>(world.jobs.size()));
  read_back(from.at("running"), world.running);
  read_back(from.at("waiting"), world.waiting);
  std::vector<occupancy::owner> owners;
  read_back(from.at("owners"), owners);
  if (owners.size() != as_size(world.places.devices()))
    fail(json_wrong_kind,
         sentence({"owners: got ", owners.size(), ", the cluster has ", world.places.devices(), " devices"}));
  for (std::int32_t d = 0; d < world.places.devices(); ++d)
    if (const occupancy::owner who = owners[as_size(d)]; who != occupancy::nobody)
      world.places.set(d, who, false);
  world.places.settle();
  world.require_places(0);
}

}  // namespace motet
