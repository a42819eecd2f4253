//===- FilesTest.cpp - Tests of atomic files and archives -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Metrics.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Npz.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace bppsa::runtime;
namespace fs = std::filesystem;

namespace {
class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / text("bppsa-files-test-", getpid());
    fs::create_directory(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string path(const char *name) const { return directory / name; }
  void put(const char *name, const std::string &content) const {
    std::ofstream(path(name)) << content;
  }
  std::string get(const char *name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t fileCount() const {
    return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
  }

  fs::path directory;
};
} // namespace

TEST_F(FilesTest, AppearsOnCommitOnly) {
  put("f", "old");
  AtomicFile file(path("f"));
  file.write("new", 3);
  EXPECT_EQ(get("f"), "old");
  file.commit();
  EXPECT_EQ(get("f"), "new");
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(FilesTest, LeavesNothingWithoutCommit) {
  {
    AtomicFile(path("f")).write("new", 3);
  }
  EXPECT_EQ(fileCount(), 0u);
}

TEST_F(FilesTest, RefusesWhatIsNoFile) {
  EXPECT_THROW(AtomicFile(directory.string()), Error);
  EXPECT_THROW(AtomicFile(path("none/f")), Error);
  EXPECT_THROW(requireWritable(path("none/f"), "--out"), Error);
  EXPECT_THROW(requireWritable("/dev/null", "--out"), Error);
  EXPECT_THROW(requireWritable("", "--out"), Error);
  EXPECT_NO_THROW(requireWritable(path("f"), "--out"));
  EXPECT_EQ(fileCount(), 0u);
}

TEST_F(FilesTest, RefusesAnInputAsOutput) {
  put("f", "data");
  fs::create_symlink(path("f"), path("link"));
  EXPECT_THROW(requireDistinct(path("link"), path("f"), "--out"), Error);
  EXPECT_NO_THROW(requireDistinct(path("g"), path("f"), "--out"));
}

TEST_F(FilesTest, TellsFilesApartThatAreNotThereYet) {
  fs::create_directory(path("folder"));
  fs::create_directory_symlink(directory, path("link"));
  EXPECT_TRUE(isSameFile(path("f"), path("./f")));
  EXPECT_TRUE(isSameFile(path("f"), path("link/f")));
  EXPECT_TRUE(isSameFile(path("f"), path("folder/../f")));
  EXPECT_FALSE(isSameFile(path("f"), path("g")));
  EXPECT_FALSE(isSameFile(path("f"), path("folder/f")));
  EXPECT_FALSE(isSameFile(path("f"), path("none/f")));
  put("f", "data");
  EXPECT_FALSE(isSameFile(path("f"), path("folder/f")));
  fs::create_hard_link(path("f"), path("folder/f"));
  EXPECT_TRUE(isSameFile(path("f"), path("folder/f")));
}

TEST_F(FilesTest, LogTriesAgain) {
  fs::create_directory(path("folder"));
  MetricsLog log(path("folder/log"));
  fs::remove(path("folder"));
  std::vector<EpochRecord> history(1);
  EXPECT_THROW(log.add(history), Error);
  fs::create_directory(path("folder"));
  history.resize(2);
  log.add(history);
  history.resize(3);
  log.add(history);
  std::string lines = get("folder/log");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
}

TEST_F(FilesTest, ArraysComeBack) {
  std::vector<float> values = {1, -2, 3.5, 0, 1e-30f, 6};
  int64_t index = -7;
  {
    NpzWriter writer(path("a.npz"));
    writer.add("matrix", DType::F32, {2, 3}, values.data());
    writer.add("folder/scalar", DType::I64, {}, &index);
    writer.add("nothing", DType::Bool, {0, 4}, nullptr);
    EXPECT_THROW(writer.add("matrix", DType::F32, {1}, values.data()), Error);
    writer.commit();
  }
  NpzReader archive(path("a.npz"));
  ASSERT_EQ(archive.headers().size(), 3u);
  EXPECT_EQ(archive.headers().at("matrix").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(archive.read("nothing").shape, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(*archive.read("folder/scalar").as<int64_t>(), -7);
  EXPECT_EQ(memcmp(archive.read("matrix").data.data(), values.data(), 24), 0);
}

TEST_F(FilesTest, FingerprintsTellContentsApart) {
  auto fingerprint = [&](const char *name, float value) {
    NpzWriter writer(path("a.npz"));
    writer.add(name, DType::F32, {}, &value);
    writer.commit();
    return NpzReader(path("a.npz")).fingerprint();
  };
  EXPECT_EQ(fingerprint("x", 1), fingerprint("x", 1));
  EXPECT_NE(fingerprint("x", 1), fingerprint("x", 2));
  EXPECT_NE(fingerprint("x", 1), fingerprint("y", 1));
}

TEST(ErrorTest, NamesStayOnOneReadableLine) {
  EXPECT_EQ(quote("rnn.W"), "'rnn.W'");
  EXPECT_EQ(quote("größe"), "'größe'");
  EXPECT_EQ(quote("a\nb\x1b"), "'a\\x0ab\\x1b'");
  EXPECT_EQ(quote("\xff\xc3"), "'\\xff\\xc3'");
  EXPECT_EQ(quote("\xc2\x9b"), "'\\xc2\\x9b'"); // a control character of two bytes
  EXPECT_LT(quote(std::string(1000, 'x')).size(), 130u);
}
