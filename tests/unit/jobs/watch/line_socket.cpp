// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/watch/line_socket.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace motet;

namespace {
int connected(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const int out = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return out;
}
void say(int to, std::string_view text) {
  REQUIRE(::send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}
}  // namespace

TEST_CASE("each guest gets the answers to its own lines") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("motet-" + std::to_string(::getpid()) + ".socket")).string();
  std::vector<std::string> trouble;
  {
    line_socket socket(path);
    CHECK_THROWS_WITH_AS(line_socket{path}, doctest::Contains("somebody listens there"), error);
    const int one = connected(path), two = connected(path);
    say(one, "a\nhalf");
    say(two, "b\n");
    std::vector<line_socket::asked_line> got;
    for (int tries = 0; tries < 10 && got.size() < 2; ++tries)
      for (auto& each : socket.take(100, trouble)) got.push_back(each);
    REQUIRE(got.size() == 2);
    for (const auto& each : got) socket.answer(each.guest, "to " + each.line.text);
    char text[16];
    CHECK(std::string_view(text, static_cast<std::size_t>(::recv(two, text, sizeof text, 0))) == "to b\n");
    CHECK(std::string_view(text, static_cast<std::size_t>(::recv(one, text, sizeof text, 0))) == "to a\n");
    ::close(one);
    for (int tries = 0; tries < 10 && trouble.empty(); ++tries) socket.take(100, trouble);
    REQUIRE(!trouble.empty());
    CHECK(trouble.back().ends_with("left within a line, which is not taken"));
    ::close(two);
  }
  CHECK(!std::filesystem::exists(path));
  CHECK_THROWS_WITH_AS(line_socket{std::string(200, 'x')}, doctest::Contains("wanted at most 107"), error);
  CHECK_THROWS_WITH_AS(line_socket{"/no/such/folder/s"}, doctest::Contains("[MT-J44]"), error);
}
