// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A small reader of XML that refuses what is not well-formed; enough for the drawings, which have neither DTD
// nor comments.
struct xml_element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly inside
  int parent = -1;
  const std::string& at(const std::string& attribute) const { return attributes.at(attribute); }
  double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
  bool has_class(const std::string& kind) const {
    const auto found = attributes.find("class");
    return found != attributes.end() &&
           (" " + found->second + " ").find(" " + kind + " ") != std::string::npos;
  }
};

class xml_reader {
 public:
  explicit xml_reader(std::string_view text) : text_(text) {
    check_letters();
    skip_space();
    element(-1);
    skip_space();
    if (at_ != text_.size()) refuse("something behind the root");
  }
  std::vector<xml_element> elements;  // each behind its parent

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(why + " at " + std::to_string(at_) + ": " + std::string(text_.substr(at_, 40)));
  }
  void check_letters() {
    for (at_ = 0; at_ < text_.size();) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      const std::size_t size = byte < 0x80   ? 1
                               : byte < 0xc2 ? 0
                               : byte < 0xe0 ? 2
                               : byte < 0xf0 ? 3
                               : byte < 0xf5 ? 4
                                             : 0;
      if (size == 0 || at_ + size > text_.size() || (byte < 0x20 && byte != '\n' && byte != '\t'))
        refuse("a bad letter");
      for (std::size_t k = 1; k < size; ++k)
        if ((static_cast<unsigned char>(text_[at_ + k]) & 0xc0) != 0x80) refuse("a cut letter");
      at_ += size;
    }
    at_ = 0;
  }
  bool space() const {
    return at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t');
  }
  void skip_space() {
    while (space()) ++at_;
  }
  bool take(std::string_view what) {
    if (text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  void need(std::string_view what) {
    if (!take(what)) refuse("wanted " + std::string(what));
  }
  std::string word() {
    const std::size_t first = at_;
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == ':';
    };
    while (at_ < text_.size() &&
           (good(text_[at_]) || (at_ > first && text_[at_] >= '0' && text_[at_] <= '9')))
      ++at_;
    if (at_ == first) refuse("wanted a name");
    return std::string(text_.substr(first, at_ - first));
  }
  std::string letters(char end) {
    std::string out;
    while (at_ < text_.size() && text_[at_] != end) {
      if (text_[at_] == '<') refuse("a bare <");
      if (text_[at_] != '&') {
        out += text_[at_++];
        continue;
      }
      if (take("&amp;")) out += '&';
      else if (take("&lt;")) out += '<';
      else if (take("&gt;")) out += '>';
      else if (take("&quot;")) out += '"';
      else if (take("&apos;")) out += '\'';
      else refuse("a bare &");
    }
    return out;
  }
  void element(int parent) {
    need("<");
    const auto self = elements.size();
    const std::string name = word();
    elements.push_back({name, {}, {}, parent});
    for (;;) {
      const bool apart = space();
      skip_space();
      if (take("/>")) return;
      if (take(">")) break;
      if (!apart) refuse("wanted a space");
      const std::string attribute = word();
      need("=\"");
      if (!elements[self].attributes.emplace(attribute, letters('"')).second) refuse("an attribute twice");
      need("\"");
    }
    for (;;) {
      elements[self].text += letters('<');
      if (take("</")) break;
      element(static_cast<int>(self));
    }
    need(name);
    skip_space();
    need(">");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};
