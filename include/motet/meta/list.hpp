// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <initializer_list>
#include <utility>

namespace motet {

// A growable array of plain values that costs a compiler little: compilers interpret every call of a constant
// expression, and one push here is one call where std::vector makes about ten. Loops that must be cheap take
// data().
template <class T>
class list {
 public:
  constexpr list() = default;
  constexpr explicit list(isize count, const T& value = T{}) { resize(count, value); }
  constexpr list(std::initializer_list<T> from) { append(from.begin(), static_cast<isize>(from.size())); }
  constexpr list(const list& from) { append(from.data_, from.size_); }
  constexpr list(list&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)),
        size_(std::exchange(from.size_, 0)),
        capacity_(std::exchange(from.capacity_, 0)) {}
  // Two of them: clang 16 never ends the life of what `= {}` makes for one that takes its argument by value.
  constexpr list& operator=(const list& from) {
    if (this == &from) return *this;
    clear();
    append(from.data_, from.size_);
    return *this;
  }
  constexpr list& operator=(list&& from) noexcept {
    list taken(static_cast<list&&>(from));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    std::swap(capacity_, taken.capacity_);
    return *this;
  }
  constexpr ~list() { delete[] data_; }

  constexpr void push(const T& value) {
    if (size_ == capacity_) {
      const T kept = value;  // NOLINT(performance-unnecessary-copy-initialization): it may lie in this list
      grow(size_ + 1);
      data_[size_++] = kept;
      return;
    }
    data_[size_++] = value;
  }
  // `from` must lie outside of this list.
  constexpr void append(const T* from, isize count) {
    if (count <= 0) return;
    grow(size_ + count);
    for (isize i = 0; i < count; ++i) data_[size_ + i] = from[i];
    size_ += count;
  }
  constexpr void resize(isize count, const T& value = T{}) {
    grow(count);
    for (isize i = size_; i < count; ++i) data_[i] = value;
    size_ = count;
  }
  constexpr void reserve(isize count) {
    if (count <= capacity_ || count < 1) return;  // the latter tells g++ that there is room for the old ones
    T* const grown = new T[static_cast<std::size_t>(count)];
    for (isize i = 0; i < size_; ++i) grown[i] = static_cast<T&&>(data_[i]);
    delete[] data_;
    data_ = grown;
    capacity_ = count;
  }
  constexpr void clear() { size_ = 0; }
  constexpr void pop() { --size_; }

  constexpr isize size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T& operator[](isize i) { return data_[i]; }
  constexpr const T& operator[](isize i) const { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }

  friend constexpr bool operator==(const list& a, const list& b) {
    if (a.size_ != b.size_) return false;
    for (isize i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  // Room doubles, so that a list that grows in small steps is not copied in each.
  constexpr void grow(isize count) {
    if (count <= capacity_) return;
    const isize doubled = capacity_ == 0 ? 8 : 2 * capacity_;
    reserve(count > doubled ? count : doubled);
  }

  T* data_ = nullptr;
  isize size_ = 0;
  isize capacity_ = 0;
};

// Sorts in place by merging, stable; for compilers too.
template <class T, class Before>
constexpr void sort_stably(list<T>& all, Before before) {
  list<T> other(all.size(), T{});
  for (isize width = 1; width < all.size(); width *= 2) {
    for (isize low = 0; low < all.size(); low += 2 * width) {
      const isize middle = low + width < all.size() ? low + width : all.size(),
                  high = low + 2 * width < all.size() ? low + 2 * width : all.size();
      for (isize a = low, b = middle, to = low; to < high; ++to)
        other[to] = b < high && (a == middle || before(all[b], all[a])) ? all[b++] : all[a++];
    }
    std::swap(all, other);
  }
}

}  // namespace motet
