// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/tensor/messages.hpp>
#include <motet/tensor/view.hpp>

#include <memory>
#include <new>
#include <string>

namespace motet {

// Hands out memory by moving a mark; gives it back by moving the mark down. It is a value: every thread of a
// team carries its own copy, takes the same steps and so gets the same addresses, with no lock. With no
// memory behind it, it only measures.
class arena {
 public:
  static constexpr isize alignment = 64;

  arena() = default;  // measures
  arena(std::byte* base, isize bytes) : base_(base), capacity_(bytes) {}

  template <class T>
  T* take(isize count) {
    const isize bytes = round_up(count * static_cast<isize>(sizeof(T)), alignment);
    const isize at = used_;
    used_ += bytes;
    peak_ = used_ > peak_ ? used_ : peak_;
    // While measuring, addresses are made up but distinct and never read.
    if (base_ == nullptr) return reinterpret_cast<T*>(static_cast<std::uintptr_t>(4096 + at));
    if (used_ > capacity_) fail(arena_full, sentence({"wanted ", used_, " bytes, has ", capacity_}));
    return reinterpret_cast<T*>(base_ + at);
  }
  template <class T, isize Width>
  view<T, Width> take_rows(isize rows) {
    return {take<T>(rows * Width), rows};
  }

  isize mark() const { return used_; }
  void release(isize mark) { used_ = mark; }
  isize peak() const { return peak_; }
  bool measuring() const { return base_ == nullptr; }

 private:
  std::byte* base_ = nullptr;
  isize capacity_ = 0;
  isize used_ = 0;
  isize peak_ = 0;
};

// Uninitialised memory for an arena or a flat buffer of parameters, aligned to a page.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(isize count)
      : data_(count > 0 ? static_cast<T*>(::operator new(bytes_of(count), std::align_val_t{4096})) : nullptr),
        size_(count) {}
  T* data() const { return data_.get(); }
  isize size() const { return size_; }
  T& operator[](isize i) const { return data_.get()[i]; }

 private:
  struct free_aligned {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{4096}); }
  };
  static std::size_t bytes_of(isize count) { return as_size(count) * sizeof(T); }
  std::unique_ptr<T, free_aligned> data_;
  isize size_ = 0;
};

}  // namespace motet
