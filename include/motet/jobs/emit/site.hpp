// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_read.hpp>
#include <motet/jobs/emit/names.hpp>
#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/meta/config.hpp>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace motet {

// A site kind says how a real cluster calls a kind of devices.
struct site_kind {
  std::string partition, feature, gres;                       // of Slurm; features are properties of Flux
  std::string flavor, resource;                               // of Kueue
  std::vector<std::pair<std::string, std::string>> labels{};  // of nodes of Kubernetes
  isize cores = 1;                                            // of a device
  std::vector<std::string> hosts{};                           // of its nodes, in their order
};

// A site is what a real cluster has to know of jobs besides who gets what. All of it has usual values.
struct job_site {
  std::vector<std::string> command{"train_clip", "--data", "shapes"};
  std::string runs = "runs";  // folder in which each job has the one of its checkpoints
  std::string folder = ".";   // where the files that are written will lie
  std::string account;        // of Slurm
  isize minutes = 0;          // limit of a job's leg; 0: none
  std::string name_space = "default", queue = "motet", image = "motet:latest";  // of Kubernetes
  std::vector<std::string> levels;                          // of topology, the widest first; labels of nodes
  std::vector<std::pair<std::string, std::string>> claims;  // of volumes, and where they are mounted
  std::vector<site_kind> kinds;                             // as the cluster has them

  const std::string& host(const job_cluster& of, isize node) const {
    std::size_t k = 0;
    while (node >= of.kinds[k].nodes) node -= of.kinds[k++].nodes;
    return kinds[k].hosts[as_size(node)];
  }
};

// A site of which nobody said how things are called there goes by the names of kinds.
inline job_site usual_site(const job_cluster& of) {
  job_site out;
  for (const device_group& each : of.kinds) {
    site_kind made{each.kind, each.kind, "gpu:" + each.kind, kube_name(each.kind), "nvidia.com/gpu"};
    made.labels = {{"motet/kind", each.kind}};
    for (isize n = 0; n < each.nodes; ++n) made.hosts.push_back(each.kind + "-" + std::to_string(n));
    out.kinds.push_back(std::move(made));
  }
  return out;
}

namespace detail {

class site_reader {
 public:
  site_reader(const std::string& origin, const job_cluster& cluster) : origin_(origin), cluster_(cluster) {}

  job_site read(const json& file) {
    job_site out = usual_site(cluster_);
    fields(file, "", [&](const std::string& name, const json& value, const std::string& at) {
      if (name == "command") {
        out.command = texts(value, at);
        if (out.command.empty()) refuse(at, "no words", "the program that trains");
      } else if (name == "runs") out.runs = path(value, at);
      else if (name == "folder") out.folder = path(value, at);
      else if (name == "account") out.account = plain(value, at);
      else if (name == "minutes") out.minutes = whole(value, at, 0, 1 << 24);
      else if (name == "namespace") out.name_space = kube(value, at);
      else if (name == "queue") out.queue = kube(value, at);
      else if (name == "image") out.image = path(value, at);
      else if (name == "levels") {
        for (const std::string& each : texts(value, at)) {
          require_label(each, at);
          out.levels.push_back(each);
        }
      } else if (name == "claims") {
        fields(value, at, [&](const std::string& claim, const json& where, const std::string& of) {
          if (kube_name(claim, 63) != claim) refuse(of, claim, "a claim as Kubernetes calls it");
          out.claims.emplace_back(claim, path(where, of));
        });
      } else if (name == "kinds") {
        fields(value, at, [&](const std::string& kind, const json& facts, const std::string& of) {
          const isize number = cluster_.find(kind);
          if (number < 0) refuse(of, kind, "kinds of " + cluster_.name + ": " + cluster_.names());
          read_kind(out.kinds[as_size(number)], cluster_.kinds[as_size(number)], facts, of);
        });
      } else {
        refuse(at, name,
               "command, runs, folder, account, minutes, namespace, queue, image, levels, claims or kinds");
      }
    });
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& at, const std::string& got, const std::string& wanted) const {
    fail(jobs_bad_site, origin_ + ", " + at + ": got " + got + ", wanted " + wanted);
  }
  template <class What>
  void fields(const json& of, const std::string& at, What what) const {
    if (!of.is_object()) refuse(at.empty() ? "the whole" : at, of.kind(), "an object");
    for (const json::member each : of.members())
      what(each.name, each.value, at.empty() ? each.name : at + "." + each.name);
  }
  void read_kind(site_kind& to, const device_group& kind, const json& from, const std::string& where) {
    fields(from, where, [&](const std::string& name, const json& value, const std::string& at) {
      if (name == "partition") to.partition = plain(value, at);
      else if (name == "feature") to.feature = plain(value, at);
      else if (name == "gres") to.gres = gres(value, at);
      else if (name == "flavor") to.flavor = kube(value, at);
      else if (name == "resource") {
        to.resource = text(value, at);
        require_label(to.resource, at);
      } else if (name == "cores") to.cores = whole(value, at, 1, 1024);
      else if (name == "labels") {
        to.labels.clear();
        fields(value, at, [&](const std::string& label, const json& is, const std::string& of) {
          require_label(label, of);
          to.labels.emplace_back(label, plain(is, of));
        });
        if (to.labels.empty() || to.labels.size() > 8)
          refuse(at, std::to_string(to.labels.size()) + " labels", "1 to 8 that its nodes have");
      } else if (name == "hosts") {
        to.hosts = texts(value, at);
        if (static_cast<isize>(to.hosts.size()) != kind.nodes)
          refuse(at, std::to_string(to.hosts.size()) + " names",
                 "one for each of the " + std::to_string(kind.nodes) + " nodes");
        for (const std::string& each : to.hosts) {
          if (!is_plain_name(each)) refuse(at, "\"" + each + "\"", "a name of a host");
          if (!hosts_.insert(each).second)
            refuse(at, "\"" + each + "\" a second time", "one name for each node");
        }
      } else {
        refuse(at, name, "partition, feature, gres, flavor, resource, cores, labels or hosts");
      }
    });
  }
  std::string text(const json& of, const std::string& at) const {
    if (!of.is_string()) refuse(at, of.kind(), "a text");
    return of.string();
  }
  std::vector<std::string> texts(const json& of, const std::string& at) const {
    if (!of.is_array()) refuse(at, of.kind(), "a list of texts");
    std::vector<std::string> out;
    for (const json& each : of.items()) out.push_back(text(each, at));
    for (const std::string& each : out)
      if (each.find('\0') != each.npos) refuse(at, "a byte of zero", "words of a command line");
    return out;
  }
  // A path is of one line, as it goes into lines of scripts.
  std::string path(const json& of, const std::string& at) const {
    std::string out = text(of, at);
    if (out.empty() || std::any_of(out.begin(), out.end(), is_control))
      refuse(at, out.empty() ? "nothing" : "a control character", "a text of one line");
    return out;
  }
  std::string plain(const json& of, const std::string& at) const {
    std::string out = text(of, at);
    if (!is_plain_name(out))
      refuse(at, "\"" + out + "\"", "letters, digits, dots, dashes and underscores, 63 at most");
    return out;
  }
  std::string kube(const json& of, const std::string& at) const {
    std::string out = text(of, at);
    if (kube_name(out, 63) != out)
      refuse(at, "\"" + out + "\"", "small letters, digits and dashes, a letter first");
    return out;
  }
  // "gpu" or "gpu:a100".
  std::string gres(const json& of, const std::string& at) const {
    std::string out = text(of, at);
    const std::size_t colon = out.find(':');
    if (!is_plain_name(out.substr(0, colon)) || (colon != out.npos && !is_plain_name(out.substr(colon + 1))))
      refuse(at, "\"" + out + "\"", "a resource of Slurm, as in gpu:a100");
    return out;
  }
  void require_label(const std::string& label, const std::string& at) const {
    const std::size_t slash = label.find('/');
    const bool good = slash == label.npos ? is_plain_name(label)
                                          : is_plain_name(label.substr(0, slash), 253) &&
                                                is_plain_name(label.substr(slash + 1));
    if (!good) refuse(at, "\"" + label + "\"", "a name as in nvidia.com/gpu");
  }
  isize whole(const json& of, const std::string& at, isize least, isize most) const {
    if (!of.is_integer() || of.number() < static_cast<double>(least) ||
        of.number() > static_cast<double>(most))
      refuse(at, of.is_number() ? "a number out of range" : of.kind(),
             sentence({"a whole number from ", least, " to ", most}));
    return of.integer();
  }

  const std::string& origin_;
  const job_cluster& cluster_;
  std::unordered_set<std::string> hosts_;
};

}  // namespace detail

// Names that come from a cluster's own file are refused where no real cluster could take them (MT-J31).
inline void require_site(const job_site& of, const job_cluster& cluster) {
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const site_kind& each = of.kinds[k];
    for (const auto& [field, name] :
         {std::pair{"partition", &each.partition}, {"feature", &each.feature}, {"hosts", &each.hosts[0]}})
      if (!is_plain_name(*name))
        fail(jobs_bad_name, "the kind \"" + cluster.kinds[k].kind + "\" gives \"" + *name + "\" for kinds." +
                                cluster.kinds[k].kind + "." + field + " of the site");
  }
}

// Reads what a cluster is called, {"queue": "motet", "kinds": {"a100": {"partition": "gpu", "hosts": [...]}},
// ...}; what is left out has its usual value. Throws MT-J30, MT-J31 and what JSON throws.
inline job_site read_job_site(std::string_view text, const std::string& origin, const job_cluster& cluster) {
  job_site out = detail::site_reader(origin, cluster).read(read_json(text, origin));
  require_site(out, cluster);
  return out;
}

}  // namespace motet
