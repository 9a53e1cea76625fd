#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "port/file_descriptor.h"
#include "port/network_namespace.h"
#include "port_fixture.h"

namespace heddle::test {

/// Runs a command of the shell; true if it succeeded.
inline bool shell(const std::string& command) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread runs commands
    return std::system((command + " 2>/dev/null").c_str()) == 0;
}

/// The first thing any of these tests does: the process leaves the host's network for an empty one
/// of its own, which vanishes with it whatever happens.
inline bool leave_host_network() {
    static const bool left = unshare(CLONE_NEWNET) == 0 && shell("ip link set lo up");
    return left;
}

/// A named namespace that plays a container.
class Container {
 public:
    Container() : name_(fmt::format("port-test-{}-{}", getpid(), ++count_)) {
        EXPECT_TRUE(shell("ip netns add " + name_));
        EXPECT_TRUE(ip("link set lo up"));
    }
    ~Container() { remove(); }
    Container(const Container&) = delete;
    Container& operator=(const Container&) = delete;

    const std::string& name() const { return name_; }
    bool ip(const std::string& arguments) const {
        return shell("ip -n " + name_ + " " + arguments);
    }
    /// As `ip netns del` does; the kernel takes it apart once nothing refers to it.
    void remove() {
        if (std::exchange(removed_, true)) return;
        EXPECT_TRUE(shell("ip netns del " + name_));
    }

    /// A socket of the container.
    port::FileDescriptor socket(int family, int type, int protocol = 0) const {
        auto where = port::NetworkNamespace::open(name_);
        if (!where) return {};
        auto made = where->run([&]() -> port::Result<port::FileDescriptor> {
            return port::FileDescriptor(::socket(family, type | SOCK_CLOEXEC, protocol));
        });
        return made ? std::move(*made) : port::FileDescriptor();
    }

    /// A packet socket on one of its interfaces, to send and see frames as they are.
    port::FileDescriptor raw_socket(const std::string& interface, uint16_t protocol = 0) const {
        port::FileDescriptor made = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK);
        ifreq request{};
        interface.copy(request.ifr_name, IFNAMSIZ - 1);
        EXPECT_EQ(ioctl(made.get(), SIOCGIFINDEX, &request), 0) << interface;
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(protocol);
        address.sll_ifindex = request.ifr_ifindex;
        EXPECT_EQ(bind(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        return made;
    }

 private:
    inline static unsigned count_ = 0;
    std::string name_;
    bool removed_ = false;
};

inline sockaddr_in ipv4(const char* address, uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    inet_pton(AF_INET, address, &made.sin_addr);
    return made;
}

/// A test with the real kernel at the other end.
class LinuxTest : public PortTest {
 protected:
    void SetUp() override {
        if (geteuid() != 0 || !leave_host_network()) GTEST_SKIP() << "needs root";
    }
};

}  // namespace heddle::test
