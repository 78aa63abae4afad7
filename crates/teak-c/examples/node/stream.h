// A small stand-in for the serialisation of a node: numbers with the least significant byte first,
// and text after its length in one byte.

#ifndef EXAMPLE_STREAM_H
#define EXAMPLE_STREAM_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

class DataStream {
public:
  DataStream() = default;
  explicit DataStream(std::string_view bytes) : bytes_(bytes) {}

  const std::string &str() const { return bytes_; }

  template <class T> DataStream &operator<<(const T &object) {
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < sizeof(T); i++) bytes_ += static_cast<char>(static_cast<std::uint64_t>(object) >> (8 * i));
    } else {
      bytes_ += static_cast<char>(object.size());
      bytes_ += object;
    }
    return *this;
  }
  template <class A, class B> DataStream &operator<<(const std::pair<A, B> &pair) { return *this << pair.first << pair.second; }

  template <class T> DataStream &operator>>(T &object) {
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t number = 0;
      const std::string_view bytes = take(sizeof(T));
      for (std::size_t i = 0; i < sizeof(T); i++) number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
      object = static_cast<T>(number);
    } else {
      object = take(static_cast<unsigned char>(take(1)[0]));
    }
    return *this;
  }
  template <class A, class B> DataStream &operator>>(std::pair<A, B> &pair) { return *this >> pair.first >> pair.second; }

private:
  std::string_view take(std::size_t size) {
    if (bytes_.size() - at_ < size) throw std::runtime_error("the object ends too early");
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

#endif // EXAMPLE_STREAM_H
