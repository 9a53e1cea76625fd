#include <netinet/tcp.h>

#include <fstream>
#include <future>
#include <numeric>

#include "linux_fixture.h"
#include "port/netdev.h"
#include "port/tap.h"

namespace heddle::port {
namespace {

using test::Container;
using test::eventually;
using test::shell;

/// TCP between the Linux stacks of two containers whose ports do nothing but hand frames over.
///
/// The drivers' whole contract in one test: addresses work, checksums are right, superframes stay
/// whole, nothing is lost, doubled or reordered.
class TwoContainersTest : public test::LinuxTest,
                          public testing::WithParamInterface<std::tuple<std::string, int>> {
 protected:
    bool is_tap() const { return std::get<0>(GetParam()) == "tap"; }
    int family() const { return std::get<1>(GetParam()); }

    std::unique_ptr<Port> open(const Container& container, int number) {
        const std::string v4 = fmt::format("192.0.2.{}/24", number);
        const std::string v6 = fmt::format("2001:db8::{}/64", number);
        if (is_tap()) {
            auto tap =
                Tap::open({.interface = "eth0",
                           .network_namespace = container.name(),
                           .addresses = {*net::IpPrefix::parse(v4), *net::IpPrefix::parse(v6)}});
            EXPECT_TRUE(tap) << tap.error();
            return tap ? std::move(*tap) : nullptr;
        }
        const std::string host = fmt::format("h{}-{}", number, getpid());
        EXPECT_TRUE(
            shell("ip link add " + host + " type veth peer name eth0 netns " + container.name()));
        EXPECT_TRUE(container.ip("link set eth0 up"));
        EXPECT_TRUE(container.ip("address add " + v4 + " dev eth0"));
        EXPECT_TRUE(container.ip("address add " + v6 + " dev eth0 nodad"));
        auto netdev = Netdev::open({.interface = host});
        EXPECT_TRUE(netdev) << netdev.error();
        EXPECT_TRUE(
            eventually([&] { return container.ip("link show eth0 | grep -q 'state UP'"); }));
        return netdev ? std::move(*netdev) : nullptr;
    }

    sockaddr_storage address(int number, uint16_t port) const {
        sockaddr_storage made{};
        if (family() == AF_INET) {
            const sockaddr_in v4 = test::ipv4(fmt::format("192.0.2.{}", number).c_str(), port);
            std::memcpy(&made, &v4, sizeof(v4));
        } else {
            sockaddr_in6 v6{};
            v6.sin6_family = AF_INET6;
            v6.sin6_port = htons(port);
            inet_pton(AF_INET6, fmt::format("2001:db8::{}", number).c_str(), &v6.sin6_addr);
            std::memcpy(&made, &v6, sizeof(v6));
        }
        return made;
    }
    socklen_t address_size() const {
        return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    }
};

/// Segments a container's kernel found to have a wrong checksum: the last column of Tcp in
/// /proc/net/snmp.
uint64_t checksum_errors(const Container& container) {
    auto where = NetworkNamespace::open(container.name());
    if (!where) return ~uint64_t{0};
    const auto errors = where->run([]() -> Result<uint64_t> {
        std::ifstream file("/proc/thread-self/net/snmp");
        std::string line;
        std::string last;
        while (std::getline(file, line)) {
            if (line.starts_with("Tcp: ")) last = line;
        }
        if (last.empty()) return tl::unexpected(std::string("no Tcp line"));
        return std::stoull(last.substr(last.rfind(' ') + 1));
    });
    return errors ? *errors : ~uint64_t{0};
}

TEST_P(TwoContainersTest, BulkTcpArrivesIntactAndInSuperframes) {
    const Container a;
    const Container b;
    std::array ports{open(a, 1), open(b, 2)};
    ASSERT_TRUE(ports[0] && ports[1]);

    constexpr size_t kBytes = 8 << 20;
    std::vector<uint32_t> data(kBytes / sizeof(uint32_t));
    std::iota(data.begin(), data.end(), 0);

    auto listener = b.socket(family(), SOCK_STREAM);
    auto client = a.socket(family(), SOCK_STREAM);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    for (const int fd : {listener.get(), client.get()}) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    }
    const sockaddr_storage server = address(2, 5001);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&server), address_size()), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);

    auto received = std::async(std::launch::async, [&] {
        std::vector<uint32_t> arrived(data.size());
        FileDescriptor connection(accept(listener.get(), nullptr, nullptr));
        const ssize_t length = recv(connection.get(), arrived.data(), kBytes, MSG_WAITALL);
        return length == static_cast<ssize_t>(kBytes) ? arrived : std::vector<uint32_t>();
    });
    auto sent = std::async(std::launch::async, [&] {
        return connect(client.get(), reinterpret_cast<const sockaddr*>(&server), address_size()) ==
                   0 &&
               send(client.get(), data.data(), kBytes, MSG_NOSIGNAL) ==
                   static_cast<ssize_t>(kBytes);
    });

    bool superframes = false;
    while (received.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        for (size_t from = 0; from < ports.size(); ++from) {
            for (test::FramePtr& frame : receive(*ports[from])) {
                superframes |= packet::is_tcp(packet::metadata(frame.get()).gso);
                transmit(*ports[1 - from], std::move(frame));
            }
        }
    }
    EXPECT_TRUE(sent.get());
    EXPECT_TRUE(received.get() == data);
    EXPECT_TRUE(superframes);
    EXPECT_EQ(checksum_errors(a), 0);
    EXPECT_EQ(checksum_errors(b), 0);
    EXPECT_GT(counters_.tx_packets.read(), counters_.tx_frames.read());
    for (const auto& drop : counters_.drops)
        EXPECT_EQ(drop.read(), 0);
    if (!is_tap()) shell(fmt::format("ip link del h1-{0}; ip link del h2-{0}", getpid()));
}

INSTANTIATE_TEST_SUITE_P(Drivers, TwoContainersTest,
                         testing::Combine(testing::Values("tap", "netdev"),
                                          testing::Values(AF_INET, AF_INET6)),
                         [](const auto& info) {
                             return std::get<0>(info.param) +
                                    (std::get<1>(info.param) == AF_INET ? "v4" : "v6");
                         });

}  // namespace
}  // namespace heddle::port
