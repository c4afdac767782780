// SPDX-License-Identifier: Apache-2.0
#include "file_refusals.hpp"
#include "fuzz/cluster_targets.hpp"
#include "fuzz/mutate.hpp"
#include "schedule_laws.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/plan/files/cluster_json.hpp>

#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>

using namespace motet;
using laws::with;

namespace {

const std::string everything = R"({
  "name": "two rooms", "nodes": 4, "devices_per_node": 2,
  "device": {"name": "gpu", "half_flops": 100e12, "single_flops": 20e12, "memory_bytes": 24e9, "bytes_per_second": 1e12, "launch_seconds": 5e-6,
             "products": {"best": 0.7, "half_rows": 96, "half_columns": 160}},
  "inside": {"latency": 4e-6, "bytes_per_second": 25e9},
  "between": {"latency": 20e-6, "bytes_per_second": 12.5e9, "of_device": 6e9},
  "bytes": {"weight": 2, "gradient": 3, "state": 12, "activation": 4, "feature": 8, "kept": 1.5, "uncut": 0.25}
})";
const std::string alone =
    R"({"device": {"single_flops": 1e12, "memory_bytes": 8e9, "bytes_per_second": 100e9}})";
const std::string like =
    R"({"like": "h100:2x4", "name": "old cables", "between": {"bytes_per_second": 1.25e9}})";

void check_refused(const std::string& text, const std::string& code, const std::string& says) {
  laws::check_refused(
      [](const std::string& from, const std::string& path) { static_cast<void>(parse_cluster(from, path)); },
      text, code, says);
}

}  // namespace

TEST_CASE("every field is read") {
  cluster_facts wanted;
  wanted.name = "two rooms";
  wanted.device = {"gpu", 100e12, 20e12, 24e9, 1e12, {0.7, 96, 160}, 5e-6};
  wanted.nodes = 4;
  wanted.devices_per_node = 2;
  wanted.inside = {4e-6, 25e9};
  wanted.between = {20e-6, 12.5e9};
  wanted.of_device = 6e9;
  wanted.bytes = {2, 3, 12, 4, 8, 1.5, 0.25};
  CHECK(parse_cluster(everything, "") == wanted);
}

TEST_CASE("one device needs no wires, and halves are as quick as singles unless told otherwise") {
  cluster_facts wanted;
  wanted.device = {"", 1e12, 1e12, 8e9, 100e9, {}, 0};
  CHECK(parse_cluster(alone, "") == wanted);
}

TEST_CASE("a file may say only what differs from a known cluster") {
  cluster_facts wanted = cluster_named("h100:2x4");
  CHECK(parse_cluster(R"({"like": "h100:2x4"})", "") == wanted);
  wanted.name = "old cables";
  wanted.between.bytes_per_second = 1.25e9;
  CHECK(parse_cluster(like, "") == wanted);
  wanted.device.memory_bytes = 40e9;
  wanted.device.products.best = 0.5;
  wanted.nodes = 16;
  wanted.bytes.state = 0;
  CHECK(
      parse_cluster(
          with(
              like, "{\"like\"",
              R"({"nodes": 16, "bytes": {"state": 0}, "device": {"memory_bytes": 40e9, "products": {"best": 0.5}}, "like")"),
          "") == wanted);
}

TEST_CASE("what is written is read again, and short") {
  CHECK(format_cluster(parse_cluster(everything, "")) ==
        R"({
  "name": "two rooms",
  "nodes": 4,
  "devices_per_node": 2,
  "device": {"name": "gpu", "half_flops": 1e+14, "single_flops": 2e+13, "memory_bytes": 2.4e+10, "bytes_per_second": 1e+12, )"
        R"("products": {"best": 0.7, "half_rows": 96.0, "half_columns": 160.0}, "launch_seconds": 5e-06},
  "inside": {"latency": 4e-06, "bytes_per_second": 2.5e+10},
  "between": {"latency": 2e-05, "bytes_per_second": 1.25e+10, "of_device": 6e+09},
  "bytes": {"weight": 2.0, "gradient": 3.0, "state": 12.0, "activation": 4.0, "feature": 8.0, "kept": 1.5, "uncut": 0.25}
}
)");
  for (const std::string& text : {everything, alone, like})
    CHECK(parse_cluster(format_cluster(parse_cluster(text, "")), "") == parse_cluster(text, ""));
  for (const cluster_facts& each : known_clusters) CHECK(parse_cluster(format_cluster(each), "") == each);
  laws::dice roll(17);
  for (int n = 0; n < 500; ++n) {
    const auto rate = [&] { return 1 + roll.part() * std::pow(10.0, roll.between(0, 20)); };
    cluster_facts any;
    any.name = roll.below(2) == 0 ? label() : label("any");
    any.device = {roll.below(2) == 0 ? "" : "thing",
                  rate(),
                  rate(),
                  rate(),
                  rate(),
                  {1e-6 + 0.9 * roll.part(), roll.part() * 1e6, roll.part() * 1e6},
                  roll.below(2) == 0 ? 0 : roll.part()};
    any.nodes = roll.between(1, 1000);
    any.devices_per_node = roll.between(1, 1000);
    if (any.devices_per_node > 1 || roll.below(2) == 0) any.inside = {roll.part(), rate()};
    if (any.nodes > 1 || roll.below(2) == 0) any.between = {roll.part(), rate()};
    if (any.between.bytes_per_second > 0 && roll.below(2) == 0) any.of_device = rate();
    if (roll.below(2) == 0) any.bytes = {roll.part(), 1, 2 * roll.part(), 4, 2, 1 + roll.part(), roll.part()};
    REQUIRE(parse_cluster(format_cluster(any), "again") == any);
  }
}

TEST_CASE("runs of nodes that are not alike, and of those that are") {
  const std::string runs = R"({"name": "old and new", "runs": [{"like": "h100:2"}, {"like": "a100:3"}, )"
                           R"({"like": "h100:1", "device": {"memory_bytes": 40e9}}, {"like": "a100:1"}],
                               "bytes": {"state": 0}})";
  cluster_facts wanted = cluster_named("h100:2+a100:3");
  wanted.name = "old and new";
  wanted.bytes.state = 0;
  node_run smaller = wanted.run(0);
  smaller.device.memory_bytes = 40e9;
  REQUIRE(wanted.add(1, smaller));
  REQUIRE(wanted.add(1, wanted.run(2)));
  CHECK(parse_cluster(runs, "") == wanted);
  CHECK(wanted.kinds() == 3);
  CHECK(parse_cluster(format_cluster(wanted), "again") == wanted);
  CHECK(parse_cluster(R"({"runs": [{"like": "h100:2"}, {"like": "h100:3"}]})", "").runs() == 1);
  CHECK(parse_cluster(R"({"like": "h100:2+a100", "name": "both"})", "").nodes == 10);

  check_refused(R"({"runs": []})", "MT-P71", "runs is an empty array, wanted a run at least");
  check_refused(R"({"runs": {}})", "MT-P71", "runs is an object, wanted an array");
  check_refused(R"({"nodes": 2, "runs": []})", "MT-P70", "nodes; wanted one of name, runs, bytes");
  check_refused(with(runs, "\"like\": \"a100:3\"", "\"like\": \"a100:3\", \"bytes\": {}"), "MT-P70",
                "runs[1].bytes; wanted one of like, nodes, devices_per_node, device, inside, between");
  check_refused(with(runs, "40e9", "0"), "MT-P77", "runs[2].device.memory_bytes is 0");
  check_refused(with(runs, "a100:3", "a100:3x4"), "MT-P76",
                "runs[1] has nodes of 4 devices, wanted as many as the nodes before it, 8");
  check_refused(with(runs, "a100:3", "a100:131072"), "MT-P76",
                "runs[1] and the nodes before it are 1048592 devices, wanted at most 1048576");
  check_refused(R"({"runs": [{"device": {"single_flops": 1, "memory_bytes": 1, "bytes_per_second": 1}}]})",
                "MT-P71", "runs[0].between is missing");
  check_refused(R"({"like": "h100+a100", "nodes": 3})", "MT-P71",
                "nodes is told of h100+a100, whose nodes are not alike; wanted runs, each with its own");
  CHECK_THROWS_WITH_AS(cluster_named("h100+a100+h100+a100+h100+a100+h100+a100+v100"),
                       doctest::Contains("v100 makes one run of like nodes more than 8, the most that a "
                                         "cluster has"),
                       error);
  CHECK_THROWS_WITH_AS(cluster_named("h100+"), doctest::Contains("MT-P75"), error);
  CHECK(cluster_named("h100:1+a100:2").name == label("h100:1+a100:2"));
}

TEST_CASE("from a file, whose name is told, or by name") {
  const auto path =
      std::filesystem::temp_directory_path() / ("motet_cluster_" + std::to_string(::getpid()) + ".json");
  write_file(path, everything);
  CHECK(load_cluster(path) == parse_cluster(everything, ""));
  CHECK(choose_cluster(path.string()) == parse_cluster(everything, ""));
  write_file(path, "{");
  CHECK_THROWS_WITH_AS(load_cluster(path), doctest::Contains(path.filename().c_str()), error);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(load_cluster(path), doctest::Contains("MT-F04"), error);
  CHECK(choose_cluster("v100:2") == cluster_named("v100:2"));
  CHECK_THROWS_WITH_AS(choose_cluster("v100:2.jso"), doctest::Contains("MT-P76"), error);
}

TEST_CASE("what is no cluster is refused, with the path of what is wrong") {
  check_refused("{", "MT-F01", "line 1");
  check_refused("[]", "MT-P71", "the cluster is an array, wanted an object");
  check_refused("{}", "MT-P71", "device is missing");
  check_refused(with(everything, "\"nodes\"", "\"node\""), "MT-P70",
                "node; wanted one of name, like, nodes, devices_per_node, device, inside, between, bytes");
  check_refused(with(everything, "\"half_flops\"", "\"bf16_flops\""), "MT-P70",
                "device.bf16_flops; wanted one of name, half_flops, single_flops");
  check_refused(with(everything, "\"best\"", "\"top\""), "MT-P70",
                "device.products.top; wanted one of best, half_rows, half_columns");
  check_refused(with(everything, "\"of_device\"", "\"each\""), "MT-P70",
                "between.each; wanted one of latency, bytes_per_second, of_device");
  check_refused(with(everything, "\"latency\": 4e-6", "\"of_device\": 4e9"), "MT-P70",
                "inside.of_device; wanted one of latency, bytes_per_second");
  check_refused(with(everything, "\"kept\"", "\"keeps\""), "MT-P70",
                "bytes.keeps; wanted one of weight, gradient, state, activation, feature, kept, uncut");
  check_refused(with(everything, "4e-6, \"bytes_per_second\": 25e9", "4e-6"), "MT-P71",
                "inside.bytes_per_second is missing");
  check_refused(with(everything, "\"single_flops\": 20e12, ", ""), "MT-P71",
                "device.single_flops is missing");
  check_refused(with(everything, "\"memory_bytes\": 24e9, ", ""), "MT-P71", "device.memory_bytes is missing");
  check_refused(R"({"nodes": 2, )" + alone.substr(1), "MT-P71", "between is missing");
  check_refused(R"({"devices_per_node": 2, )" + alone.substr(1), "MT-P71", "inside is missing");
  check_refused(with(everything, "\"nodes\": 4", "\"nodes\": 4.0"), "MT-P71",
                "nodes is a number, wanted an integer");
  check_refused(with(everything, "100e12", "\"100e12\""), "MT-P71",
                "device.half_flops is a string, wanted a number");
  check_refused(with(everything, "\"gpu\"", "8"), "MT-P71", "device.name is an integer, wanted a name");
  check_refused(with(everything, "two rooms", "two rooms and a hall"), "MT-P71",
                "name has a name of 20 letters, wanted 1 to 15");
  check_refused(with(everything, R"({"latency": 4e-6, "bytes_per_second": 25e9})", "25e9"), "MT-P71",
                "inside is a number, wanted an object");
  check_refused(R"({"like": 100})", "MT-P71", "like is an integer, wanted the name of a cluster");
  check_refused(R"({"like": "v200"})", "MT-P75",
                "got \"v200\", wanted one of v100, a100, h100, h200, a800-96, a800-1296, laptop");
  check_refused(R"({"like": "v100:0"})", "MT-P76", "got \"v100:0\"");
}

TEST_CASE("numbers that no machine has are refused with their range") {
  for (const char* bad : {"0", "0.0", "-25e9", "0.5", "1e22"}) {
    check_refused(with(everything, "25e9", bad), "MT-P77", std::string("inside.bytes_per_second is "));
    check_refused(with(everything, "12.5e9", bad), "MT-P77", "between.bytes_per_second is ");
    check_refused(with(everything, "6e9", bad), "MT-P77", "between.of_device is ");
    check_refused(with(everything, "24e9", bad), "MT-P77", "device.memory_bytes is ");
    check_refused(with(everything, "1e12,", std::string(bad) + ","), "MT-P77", "device.bytes_per_second is ");
    check_refused(with(everything, "20e12", bad), "MT-P77", "device.single_flops is ");
    check_refused(with(everything, "100e12", bad), "MT-P77", "device.half_flops is ");
  }
  check_refused(with(everything, "25e9", "0"), "MT-P77", "inside.bytes_per_second is 0, wanted 1.0 to 1e+21");
  check_refused(with(everything, "4e-6", "-1"), "MT-P77", "inside.latency is -1, wanted 0.0 to 60.0");
  check_refused(with(everything, "20e-6", "61"), "MT-P77", "between.latency is 61");
  check_refused(with(everything, "5e-6", "-5e-6"), "MT-P77", "device.launch_seconds is -5e-06");
  check_refused(with(everything, "0.7", "1.5"), "MT-P77", "device.products.best is 1.5");
  check_refused(with(everything, "0.7", "0"), "MT-P77", "device.products.best is 0");
  check_refused(with(everything, "\"weight\": 2", "\"weight\": 1025"), "MT-P77",
                "bytes.weight is 1025, wanted 0.0 to 1024.0");
  check_refused(with(everything, "\"uncut\": 0.25", "\"uncut\": 1.25"), "MT-P77",
                "bytes.uncut is 1.25, wanted 0.0 to 1.0");
  check_refused(with(everything, "96", "-1"), "MT-P77", "device.products.half_rows is -1");
  check_refused(with(everything, "\"nodes\": 4", "\"nodes\": 0"), "MT-P77",
                "nodes is 0, wanted 1 to 1048576");
  check_refused(with(everything, "\"nodes\": 4", "\"nodes\": 18446744073709551615"), "MT-P77",
                "nodes is 18446744073709551615");
  check_refused(with(everything, "\"devices_per_node\": 2", "\"devices_per_node\": -2"), "MT-P77",
                "devices_per_node is -2, wanted 1 to 1048576");
  check_refused(with(everything, "\"nodes\": 4", "\"nodes\": 1048576"), "MT-P76",
                "nodes x devices_per_node are 2097152 devices, wanted at most 1048576");
  // Even the largest and the slowest that is legal gives numbers.
  CHECK(fuzz_cluster_json(
            R"({"nodes": 1048576, "device": {"single_flops": 1, "memory_bytes": 1, "bytes_per_second": 1},
                              "between": {"latency": 60, "bytes_per_second": 1}})") == 1);
}

TEST_CASE("damaged clusters are refused or read, never worse") {
  const std::vector<std::string> seeds{everything, alone, like,
                                       R"({"runs": [{"like": "h100:2"}, {"like": "a100:3"}]})"};
  int counts[2] = {};
  for (std::uint64_t n = 0; n < 4000; ++n) ++counts[fuzz_cluster_json(mutated(seeds, n))];
  CHECK(counts[0] > 1000);
  // Other numbers in the same places are clusters more often.
  laws::dice roll(43);
  constexpr const char* numbers[] = {
      "0", "1", "2", "-1", "1048576", "1e21", "1e-300", "99999999999999999999", "0.1", "60", "true"};
  for (int n = 0; n < 3000; ++n) {
    std::string text = seeds[static_cast<std::size_t>(roll.below(3))];
    for (int changes = roll.between(1, 3); changes > 0; --changes) {
      std::size_t at = static_cast<std::size_t>(roll.below(std::ssize(text)));
      while (at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) == 0) ++at;
      if (std::isdigit(static_cast<unsigned char>(text[at])) != 0)
        text.replace(at, 1, numbers[roll.below(11)]);
    }
    ++counts[fuzz_cluster_json(text)];
  }
  CHECK(counts[1] > 500);
}
