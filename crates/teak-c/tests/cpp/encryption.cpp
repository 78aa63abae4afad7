// Keys from each source, ciphers, wrong keys, and copies with another key or none.
#include "common.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using key_bytes = std::array<unsigned char, TEAK_KEY_LEN>;

static teak::database open(const std::string &path, const teak::encryption &encryption) {
  return teak::database::open(path, teak::options().encryption(encryption));
}

static void fill(const std::string &path, const teak::encryption &encryption) {
  teak::database db = open(path, encryption);
  teak::write_txn txn = db.begin_write();
  txn.create_table("words").insert(txn, "key", "value");
  txn.commit();
}

static teak::cipher cipher_of(const teak::database &db) {
  return static_cast<teak::cipher>(db.stat().cipher);
}

static bool reads(const teak::database &db, teak::cipher cipher) {
  const teak::read_txn txn = db.begin_read();
  const std::optional<teak::bytes_view> value = txn.open_table("words").value().get(txn, "key");
  return value && value->text() == "value" && cipher_of(db) == cipher;
}

static void sources(const std::string &directory) {
  const std::string path = directory + "/x.teak", key_file = directory + "/x.key";
  teak::create_key(key_file);
  assert(refuses<teak::file_exists>([&] {
    teak::create_key(key_file);
    return 0;
  }));
  fill(path, teak::encryption::key_file(key_file).cipher(teak::cipher::xchacha20_poly1305));
  assert(reads(open(path, teak::encryption::key_file(key_file)), teak::cipher::xchacha20_poly1305));

  std::ifstream file(key_file);
  std::string digits;
  assert(std::getline(file, digits) && digits.size() == 2 * TEAK_KEY_LEN);
  assert(setenv("TEAK_TEST_KEY", digits.c_str(), 1) == 0);
  assert(reads(open(path, teak::encryption::key_env("TEAK_TEST_KEY")), teak::cipher::xchacha20_poly1305));
  key_bytes key = {};
  for (std::size_t i = 0; i < key.size(); i++)
    key[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  assert(reads(open(path, teak::encryption::key(key)), teak::cipher::xchacha20_poly1305));
  int calls = 0;
  auto give = [&](teak::bytes_view id, unsigned char *place) noexcept {
    calls++;
    std::copy(key.begin(), key.end(), place);
    return id.size() == 16;
  };
  assert(reads(open(path, teak::encryption::on_key(give)), teak::cipher::xchacha20_poly1305) && calls > 0);

  const std::string words = directory + "/words.teak", words_file = directory + "/words";
  fill(words, teak::encryption::passphrase("correct horse"));
  std::ofstream(words_file) << "correct horse\n";
  std::filesystem::permissions(words_file, std::filesystem::perms::owner_read);
  assert(reads(open(words, teak::encryption::passphrase_file(words_file)), teak::cipher::aes_256_gcm));
}

static void refusals(const std::string &directory) {
  const std::string path = directory + "/x.teak", plain = directory + "/plain.teak";
  const key_bytes other = {7};
  assert(refuses<teak::key_needed>([&] { return teak::database::open(path); }));
  assert(refuses<teak::wrong_key>([&] { return open(path, teak::encryption::key(other)); }));
  auto refuse = [](teak::bytes_view, unsigned char *) noexcept { return false; };
  assert(refuses<teak::key_unavailable>([&] { return open(path, teak::encryption::on_key(refuse)); }));
  assert(refuses<teak::key_unavailable>([&] { return open(path, teak::encryption::key_file(directory + "/none")); }));
  teak::database::open(plain).close();
  assert(refuses<teak::not_encrypted>([&] { return open(plain, teak::encryption::key(other)); }));
  assert(refuses<teak::invalid_argument>([&] { return open(plain, teak::encryption::key("short")); }));
}

static void copies(const std::string &directory) {
  const teak::database db = open(directory + "/x.teak", teak::encryption::key_file(directory + "/x.key"));
  const std::string plain = directory + "/copy.teak", other = directory + "/other.teak";
  const key_bytes key = {7};
  const std::string same = directory + "/same.teak";
  db.backup_compact(same);
  assert(reads(open(same, teak::encryption::key_file(directory + "/x.key")), teak::cipher::xchacha20_poly1305));
  db.backup_compact_decrypted(plain);
  db.backup_compact_encrypted(other, teak::encryption::key(key).cipher(teak::cipher::aes_256_gcm));
  assert(reads(teak::database::open(plain), teak::cipher::none));
  assert(reads(open(other, teak::encryption::key(key)), teak::cipher::aes_256_gcm));
}

static void backups(const std::string &directory) {
  const auto key = teak::encryption::key_file(directory + "/x.key");
  const std::string full = directory + "/full.teak", restored = directory + "/restored.teak";
  open(directory + "/x.teak", key).backup(full);
  assert(refuses<teak::key_needed>([&] { return teak::restore(full, {}, restored); }));
  assert(teak::restore(full, {}, restored, key).damages == 0);
  assert(reads(open(restored, key), teak::cipher::xchacha20_poly1305));
  const key_bytes next = {9};
  open(restored, key).change_key(teak::encryption::key(next));
  assert(refuses<teak::wrong_key>([&] { return open(restored, key); }));
  assert(reads(open(restored, teak::encryption::key(next)), teak::cipher::xchacha20_poly1305));
  const std::string saved = directory + "/saved.teak";
  assert(refuses<teak::key_needed>([&] { return teak::salvage(full, saved); }));
  assert(teak::salvage(full, saved, teak::salvage_options().encryption(key))->is_complete == 1);
  assert(reads(open(saved, key), teak::cipher::xchacha20_poly1305));
}

int main(int argc, char **argv) {
  assert(argc == 2);
  sources(argv[1]);
  refusals(argv[1]);
  copies(argv[1]);
  backups(argv[1]);
}
