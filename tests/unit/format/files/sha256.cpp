// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/sha256.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

std::string hex(const motet::digest& of) {
  std::string text;
  for (const std::uint8_t each : of) {
    text += "0123456789abcdef"[each / 16];
    text += "0123456789abcdef"[each % 16];
  }
  return text;
}
std::span<const std::uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("the examples of the standard") {
  CHECK(hex(motet::sha256().finish()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(motet::sha256().add("abc").finish()) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(motet::sha256().add("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").finish()) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  motet::sha256 many;
  for (int i = 0; i < 1000; ++i) many.add(std::string(1000, 'a'));
  CHECK(hex(many.finish()) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("keyed digests, by RFC 4231") {
  CHECK(hex(motet::keyed_digest("Jefe", bytes("what do ya want for nothing?"))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(motet::keyed_digest(std::string(20, '\x0b'), bytes("Hi There"))) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(motet::keyed_digest(std::string(131, '\xaa'),
                                bytes("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("digests are compared as a whole") {
  const motet::digest one = motet::sha256().add("abc").finish();
  for (std::size_t i = 0; i < one.size(); ++i) {
    motet::digest other = one;
    other[i] ^= 1;
    CHECK_FALSE(motet::same(one, other));
  }
  CHECK(motet::same(one, one));
}
