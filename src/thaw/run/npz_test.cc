#include "thaw/run/npz.h"

#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/run/npy.h"

namespace thaw::run {
namespace {

using ir::DataType;
namespace fs = std::filesystem;

Arrays all_of(const fs::path& path) {
  NpzReader reader(path);
  Arrays arrays;
  for (const std::string& name : reader.names()) arrays.emplace(name, reader.read(name, {}));
  return arrays;
}

class Npz : public testing::Test {
 protected:
  // A .npy file with that header text and data.
  static std::string npy(const std::string& header, const std::string& data, char version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += version;
    bytes += '\0';
    bytes += static_cast<char>(header.size() & 0xFF);
    bytes += static_cast<char>(header.size() >> 8);
    if (version > 1) bytes += std::string(2, '\0');
    return bytes + header + data;
  }
  Array read(const std::string& header, const std::string& data, char version = 1) const {
    return read_npy_file(folder_.write("a.npy", npy(header, data, version)), {});
  }
  Arrays sample() const {
    Arrays arrays;
    arrays["floats"] = Array::from_doubles(DataType::kFloat, {2, 3}, std::vector<double>{1, 2, 3, -4, 0.5, 1e30});
    arrays["scalar"] = Array::from_int64(DataType::kInt64, {}, std::vector<int64_t>{-7});
    arrays["empty"] = Array::zeros(DataType::kUint16, {3, 0, 5});
    arrays["texts"] = Array::from_strings({2}, {"", "größe\xF0\x9F\x98\x80"});
    arrays["half"] = Array::from_doubles(DataType::kFloat16, {5}, std::vector<double>{0, 1, 2, 3, 65504});
    return arrays;
  }

  static Arrays small() { return {{"x", Array::from_doubles(DataType::kFloat, {3}, std::vector<double>{1, 2, 3})}}; }

  TempFolder folder_;
};

TEST_F(Npz, WhatIsWrittenIsRead) {
  const Arrays arrays = sample();
  write_npz_file(folder_ / "a.npz", arrays);
  EXPECT_EQ(all_of(folder_ / "a.npz"), arrays);
  for (const auto& [name, array] : arrays) {
    write_npy_file(folder_ / "a.npy", array);
    EXPECT_EQ(read_npy_file(folder_ / "a.npy", {}), array) << name;
  }
}

TEST_F(Npz, TypesWithoutANumPyTypeAreWrittenAsWhatTheyFitInto) {
  Arrays arrays;
  arrays["bf16"] = Array::from_doubles(DataType::kBfloat16, {3}, std::vector<double>{1, 2, -3});
  arrays["int4"] = Array::from_int64(DataType::kInt4, {3}, std::vector<int64_t>{-8, 7, 1});
  arrays["f8"] = Array::from_doubles(DataType::kFloat8E5M2, {3}, std::vector<double>{1, 2, -3});
  write_npz_file(folder_ / "a.npz", arrays);
  const Arrays back = all_of(folder_ / "a.npz");
  EXPECT_EQ(back.at("bf16"), arrays.at("bf16"));
  EXPECT_EQ(back.at("int4"), cast(arrays.at("int4"), DataType::kInt8));
  EXPECT_EQ(back.at("f8").dtype, DataType::kUint8);
  EXPECT_EQ(back.at("f8").bytes, arrays.at("f8").bytes);
}

TEST_F(Npz, ReadsFortranOrderAndBigEndian) {
  const std::string data{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
  const Array array = read("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", data);
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(to_int64s(array), (std::vector<int64_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(to_int64s(read("{'descr':'<i2','fortran_order':False,'shape':(3L,),}", {1, 0, 2, 0, 3, 0}, 2)),
            (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(read("{'shape': (2,), 'descr': '|b1', 'fortran_order': False}", {0, 5}).bytes[1], std::byte{1});
}

TEST_F(Npz, HeadersThatAreNotOfTheFormatAreRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(read(good, std::string(8, '\0')).num_elements(), 2);
  EXPECT_THROW(read(good, std::string(7, '\0')), Error);
  EXPECT_THROW(read(good, std::string(9, '\0')), Error);
  for (const char* header : {
           "",
           "{",
           "{}",
           "[]",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), ",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} trailing",
           "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<U99999999999999999999', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<U4611686018427387905', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<U0', 'fortran_order': False, 'shape': (4611686018427387904,)}",
           "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
       }) {
    EXPECT_THROW(read(header, std::string(8, '\0')), Error) << header;
  }
  EXPECT_THROW(read(good, std::string(8, '\0'), 9), Error);
  EXPECT_THROW(read_npy_file(folder_.write("b.npy", "\x93NUMP"), {}), Error);
  EXPECT_THROW(read_npy_file(folder_.path(), {}), Error);
  EXPECT_THROW(read_npy_file(folder_ / "missing.npy", {}), Error);
}

TEST_F(Npz, EveryTruncationIsAnError) {
  write_npz_file(folder_ / "a.npz", small());
  const std::string whole = content_of(folder_ / "a.npz");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(all_of(folder_.write("b.npz", whole.substr(0, length))), Error) << length;
  }
}

TEST_F(Npz, ADamagedByteNeverGivesOtherNumbers) {
  const Arrays arrays = small();
  write_npz_file(folder_ / "a.npz", arrays);
  const std::string whole = content_of(folder_ / "a.npz");
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    try {
      for (const auto& [name, array] : all_of(folder_.write("b.npz", damaged))) {
        const auto original = arrays.find(name);
        if (original != arrays.end()) {
          EXPECT_EQ(array, original->second) << "byte " << at;
        }
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST_F(Npz, AMemberThatClaimsToInflateToTooMuchIsRefused) {
  // One stored member of a few bytes whose directory says: deflated, 2^40 bytes.
  Arrays arrays;
  arrays["x"] = Array::zeros(DataType::kFloat, {2});
  write_npz_file(folder_ / "a.npz", arrays);
  std::string bytes = content_of(folder_ / "a.npz");
  const size_t entry = bytes.rfind("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  bytes[entry + 10] = 8;  // deflated
  const uint32_t size = 0xFFFFFF00;
  std::memcpy(bytes.data() + entry + 24, &size, 4);
  EXPECT_THROW(NpzReader(folder_.write("b.npz", bytes)), Error);
}

TEST_F(Npz, TwoMembersOfOneNameAreRefused) {
  Arrays arrays;
  arrays["a"] = arrays["b"] = Array::zeros(DataType::kFloat, {2});
  write_npz_file(folder_ / "a.npz", arrays);
  std::string bytes = content_of(folder_ / "a.npz");
  for (size_t at = bytes.find("b.npy"); at != std::string::npos; at = bytes.find("b.npy", at)) bytes[at] = 'a';
  EXPECT_THROW(NpzReader(folder_.write("b.npz", bytes)), Error);
}

TEST_F(Npz, AFileIsWrittenWholeOrNotAtAllAndNotThroughALink) {
  Arrays arrays = small();
  write_npz_file(folder_ / "a.npz", arrays);
  const std::string before = content_of(folder_ / "a.npz");
  arrays["y"] = Array{};  // cannot be written: nothing may be left of the attempt, and the old file stays
  EXPECT_THROW(write_npz_file(folder_ / "a.npz", arrays), Error);
  EXPECT_EQ(content_of(folder_ / "a.npz"), before);
  folder_.write("victim", "untouched");
  fs::create_symlink(folder_ / "victim", folder_ / "link.npz");
  EXPECT_THROW(write_npz_file(folder_ / "link.npz", small()), Error);
  EXPECT_EQ(content_of(folder_ / "victim"), "untouched");
  EXPECT_THROW(write_npz_file(folder_ / "no/a.npz", small()), Error);
  size_t entries = 0;
  for ([[maybe_unused]] const auto& item : fs::directory_iterator(folder_.path())) ++entries;
  EXPECT_EQ(entries, 3U);
}

}  // namespace
}  // namespace thaw::run
