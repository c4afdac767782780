// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/mpi/mpi_session.hpp>

#include <algorithm>
#include <climits>
#include <vector>

namespace motet::mpi {

// A type describes so many bytes for one MPI call. MPI counts in int; more than that is described as large
// items and a rest.
class byte_type {
 public:
  explicit byte_type(isize bytes, isize most = INT_MAX) : count_(static_cast<int>(bytes)) {
    if (bytes <= most) return;
    const isize item = most / 2 + 1;
    const int lengths[] = {static_cast<int>(bytes / item), static_cast<int>(bytes % item)};
    const MPI_Aint offsets[] = {0, bytes / item * item};
    MPI_Datatype large = MPI_BYTE;
    check(MPI_Type_contiguous(static_cast<int>(item), MPI_BYTE, &large), "MPI_Type_contiguous");
    const MPI_Datatype types[] = {large, MPI_BYTE};
    check(MPI_Type_create_struct(2, lengths, offsets, types, &type_), "MPI_Type_create_struct");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&large);
    count_ = 1;
  }
  byte_type(const byte_type&) = delete;
  byte_type& operator=(const byte_type&) = delete;
  ~byte_type() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);  // MPI keeps it as long as a request needs it
  }
  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  int count_;
};

// A request that is given up is waited for so long.
inline constexpr std::chrono::milliseconds let_go_bound{500};

// All that is under way on this rank, in one array that MPI looks at in one call. A request counts down a
// number of its owner's when it is done.
class requests {
 public:
  // There is room for so many more at a time, so that nothing is allocated later.
  void reserve(isize more) {
    room_ += as_size(more);
    under_way_.reserve(room_);
    owners_.reserve(room_);
    ready_.reserve(room_);
    statuses_.reserve(room_);
  }
  // `also` is counted down beside `pending`. A send counts as done when its receiver asked for it; one in
  // haste, as soon as its memory is free.
  void send(MPI_Comm by, int peer, int tag, const std::byte* from, isize bytes, std::int32_t& pending,
            std::int32_t* also = nullptr) {
    const byte_type as(bytes);
    check(MPI_Issend(from, as.count(), as.type(), peer, tag, by, add({nothing, &pending, also, peer})),
          "MPI_Issend");
  }
  void send_in_haste(MPI_Comm by, int peer, int tag, const std::byte* from, isize bytes,
                     std::int32_t& pending) {
    const byte_type as(bytes);
    check(MPI_Isend(from, as.count(), as.type(), peer, tag, by, add({nothing, &pending, nullptr, peer})),
          "MPI_Isend");
  }
  void receive(MPI_Comm by, int peer, int tag, std::byte* to, isize bytes, std::int32_t& pending,
               std::int32_t* also = nullptr) {
    const byte_type as(bytes);
    check(MPI_Irecv(to, as.count(), as.type(), peer, tag, by, add({bytes, &pending, also, peer})),
          "MPI_Irecv");
  }
  // The message may be shorter than `bytes`, or never come.
  void expect(MPI_Comm by, std::byte* to, isize bytes, std::int32_t& pending) {
    check(MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, by,
                    add({anything, &pending})),
          "MPI_Irecv");
  }

  // Lets MPI work and counts down for what is done.
  void progress() {
    if (under_way_.empty()) return;
    ready_.resize(under_way_.size());
    statuses_.resize(under_way_.size());
    int done = 0;
    const int code = MPI_Testsome(static_cast<int>(under_way_.size()), under_way_.data(), &done,
                                  ready_.data(), statuses_.data());
    if (done == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
      check(code, "MPI_Testsome");
      return;
    }
    for (int d = 0; d < done; ++d) {
      const MPI_Status& status = statuses_[as_size(d)];
      const owner& own = owners_[as_size(ready_[as_size(d)])];
      if (code == MPI_ERR_IN_STATUS)
        check(status.MPI_ERROR, own.bytes < 0 ? "a request" : describe(own, status).c_str());
      MPI_Count got = own.bytes;
      if (own.bytes >= 0) MPI_Get_elements_x(&status, MPI_BYTE, &got);
      if (got != own.bytes) fail(mpi_failed, sentence({describe(own, status), ", but ", got, " came"}));
    }
    // Requests go from the back, as the last takes the place of one that is done.
    std::sort(ready_.begin(), ready_.begin() + done);
    for (int d = done; d-- > 0;) remove(as_size(ready_[as_size(d)]));
    done_ += static_cast<std::uint32_t>(done);
  }
  // Goes up with everything that is done, and by a note.
  std::uint32_t done() const { return done_; }
  void note() { ++done_; }
  // The ranks from which something is to come; or, where nothing is, those that did not yet take what was
  // sent. Each is there once, in order.
  std::vector<std::int32_t> lacking() const {
    std::vector<std::int32_t> found;
    for (const bool sends : {false, true}) {
      for (const owner& each : owners_)
        if (each.peer >= 0 && (each.bytes == nothing) == sends) found.push_back(each.peer);
      if (!found.empty()) break;
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // Gives up all that is to come, or what of it counts down `also`. A message that has begun to come is
  // waited for, within a bound: its memory will soon serve others.
  void drop_receives(const std::int32_t* also = nullptr) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t r = under_way_.size(); r-- > 0;) {
      if (owners_[r].bytes == nothing || (also != nullptr && owners_[r].also != also)) continue;
      if (under_way_[r] != MPI_REQUEST_NULL) MPI_Cancel(&under_way_[r]);
      backoff wait(0);
      for (int over = 0; under_way_[r] != MPI_REQUEST_NULL; wait()) {
        MPI_Test(&under_way_[r], &over, MPI_STATUS_IGNORE);
        if (over == 0 && std::chrono::steady_clock::now() - begin > let_go_bound)
          MPI_Request_free(&under_way_[r]);
      }
      remove(r);
    }
  }
  // Gives up all that was sent. Whoever still reads it reads memory that serves others.
  void drop_sends() noexcept {
    for (std::size_t r = under_way_.size(); r-- > 0;) {
      if (owners_[r].bytes != nothing) continue;
      int over = 0;
      if (under_way_[r] != MPI_REQUEST_NULL) MPI_Test(&under_way_[r], &over, MPI_STATUS_IGNORE);
      if (under_way_[r] != MPI_REQUEST_NULL) MPI_Request_free(&under_way_[r]);
      remove(r);
    }
  }

 private:
  static constexpr isize nothing = -2, anything = -1;
  struct owner {
    isize bytes;  // that a receive wants
    std::int32_t* pending;
    std::int32_t* also = nullptr;
    int peer = -1;
  };

  MPI_Request* add(owner own) {
    ++*own.pending;
    if (own.also != nullptr) ++*own.also;
    owners_.push_back(own);
    under_way_.push_back(MPI_REQUEST_NULL);
    return &under_way_.back();
  }
  void remove(std::size_t r) {
    --*owners_[r].pending;
    if (owners_[r].also != nullptr) --*owners_[r].also;
    under_way_[r] = under_way_.back();
    owners_[r] = owners_.back();
    under_way_.pop_back();
    owners_.pop_back();
  }
  static std::string describe(const owner& own, const MPI_Status& status) {
    return sentence({"a message from rank ", status.MPI_SOURCE, " with tag ", status.MPI_TAG, " should have ",
                     own.bytes, " bytes"});
  }

  std::size_t room_ = 0;
  std::vector<MPI_Request> under_way_;
  std::vector<owner> owners_;  // beside under_way_
  std::vector<int> ready_;
  std::vector<MPI_Status> statuses_;
  std::uint32_t done_ = 0;
};

}  // namespace motet::mpi
