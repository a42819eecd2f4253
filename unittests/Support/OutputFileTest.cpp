//===- OutputFileTest.cpp - writes files atomically -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/OutputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

using namespace bppsa;
namespace fs = llvm::sys::fs;

namespace {
class OutputFileTest : public testing::Test {
protected:
  OutputFileTest() { EXPECT_FALSE(fs::createUniqueDirectory("output-file", directory)); }
  ~OutputFileTest() override { fs::remove_directories(directory); }

  std::string in(const llvm::Twine &name) { return (directory + "/" + name).str(); }
  std::string write(const llvm::Twine &path, llvm::StringRef text) {
    llvm::Error error = writeFile(path.str(), [&](llvm::raw_ostream &os) { os << text; });
    return llvm::toString(std::move(error));
  }
  static std::string read(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "cannot be read";
  }
  int countFiles() {
    std::error_code code;
    int count = 0;
    for (fs::directory_iterator file(directory, code), end; file != end; file.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<64> directory;
};

/// Limits the size of files written by this process during its lifetime.
class SizeLimit {
public:
  explicit SizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    handler = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  rlimit before;
  void (*handler)(int);
};
} // namespace

TEST_F(OutputFileTest, ReplacesAFile) {
  EXPECT_EQ(write(in("out"), "first"), "");
  EXPECT_EQ(write(in("out"), "second"), "");
  EXPECT_EQ(read(in("out")), "second");
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(OutputFileTest, KeepsTheFileThatIsThereWhereItFails) {
  EXPECT_EQ(write(in("out"), "first"), "");
  {
    SizeLimit limit(1000);
    EXPECT_EQ(write(in("out"), std::string(100000, 'x')),
              "cannot write " + in("out") + ": File too large");
  }
  EXPECT_EQ(read(in("out")), "first");
  EXPECT_EQ(countFiles(), 1);
}

TEST_F(OutputFileTest, LeavesNothingWhereItFails) {
  SizeLimit limit(1000);
  EXPECT_NE(write(in("out"), std::string(100000, 'x')), "");
  EXPECT_EQ(countFiles(), 0);
}

TEST_F(OutputFileTest, ReportsAFullDevice) {
  EXPECT_EQ(write("/dev/full", "text"), "cannot write /dev/full: No space left on device");
  struct stat info;
  ASSERT_EQ(stat("/dev/full", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(write("/dev/null", "text"), "");
}

TEST_F(OutputFileTest, RefusesDirectories) {
  std::string reason = "cannot write " + directory.str().str() + ": Is a directory";
  EXPECT_EQ(write(directory, "text"), reason);
  EXPECT_EQ(llvm::toString(checkWritable(directory)), reason);
  std::string missing = in("missing/out"), wrong = "cannot write " + missing;
  EXPECT_EQ(write(missing, "text"), wrong + ": No such file or directory");
  EXPECT_EQ(llvm::toString(checkWritable(missing)), wrong + ": No such file or directory");
}

TEST_F(OutputFileTest, WritesThroughLinks) {
  EXPECT_EQ(write(in("file"), "first"), "");
  ASSERT_EQ(symlink(in("file").c_str(), in("link").c_str()), 0);
  EXPECT_EQ(write(in("link"), "second"), "");
  EXPECT_EQ(read(in("file")), "second");
  EXPECT_TRUE(fs::is_symlink_file(in("link")));
}

TEST_F(OutputFileTest, ProgramsCanBeExecuted) {
  EXPECT_EQ(write(in("data"), "text"), "");
  EXPECT_FALSE(fs::can_execute(in("data")));
  llvm::cantFail(writeFile(in("program"), [](llvm::raw_ostream &os) {}, FileMode::Program));
  EXPECT_TRUE(fs::can_execute(in("program")));
}

// The last writer wins; the contents are never a mixture.
TEST_F(OutputFileTest, ThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  for (char letter : {'a', 'b', 'c', 'd'})
    threads.emplace_back([this, letter] {
      for (int i = 0; i < 50; ++i)
        EXPECT_EQ(write(in("out"), std::string(20000, letter)), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  std::string text = read(in("out"));
  EXPECT_EQ(text, std::string(20000, text.front()));
  EXPECT_EQ(countFiles(), 1);
}
