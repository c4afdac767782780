// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/emit/names.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

TEST_CASE("a name is written so that each reader takes it as one") {
  CHECK(file_name_of("a_b-c.1") == "a_b-c.1");
  CHECK(file_name_of("../x y") == "=2e.=2fx=20y");
  CHECK(file_name_of("-dash") == "=2ddash");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(lua_text("a\"b\\c\nd\x7f") == "\"a\\\"b\\\\c\\010d\\127\"");
  CHECK(sbatch_value("a \"b\" \\c") == "\"a \\\"b\\\" \\\\c\"");
}

TEST_CASE("objects of Kubernetes have names of their own") {
  CHECK(kube_name("job-007") == "job-007");
  const std::string same[] = {
      "a_b", "a-b",     "a b", "A-b", "a--b", "a-b-", std::string(50, 'a'), std::string(51, 'a'),
      "7",   "\xc3\xbc"};
  std::set<std::string> made;
  for (const std::string& each : same) {
    const std::string name = kube_name(each);
    CHECK(name.size() <= 40);
    CHECK((name[0] >= 'a' && name[0] <= 'z'));
    CHECK(name.back() != '-');
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == name.npos);
    CHECK(made.insert(name).second);
  }
}

TEST_CASE("names that no file can tell are refused") {
  const std::string wrong[] = {"",     "two\nlines",          std::string("\0", 1),
                               "\xff", std::string(201, 'x'), "bell\x07"};
  for (const std::string& each : wrong)
    CHECK_THROWS_WITH_AS(require_job_name(each), doctest::Contains("[MT-J31]"), error);
  require_job_name("\xc3\xbc's \"best\"");
}

TEST_CASE("names of hosts and partitions are plain") {
  CHECK(is_plain_name("gpu-7.lab_2"));
  const char* const wrong[] = {"", "a,b", "a[1-2]", "-a", "a-", "a b", "a\n"};
  for (const char* each : wrong) CHECK(!is_plain_name(each));
}
