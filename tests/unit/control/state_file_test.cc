#include "control/state_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "api/text.h"
#include "control/crc32c.h"
#include "support/temporary_directory.h"

namespace heddle::control {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

v1::Topology topology(
    const char* yaml = "networks: [{name: blue}]\nports: [{name: web, tap: {}}]\n") {
    return *api::parse<v1::Topology>(yaml);
}

std::string read_file(const std::filesystem::path& path) {
    std::stringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
}

void write_file(const std::filesystem::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), 0640);
}

/// A state file for `body`, right in all but what the test is about.
std::string wrap(const std::string& body, const char* format = "1") {
    char header[64];
    snprintf(header, sizeof(header), "heddle-state %s %08x %zu\n", format, crc32c(body),
             body.size());
    return header + body;
}

class StateFileTest : public testing::Test {
 protected:
    std::string refusal() const {
        const auto loaded = file_.load();
        return loaded.has_value() ? "accepted" : loaded.error();
    }

    const TemporaryDirectory directory_;
    const std::filesystem::path path_ = directory_ / "state";
    const StateFile file_{path_};
};

TEST(Crc32c, CheckValue) {
    EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
    EXPECT_EQ(crc32c(""), 0U);
}

TEST_F(StateFileTest, AbsentIsNothing) {
    const auto loaded = file_.load();
    ASSERT_TRUE(loaded.has_value()) << loaded.error();
    EXPECT_FALSE(loaded->has_value());
}

TEST_F(StateFileTest, SavedIsLoaded) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    ASSERT_TRUE(file_.save(topology("networks: [{name: red}]")).has_value());
    const auto loaded = file_.load();
    ASSERT_TRUE(loaded.has_value()) << loaded.error();
    EXPECT_TRUE(MessageDifferencer::Equals(**loaded, topology("networks: [{name: red}]")));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "state.new"));
}

TEST_F(StateFileTest, EmptyTopologyIsLoaded) {
    ASSERT_TRUE(file_.save({}).has_value());
    const auto loaded = file_.load();
    ASSERT_TRUE(loaded.has_value()) << loaded.error();
    EXPECT_EQ((*loaded)->ByteSizeLong(), 0U);
}

TEST_F(StateFileTest, IsReadableToAPerson) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    EXPECT_THAT(read_file(path_), testing::StartsWith("heddle-state 1 "));
    EXPECT_THAT(read_file(path_), HasSubstr("\nnetworks:\n  - name: blue\n"));
}

TEST_F(StateFileTest, ModeIsIndependentOfUmask) {
    const mode_t saved = umask(0);
    ASSERT_TRUE(file_.save(topology()).has_value());
    umask(saved);
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(StateFileTest, TruncationAtEveryByteIsRefused) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    const std::string whole = read_file(path_);
    for (size_t size = 0; size < whole.size(); ++size) {
        write_file(path_, whole.substr(0, size));
        ASSERT_NE(refusal(), "accepted") << size << " bytes";
    }
    write_file(path_, whole + "\n");
    EXPECT_THAT(refusal(), HasSubstr("is damaged"));
}

TEST_F(StateFileTest, EveryFlippedBitIsRefused) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    const std::string whole = read_file(path_);
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        write_file(path_, flipped);
        ASSERT_NE(refusal(), "accepted") << "bit " << bit;
    }
}

TEST_F(StateFileTest, ForeignFileIsRefused) {
    write_file(path_, "networks:\n  - name: blue\n");
    EXPECT_EQ(refusal(), path_.string() + " is not a state file of heddled");
}

TEST_F(StateFileTest, NewerFormatIsRefused) {
    write_file(path_, wrap("{}\n", "2"));
    EXPECT_THAT(refusal(), HasSubstr("newer heddled"));
    write_file(path_, wrap("{}\n", "10"));
    EXPECT_THAT(refusal(), HasSubstr("newer heddled"));
}

TEST_F(StateFileTest, FieldOfANewerVersionIsRefused) {
    write_file(path_, wrap("tunnels: [{name: r}]\n"));
    EXPECT_THAT(refusal(), HasSubstr("line 2: : unknown field \"tunnels\""));
}

TEST_F(StateFileTest, FileThatOthersMayWriteIsRefused) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    chmod(path_.c_str(), 0660);
    EXPECT_THAT(refusal(), HasSubstr("may be written by others than its owner (mode 0660)"));
    chmod(path_.c_str(), 0600);
    EXPECT_EQ(refusal(), "accepted");
}

TEST_F(StateFileTest, FileOfAnotherUserIsRefused) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
    ASSERT_TRUE(file_.save(topology()).has_value());
    ASSERT_EQ(chown(path_.c_str(), 65534, 0), 0);
    EXPECT_THAT(refusal(), HasSubstr("belongs to user 65534"));
}

TEST_F(StateFileTest, OnlyARegularFileIsRead) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    std::filesystem::rename(path_, directory_ / "elsewhere");
    std::filesystem::create_symlink(directory_ / "elsewhere", path_);
    EXPECT_THAT(refusal(), HasSubstr("cannot be opened")) << "a link";
    std::filesystem::remove(path_);
    std::filesystem::create_directory(path_);
    EXPECT_THAT(refusal(), HasSubstr("no regular file"));
    std::filesystem::remove(path_);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_THAT(refusal(), HasSubstr("no regular file")) << "a FIFO does not block either";
}

TEST_F(StateFileTest, LeftoverOfAnInterruptedSaveIsNoObstacle) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    write_file(directory_ / "state.new", "half a fi");
    EXPECT_EQ(refusal(), "accepted");
    ASSERT_TRUE(file_.save(topology("networks: [{name: red}]")).has_value());
    EXPECT_EQ((*file_.load())->networks(0).name(), "red");
}

TEST_F(StateFileTest, SaveThatFailsLeavesTheOldFile) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    std::filesystem::create_directories(directory_ / "state.new/full");  // cannot be created over
    const auto saved = file_.save(topology("networks: [{name: red}]"));
    ASSERT_FALSE(saved.has_value());
    EXPECT_THAT(saved.error(), HasSubstr("state cannot be written: create"));
    EXPECT_EQ((*file_.load())->networks(0).name(), "blue");
}

TEST_F(StateFileTest, WhatCouldNotBeLoadedIsNotSaved) {
    ASSERT_TRUE(file_.save(topology()).has_value());
    v1::Topology huge;
    v1::Port& port = *huge.add_ports();
    for (int i = 0; i < 700000; ++i)
        port.add_vlans()->set_vlan(7);
    const auto saved = file_.save(huge);
    ASSERT_FALSE(saved.has_value());
    EXPECT_THAT(saved.error(), HasSubstr("too large"));
    EXPECT_EQ(refusal(), "accepted");
}

TEST_F(StateFileTest, DirectoryIsMade) {
    const StateFile nested(directory_ / "a/b/state");
    EXPECT_TRUE(nested.save(topology()).has_value());
    EXPECT_TRUE(nested.load()->has_value());
}

}  // namespace
}  // namespace heddle::control
