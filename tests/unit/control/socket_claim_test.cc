#include "control/socket_claim.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "support/temporary_directory.h"

namespace heddle::control {
namespace {

using ::testing::HasSubstr;

TEST(SocketClaim, MakesItsDirectory) {
    const TemporaryDirectory directory;
    const auto claim = SocketClaim::take(directory / "a/b/socket");
    ASSERT_TRUE(claim.has_value()) << claim.error();
}

TEST(SocketClaim, SecondOneIsRefusedWithThePidOfTheFirst) {
    const TemporaryDirectory directory;
    {
        const auto first = SocketClaim::take(directory / "socket");
        ASSERT_TRUE(first.has_value());
        const auto second = SocketClaim::take(directory / "socket");
        ASSERT_FALSE(second.has_value());
        EXPECT_THAT(second.error(), HasSubstr("the heddled with pid " + std::to_string(getpid())));
    }
    EXPECT_TRUE(SocketClaim::take(directory / "socket").has_value()) << "given back";
}

TEST(SocketClaim, StaleSocketIsRemoved) {
    const TemporaryDirectory directory;
    const std::string path = directory / "socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const port::FileDescriptor stale(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_TRUE(SocketClaim::take(path).has_value());
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SocketClaim, FileThatIsNoSocketIsLeftAlone) {
    const TemporaryDirectory directory;
    std::ofstream(directory / "socket") << "precious";
    const auto claim = SocketClaim::take(directory / "socket");
    ASSERT_FALSE(claim.has_value());
    EXPECT_THAT(claim.error(), HasSubstr("is no socket"));
    EXPECT_TRUE(std::filesystem::exists(directory / "socket"));
}

TEST(SocketClaim, LengthOfThePathIsChecked) {
    const auto claim = SocketClaim::take("/tmp/" + std::string(200, 'x'));
    ASSERT_FALSE(claim.has_value());
    EXPECT_THAT(claim.error(), HasSubstr("1 to 107 bytes"));
    EXPECT_FALSE(SocketClaim::take("").has_value());
}

TEST(SocketClaim, DirectoryThatCannotBeMade) {
    const auto claim = SocketClaim::take("/proc/nowhere/socket");
    ASSERT_FALSE(claim.has_value());
    EXPECT_THAT(claim.error(), HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace heddle::control
