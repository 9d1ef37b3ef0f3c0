// Values as bytes and back, for what is kept on disk: one description of a form, a template over the archive, serves
// both directions.
//
//   template <class Archive, class T>
//   void Visit(Archive& archive, T& value) {
//     archive.Text(value.name);
//     archive.Number(value.size);
//   }
//
// Numbers are as the host has them: what other hosts wrote is kept apart by whoever stores it.
#ifndef SLIPWAY_DRIVER_BYTES_H_
#define SLIPWAY_DRIVER_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace slipway::internal {

class ByteWriter {
 public:
  template <class T>
  void Number(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_array_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(const std::string& text) {
    Number(uint64_t{text.size()});
    out_.append(text);
  }
  template <class T, class F>
  void List(const std::vector<T>& list, const F& each) {
    Number(uint64_t{list.size()});
    for (const T& one : list) each(one);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Everything reads as 0 and empty once something is missing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  void Number(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_array_v<T>);
    if (left_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, left_.data(), sizeof(value));
    left_.remove_prefix(sizeof(value));
  }
  void Text(std::string& text) {
    uint64_t size = 0;
    Number(size);
    if (left_.size() < size) return Fail();
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T, class F>
  void List(std::vector<T>& list, const F& each) {
    uint64_t size = 0;
    Number(size);
    for (; size != 0 && !failed_; --size) each(list.emplace_back());
  }
  bool Done() const { return !failed_ && left_.empty(); }

 private:
  void Fail() {
    failed_ = true;
    left_ = {};
  }
  std::string_view left_;
  bool failed_ = false;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_BYTES_H_
