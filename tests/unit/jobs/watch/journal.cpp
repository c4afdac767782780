// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/watch/journal.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what was committed is there, and a torn end is cut off, at whatever byte") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("motet-journal-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  {
    job_journal journal(path);
    CHECK(journal.take_records().empty());
    journal.add(json{{"n", 1}});
    journal.add(json{{"n", 2}});
    journal.commit();
    journal.add(json{{"n", 3}});  // not committed
  }
  const std::string whole(mapped_file(path).text());
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_file(path, std::string_view(whole).substr(0, size));
    job_journal journal(path);
    CHECK(journal.take_records().size() == (size == whole.size() ? 2 : size >= first ? 1 : 0));
    journal.add(json{{"n", 9}});
    journal.commit();
    CHECK(job_journal(path).take_records().back().at("n").integer() == 9);
  }
  {
    job_journal journal(path);
    journal.begin_anew({json{{"n", 4}}, json{{"n", 5}}});
    CHECK(journal.bytes() == std::filesystem::file_size(path));
    journal.add(json{{"n", 6}});
    journal.commit();
    CHECK(journal.bytes() == std::filesystem::file_size(path));
    CHECK(job_journal(path).take_records() ==
          std::vector<json>{json{{"n", 4}}, json{{"n", 5}}, json{{"n", 6}}});
  }
  std::string damaged = whole;
  damaged[first / 2] ^= 1;
  write_file(path, damaged);
  CHECK_THROWS_WITH_AS(job_journal{path}, doctest::Contains("line 1 does not fit its checksum"), error);
  std::filesystem::remove(path);
}
