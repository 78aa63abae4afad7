// Keys and values as views of bytes, and conversions to them. Part of teak.hpp.

#ifndef TEAK_BYTES_HPP
#define TEAK_BYTES_HPP

#include <teak/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace teak {
inline namespace TEAK_WAY {
namespace detail {

template <class T>
constexpr bool is_byte = std::is_same_v<T, char> || std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>;

/// The type of the elements that `std::data` points to.
template <class C> using element = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const C &>()))>>;

template <class C, class = void> constexpr bool is_bytes = false;
template <class C>
constexpr bool is_bytes<C, std::void_t<element<C>, decltype(std::size(std::declval<const C &>()))>> = is_byte<element<C>>;

template <class C> constexpr bool is_text = std::is_convertible_v<const C &, std::string_view>;

} // namespace detail

/// A view of bytes: a key or a value. It converts from text (anything that converts to
/// std::string_view: a literal, a std::string), from contiguous bytes (`char`, `unsigned char` or
/// `std::byte` in a vector, array or span), and from an address and a length. Numbers, structures
/// and pointers do not convert. Use big_endian() and little_endian() for numbers.
///
/// It is valid as long as its source. For one that was read, see the transaction.
///
/// ```cpp
/// teak::bytes_view ash = "ash";
/// assert(ash.size() == 3 && ash == std::string("ash") && ash.text() == "ash");
/// std::vector<unsigned char> raw{1, 2};
/// assert(teak::bytes_view(raw)[1] == std::byte{2});
/// ```
class bytes_view {
public:
  /// No bytes.
  constexpr bytes_view() noexcept : slice_{nullptr, 0} {}
  /// This many bytes at an address.
  constexpr bytes_view(const void *data, std::size_t size) noexcept : slice_{data, size} {}
  /// From a slice of teak.h.
  constexpr explicit bytes_view(teak_slice slice) noexcept : slice_(slice) {}
  /// From text. From an address alone: up to the terminating zero.
  template <class Text, std::enable_if_t<detail::is_text<Text>, int> = 0>
  bytes_view(const Text &text) noexcept : bytes_view(std::string_view(text).data(), std::string_view(text).size()) {}
  /// From a container of bytes.
  template <class Bytes, std::enable_if_t<detail::is_bytes<Bytes> && !detail::is_text<Bytes>, int> = 0>
  constexpr bytes_view(const Bytes &bytes) noexcept : slice_{std::data(bytes), std::size(bytes)} {}
  /// Such an array may be text or not, and its end is unclear: convert it to a std::string_view.
  template <std::size_t N> bytes_view(char (&)[N]) = delete;
  bytes_view(std::nullptr_t) = delete;

  /// The address.
  [[nodiscard]] const std::byte *data() const noexcept { return static_cast<const std::byte *>(slice_.data); }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return slice_.len; }
  /// Whether there are no bytes.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// The first element.
  [[nodiscard]] const std::byte *begin() const noexcept { return data(); }
  /// The end, after the last element.
  [[nodiscard]] const std::byte *end() const noexcept { return data() + size(); }
  /// The byte at an index, which must be valid.
  [[nodiscard]] std::byte operator[](std::size_t at) const noexcept { return data()[at]; }
  /// A view of the bytes as text.
  [[nodiscard]] std::string_view text() const noexcept { return {static_cast<const char *>(slice_.data), size()}; }
  /// A copy, as text.
  [[nodiscard]] std::string to_string() const { return std::string(text()); }
  /// A copy of the bytes.
  [[nodiscard]] std::vector<std::byte> to_vector() const { return {begin(), end()}; }
  /// The slice for teak.h.
  [[nodiscard]] teak_slice raw() const noexcept { return slice_; }

  /// Whether both have equal bytes.
  [[nodiscard]] friend bool operator==(bytes_view a, bytes_view b) noexcept { return a.text() == b.text(); }
  /// Whether their bytes differ.
  [[nodiscard]] friend bool operator!=(bytes_view a, bytes_view b) noexcept { return !(a == b); }
  /// Compares bytes, which is the default order of a table.
  [[nodiscard]] friend bool operator<(bytes_view a, bytes_view b) noexcept { return a.text() < b.text(); }

private:
  teak_slice slice_;
};

/// A key and its value.
struct record {
  /// The key.
  bytes_view key;
  /// The value.
  bytes_view value;
};

// Arrays of these types have the layout of those of teak.h.
static_assert(sizeof(bytes_view) == sizeof(teak_slice) && std::is_standard_layout_v<bytes_view>);
static_assert(sizeof(record) == sizeof(teak_record) && std::is_standard_layout_v<record>);

/// A view of contiguous elements: of a vector, an array or a span of exactly this type.
/// Functions that take a list also take elements in braces.
///
/// ```cpp
/// std::vector<teak::record> trees{{"ash", "1"}, {"elm", "2"}};
/// teak::list<teak::record> list = trees;
/// assert(list.size() == 2);
/// ```
template <class T> class list {
public:
  /// No elements.
  constexpr list() noexcept = default;
  /// From a container of such elements.
  template <class C, std::enable_if_t<std::is_same_v<detail::element<C>, T>, int> = 0>
  constexpr list(const C &elements) noexcept : data_(std::data(elements)), size_(std::size(elements)) {}
  /// The address.
  [[nodiscard]] constexpr const T *data() const noexcept { return data_; }
  /// The number of elements.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// The first element.
  [[nodiscard]] constexpr const T *begin() const noexcept { return data_; }
  /// The end, after the last element.
  [[nodiscard]] constexpr const T *end() const noexcept { return data_ + size_; }

private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

inline const teak_slice *raw(list<bytes_view> views) noexcept { return reinterpret_cast<const teak_slice *>(views.data()); }
inline const teak_record *raw(list<record> records) noexcept {
  return reinterpret_cast<const teak_record *>(records.data());
}
inline record cooked(const teak_record &raw) noexcept { return {bytes_view(raw.key), bytes_view(raw.value)}; }

template <class Integer> constexpr void refuse_vague() {
  static_assert(std::is_integral_v<Integer> && std::is_unsigned_v<Integer> && !std::is_same_v<Integer, bool> &&
                    !std::is_same_v<Integer, char> && !std::is_same_v<Integer, wchar_t> &&
                    !std::is_same_v<Integer, char16_t> && !std::is_same_v<Integer, char32_t>,
                "say how wide the number is: std::uint8_t, std::uint16_t, std::uint32_t or std::uint64_t");
}

template <class Integer> Integer integer(const std::byte *bytes, bool is_big) noexcept {
  Integer number = 0;
  for (std::size_t i = 0; i < sizeof(Integer); i++) {
    const std::size_t shift = 8 * (is_big ? sizeof(Integer) - 1 - i : i);
    number = static_cast<Integer>(number | static_cast<Integer>(std::to_integer<Integer>(bytes[i]) << shift));
  }
  return number;
}

template <class Integer> answer<Integer> read(bytes_view bytes, bool is_big) {
  refuse_vague<Integer>();
  if (bytes.size() == sizeof(Integer)) return integer<Integer>(bytes.data(), is_big);
  char text[160];
  std::snprintf(text, sizeof text, "%zu bytes are no integer of %zu; see what the table has for keys and values", bytes.size(),
                sizeof(Integer));
  return refused<Integer>(told(TEAK_DECODE, text));
}

} // namespace detail

/// An unsigned integer as bytes, the most significant first. The order of these bytes is the order
/// of the numbers.
///
/// ```cpp
/// auto key = teak::big_endian(std::uint32_t{840000});
/// assert(key.size() == 4 && teak::from_big_endian<std::uint32_t>(key) == 840000);
/// ```
template <class Integer> [[nodiscard]] std::array<std::byte, sizeof(Integer)> big_endian(Integer number) noexcept {
  detail::refuse_vague<Integer>();
  std::array<std::byte, sizeof(Integer)> bytes;
  for (std::size_t i = 0; i < sizeof(Integer); i++)
    bytes[i] = static_cast<std::byte>(number >> (8 * (sizeof(Integer) - 1 - i)));
  return bytes;
}

/// An unsigned integer as bytes, the least significant first. For order::integer, with 4 or 8
/// bytes.
template <class Integer> [[nodiscard]] std::array<std::byte, sizeof(Integer)> little_endian(Integer number) noexcept {
  std::array<std::byte, sizeof(Integer)> bytes = big_endian(number);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

/// The number that big_endian() converted. Errors: decode if the number of bytes is not that of the
/// integer.
template <class Integer> answer<Integer> from_big_endian(bytes_view bytes) { return detail::read<Integer>(bytes, true); }

/// The number that little_endian() converted. Errors: decode if the number of bytes is not that of
/// the integer.
template <class Integer> answer<Integer> from_little_endian(bytes_view bytes) {
  return detail::read<Integer>(bytes, false);
}

} // namespace TEAK_WAY
} // namespace teak

#endif // TEAK_BYTES_HPP
