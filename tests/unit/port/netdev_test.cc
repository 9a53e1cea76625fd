#include "port/netdev.h"

#include <netinet/udp.h>

#include "linux_fixture.h"
#include "net/ethernet.h"
#include "net/packet_builder.h"
#include "port/link_monitor.h"
#include "port/netlink.h"
#include "port/vnet_header.h"

namespace heddle::port {
namespace {

using net::PacketBuilder;
using packet::DropReason;
using packet::L4Checksum;
using test::Bytes;
using test::Container;
using test::eventually;
using test::FramePtr;
using test::shell;
using testing::HasSubstr;

constexpr net::MacAddress kContainerMac(2, 0, 0, 0, 0, 1);
constexpr net::MacAddress kPeerMac(2, 0, 0, 0, 0, 2);
constexpr net::Ipv4Address kContainerIp(192, 0, 2, 1);
constexpr net::Ipv4Address kPeerIp(192, 0, 2, 2);
constexpr uint16_t kTestEthertype = 0x88b5;  // IEEE 802 local experimental

Bytes to_bytes(const std::vector<std::byte>& frame) {
    Bytes bytes(frame.size());
    std::memcpy(bytes.data(), frame.data(), frame.size());
    return bytes;
}

Bytes test_frame(size_t payload, uint8_t number = 0) {
    Bytes frame = to_bytes(
        PacketBuilder().ethernet(kContainerMac, kPeerMac, kTestEthertype).payload(payload).build());
    frame[14] = number;
    return frame;
}

uint16_t ethertype(const rte_mbuf* frame) {
    const auto* header = rte_pktmbuf_mtod(frame, const net::EthernetHeader*);
    return header->ethertype.value();
}
bool is_test_frame(const rte_mbuf* frame) {
    return ethertype(frame) == kTestEthertype;
}

/// A veth pair: `host` is the end for the port, eth0 in the container the other.
class NetdevTest : public test::LinuxTest {
 protected:
    void SetUp() override {
        LinuxTest::SetUp();
        if (IsSkipped()) return;
        ASSERT_TRUE(shell("ip link add " + host_ + " type veth peer name eth0 address " +
                          kContainerMac.to_string() + " netns " + container_.name()));
        ASSERT_TRUE(container_.ip("link set eth0 up"));
        ASSERT_TRUE(container_.ip("address add 192.0.2.1/24 dev eth0"));
        ASSERT_TRUE(
            container_.ip("neigh replace 192.0.2.2 dev eth0 lladdr " + kPeerMac.to_string()));
    }
    void TearDown() override { shell("ip link del " + host_); }

    std::unique_ptr<Netdev> open(NetdevConfig config = {}) const {
        config.interface = host_;
        auto port = Netdev::open(config);
        EXPECT_TRUE(port) << port.error();
        wait_for_link();
        return port ? std::move(*port) : nullptr;
    }
    std::string refusal(const std::string& interface = "") const {
        auto port = Netdev::open({.interface = interface.empty() ? host_ : interface});
        return port ? "it was opened" : port.error();
    }
    /// Until the container's kernel has noticed the link, it throws away what is sent.
    void wait_for_link() const {
        EXPECT_TRUE(
            eventually([&] { return container_.ip("link show eth0 | grep -q 'state UP'"); }));
    }
    void send_raw(const Bytes& frame) const {
        auto socket = container_.raw_socket("eth0");
        ASSERT_EQ(send(socket.get(), frame.data(), frame.size(), 0),
                  static_cast<ssize_t>(frame.size()));
    }
    bool has_filter() const {
        return shell("tc filter show dev " + host_ + " ingress | grep -q heddle_drop");
    }

    Container container_;
    const std::string host_ = fmt::format("h{}", getpid());
};

TEST_F(NetdevTest, FramesPassBothWaysUnchanged) {
    auto port = open();
    ASSERT_NE(port, nullptr);
    EXPECT_TRUE(port->up()) << port->down_reason();
    EXPECT_EQ(port->mtu(), 1500);
    send_raw(test_frame(200));
    const FramePtr received = receive_until(*port, is_test_frame);
    ASSERT_NE(received, nullptr);
    EXPECT_EQ(test::bytes_of(received.get()), test_frame(200));

    auto socket = container_.raw_socket("eth0", kTestEthertype);
    transmit(*port, test::make_frame(pools(), test_frame(1486), {14, 100, 1}));
    Bytes arrived(2000);
    EXPECT_TRUE(eventually([&] {
        const ssize_t length = recv(socket.get(), arrived.data(), arrived.size(), 0);
        if (length > 0) arrived.resize(static_cast<size_t>(length));
        return length > 0;
    }));
    EXPECT_EQ(arrived, test_frame(1486));
    EXPECT_EQ(counters_.tx_frames.read(), 1);
    EXPECT_EQ(counters_.tx_bytes.read(), 1500);
}

TEST_F(NetdevTest, DatagramArrivesWithItsChecksumLeftToUs) {
    auto port = open();
    auto socket = container_.socket(AF_INET, SOCK_DGRAM);
    const sockaddr_in peer = test::ipv4("192.0.2.2", 7);
    ASSERT_EQ(
        sendto(socket.get(), "hello", 5, 0, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)),
        5);
    const FramePtr frame = receive_until(
        *port, [](const rte_mbuf* each) { return ethertype(each) == net::ethertype::kIpv4; });
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(packet::metadata(frame.get()).l4_checksum, L4Checksum::partial);
    EXPECT_EQ(packet::metadata(frame.get()).l4_offset, 34);
}

TEST_F(NetdevTest, VlanTagsAreWhereTheyWereWithTheirTpid) {
    auto port = open();
    for (const uint16_t tpid : {net::ethertype::kVlan, net::ethertype::kServiceVlan}) {
        const Bytes tagged = to_bytes(PacketBuilder()
                                          .ethernet(kContainerMac, kPeerMac)
                                          .vlan(1234, 5, tpid)
                                          .ipv4(kContainerIp, kPeerIp)
                                          .udp(1, 2)
                                          .payload(50)
                                          .build());
        send_raw(tagged);
        const FramePtr frame =
            receive_until(*port, [&](const rte_mbuf* each) { return ethertype(each) == tpid; });
        ASSERT_NE(frame, nullptr);
        EXPECT_EQ(test::bytes_of(frame.get()), tagged);
    }
}

TEST_F(NetdevTest, PartialChecksumBehindAVlanTagIsFound) {
    auto port = open();
    const Bytes tagged = to_bytes(PacketBuilder()
                                      .ethernet(kContainerMac, kPeerMac)
                                      .vlan(7)
                                      .ipv4(kContainerIp, kPeerIp)
                                      .udp(1, 2)
                                      .payload(50)
                                      .partial_checksum()
                                      .build());
    auto socket = container_.raw_socket("eth0");
    const int on = 1;
    ASSERT_EQ(setsockopt(socket.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), 0);
    VnetHeader header;
    header.flags = VnetHeader::kNeedsChecksum;
    header.csum_start = 14 + 4 + 20;
    header.csum_offset = 6;
    const iovec pieces[] = {{&header, sizeof(header)},
                            {const_cast<uint8_t*>(tagged.data()), tagged.size()}};
    ASSERT_GT(writev(socket.get(), pieces, 2), 0);
    const FramePtr frame = receive_until(
        *port, [](const rte_mbuf* each) { return ethertype(each) == net::ethertype::kVlan; });
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(test::bytes_of(frame.get()), tagged);
    EXPECT_EQ(packet::metadata(frame.get()).l4_checksum, L4Checksum::partial);
    EXPECT_EQ(packet::metadata(frame.get()).l4_offset, 38);
}

TEST_F(NetdevTest, OwnTransmissionsAreNotReceived) {
    auto port = open();
    transmit(*port, test::make_frame(pools(), test_frame(100, 1)));
    send_raw(test_frame(100, 2));
    // The kernel queues in order: had the first come back, it would be first.
    const FramePtr frame = receive_until(*port, is_test_frame);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(test::bytes_of(frame.get())[14], 2);
}

TEST_F(NetdevTest, HostAnswersNoArpOnTheInterface) {
    // Linux answers for an address of any interface (arp_ignore 0).
    ASSERT_TRUE(shell("ip address replace 198.51.100.1/32 dev lo"));
    auto sees = container_.raw_socket("eth0", ETH_P_ALL);
    auto port = open();
    auto arp = container_.raw_socket("eth0", ETH_P_ARP);
    net::ArpHeader request;
    request.sender_mac = kContainerMac;
    request.sender_ip = kContainerIp;
    request.target_ip = net::Ipv4Address(198, 51, 100, 1);
    request.operation = net::be16_t(1);
    const Bytes asked = to_bytes(
        PacketBuilder().ethernet(kContainerMac, net::MacAddress::broadcast()).arp(request).build());
    send_raw(asked);
    ASSERT_NE(
        receive_until(*port,
                      [](const rte_mbuf* each) { return ethertype(each) == net::ethertype::kArp; }),
        nullptr)
        << "the port gets the question";
    // An answer would be on its way before this mark.
    transmit(*port, test::make_frame(pools(), test_frame(100)));
    bool marked = false;
    EXPECT_TRUE(eventually([&] {
        Bytes frame(2000);
        sockaddr_ll from{};
        socklen_t size = sizeof(from);
        while (recvfrom(sees.get(), frame.data(), frame.size(), 0,
                        reinterpret_cast<sockaddr*>(&from), &size) > 0) {
            const uint16_t type = ntohs(from.sll_protocol);
            if (from.sll_pkttype == PACKET_OUTGOING) continue;
            EXPECT_NE(type, ETH_P_ARP) << "the host answered";
            marked = marked || type == kTestEthertype;
        }
        return marked;
    }));
}

TEST_F(NetdevTest, HostSendsNothingOnTheInterface) {
    auto sees = container_.raw_socket("eth0", ETH_P_ALL);
    auto port = open();
    Bytes buffer(2000);
    while (recv(sees.get(), buffer.data(), buffer.size(), 0) > 0) {
    }
    auto host = FileDescriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_ifindex = static_cast<int>(if_nametoindex(host_.c_str()));
    const Bytes unwanted = test_frame(100, 66);
    sendto(host.get(), unwanted.data(), unwanted.size(), 0, reinterpret_cast<sockaddr*>(&address),
           sizeof(address));
    transmit(*port, test::make_frame(pools(), test_frame(100, 77)));
    Bytes seen;
    EXPECT_TRUE(eventually([&] {
        while (recv(sees.get(), buffer.data(), buffer.size(), 0) > 0) {
            if (buffer[12] == 0x88 && buffer[13] == 0xb5) seen.push_back(buffer[14]);
        }
        return !seen.empty();
    }));
    EXPECT_THAT(seen, testing::ElementsAre(77));
}

TEST_F(NetdevTest, FilterGoesWithThePortAndLeavesThoseOfOthers) {
    open();
    EXPECT_FALSE(shell("tc qdisc show dev " + host_ + " | grep -q clsact")) << "all is gone";
    ASSERT_TRUE(shell("tc qdisc add dev " + host_ + " clsact"));
    {
        auto port = open();
        EXPECT_TRUE(has_filter());
    }
    EXPECT_FALSE(has_filter());
    EXPECT_TRUE(shell("tc qdisc show dev " + host_ + " | grep -q clsact")) << "it was not ours";
}

TEST_F(NetdevTest, FilterLeftByADaemonThatDiedIsTakenOver) {
    auto died = HostStackFilter::attach(static_cast<int>(if_nametoindex(host_.c_str())));
    ASSERT_TRUE(died);
    {
        auto port = open();
        send_raw(test_frame(100));
        EXPECT_NE(receive_until(*port, is_test_frame), nullptr);
    }
    EXPECT_FALSE(has_filter());
}

TEST_F(NetdevTest, FrameLongerThanThePortsMtuArrivesWhole) {
    // Field case: the peer's MTU is raised while ours stays; nothing may overflow or be cut short.
    auto port = open();
    ASSERT_TRUE(container_.ip("link set eth0 mtu 9000"));
    ASSERT_TRUE(shell("ip link set " + host_ + " mtu 9000"));
    send_raw(test_frame(9000));
    const FramePtr frame = receive_until(*port, is_test_frame);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(test::bytes_of(frame.get()), test_frame(9000));
    EXPECT_EQ(frame->nb_segs, 2);
    EXPECT_EQ(drops(DropReason::rx_oversize), 0);
}

TEST_F(NetdevTest, FrameLongerThanTheInterfacesMtuIsDroppedAsThat) {
    auto port = open();
    transmit(*port, test::make_frame(pools(), test_frame(1600)));
    transmit(*port, test::make_frame(pools(), test_frame(1400)));
    EXPECT_EQ(drops(DropReason::tx_mtu), 1);
    EXPECT_EQ(counters_.tx_frames.read(), 1) << "the next one is not held up";
}

TEST_F(NetdevTest, MtuIsThatOfTheConfiguration) {
    auto port = open({.mtu = 4000});
    ASSERT_NE(port, nullptr);
    EXPECT_TRUE(shell("ip link show " + host_ + " | grep -q 'mtu 4000'"));
    ASSERT_TRUE(port->set_mtu(5000));
    EXPECT_EQ(port->mtu(), 5000);
    EXPECT_TRUE(shell("ip link show " + host_ + " | grep -q 'mtu 5000'"));
}

TEST_F(NetdevTest, PeerSetDownAndUpAgainRecovers) {
    auto port = open();
    ASSERT_TRUE(container_.ip("link set eth0 down"));
    EXPECT_TRUE(eventually([&] {
        port->refresh();
        return !port->up();
    }));
    EXPECT_FALSE(port->failed());
    EXPECT_THAT(port->down_reason(), HasSubstr("set down"));
    ASSERT_TRUE(container_.ip("link set eth0 up"));
    EXPECT_TRUE(eventually([&] {
        port->refresh();
        return port->up();
    }));
    wait_for_link();
    send_raw(test_frame(100));
    EXPECT_NE(receive_until(*port, is_test_frame), nullptr);
}

TEST_F(NetdevTest, InterfaceSetDownAndUpAgainRecovers) {
    auto port = open();
    ASSERT_TRUE(shell("ip link set " + host_ + " down"));
    receive(*port);
    EXPECT_FALSE(port->up()) << "receive() notices";
    EXPECT_FALSE(port->failed());
    transmit(*port, test::make_frame(pools(), test_frame(100)));
    EXPECT_EQ(drops(DropReason::port_down), 1);
    ASSERT_TRUE(shell("ip link set " + host_ + " up"));
    wait_for_link();
    send_raw(test_frame(100));
    EXPECT_NE(receive_until(*port, is_test_frame), nullptr);
    EXPECT_TRUE(port->up()) << "a frame shows it";
}

TEST_F(NetdevTest, DeletedInterfaceFailsThePort) {
    auto by_receive = open();
    ASSERT_TRUE(shell("ip link del " + host_));
    receive(*by_receive);
    EXPECT_TRUE(by_receive->failed());
    EXPECT_EQ(by_receive->down_reason(), "interface " + host_ + " was removed");
}

TEST_F(NetdevTest, InterfaceDeletedWithItsContainerFailsThePort) {
    auto port = open();
    container_.remove();
    EXPECT_TRUE(eventually([&] {
        port->refresh();
        return port->failed();
    }));
    transmit(*port, test::make_frame(pools(), test_frame(100)));
    EXPECT_EQ(drops(DropReason::port_down), 1);
}

TEST_F(NetdevTest, FramesTheSocketCouldNotHoldAreCountedAsMissed) {
    ASSERT_TRUE(shell("ip netns exec " + container_.name() +
                      " sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'"))
        << "the kernel's own announcements would be missed, too";
    auto port = open();
    auto socket = container_.raw_socket("eth0");
    const Bytes frame = test_frame(1400);
    constexpr uint64_t kFrames = 20000;  // of more than 1 KB each
    uint64_t sent = 0;
    while (sent < kFrames)
        sent += send(socket.get(), frame.data(), frame.size(), 0) > 0;
    uint64_t arrived = 0;
    for (auto frames = receive(*port); !frames.empty(); frames = receive(*port)) {
        for (const FramePtr& each : frames)
            arrived += is_test_frame(each.get());
    }
    // The kernel's backlog may lose some before the socket could.
    const uint64_t missed = port->rx_missed();
    EXPECT_GT(missed, 0);
    EXPECT_LE(arrived + missed, kFrames);
    EXPECT_EQ(port->rx_missed(), missed) << "asking does not reset it";
}

TEST_F(NetdevTest, QueuesShareTheFlowsAndEachFrameArrivesOnce) {
    auto port = open({.queues = 4});
    ASSERT_NE(port, nullptr);
    ASSERT_EQ(port->queue_count(), 4);
    constexpr unsigned kFlows = 64;
    for (uint16_t flow = 0; flow < kFlows; ++flow) {
        send_raw(to_bytes(PacketBuilder()
                              .ethernet(kContainerMac, kPeerMac)
                              .ipv4(kContainerIp, kPeerIp)
                              .udp(uint16_t(1000 + flow), 2)
                              .payload(10)
                              .build()));
    }
    std::array<unsigned, 4> arrived{};
    for (uint16_t queue = 0; queue < 4; ++queue) {
        for (const FramePtr& frame : receive(*port, queue)) {
            arrived[queue] += ethertype(frame.get()) == net::ethertype::kIpv4;
        }
    }
    EXPECT_EQ(arrived[0] + arrived[1] + arrived[2] + arrived[3], kFlows);
    for (const unsigned frames : arrived)
        EXPECT_LT(frames, kFlows) << "spread";
    for (uint16_t worker = 0; worker < 5; ++worker) {
        transmit(*port, test::make_frame(pools(), test_frame(100)), worker);
    }
    EXPECT_EQ(counters_.tx_frames.read(), 5);
    for (uint16_t queue = 0; queue < 4; ++queue) {
        for (const FramePtr& frame : receive(*port, queue)) {
            EXPECT_FALSE(is_test_frame(frame.get())) << "own transmission";
        }
    }
}

TEST_F(NetdevTest, InterfacesTheHostUsesAreRefused) {
    EXPECT_THAT(refusal("no-such-if"), HasSubstr("no such interface"));
    EXPECT_THAT(refusal("lo"), HasSubstr("lo"));
    ASSERT_TRUE(shell("ip address add 203.0.113.1/24 dev " + host_));
    EXPECT_THAT(refusal(), HasSubstr("203.0.113.1/24"));
    ASSERT_TRUE(shell("ip address del 203.0.113.1/24 dev " + host_));
    ASSERT_TRUE(shell("ip link add portbr type bridge && ip link set " + host_ + " master portbr"));
    EXPECT_THAT(refusal(), HasSubstr("belongs to portbr"));
    EXPECT_FALSE(has_filter());
    ASSERT_TRUE(shell("ip link del portbr"));
    EXPECT_NE(open(), nullptr);
}

TEST_F(NetdevTest, LinkMonitorTellsOfInterfacesThatGoAndComeBack) {
    auto monitor = LinkMonitor::open();
    ASSERT_TRUE(monitor) << monitor.error();
    monitor->drain();
    const auto told = [&](bool removed) {
        return eventually([&] {
            for (const LinkEvent& event : monitor->drain().events) {
                if (event.interface == host_ && event.removed == removed) return true;
            }
            return false;
        });
    };
    ASSERT_TRUE(shell("ip link del " + host_));
    pollfd readable{.fd = monitor->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&readable, 1, 10000), 1);
    EXPECT_TRUE(told(true));
    ASSERT_TRUE(shell("ip link add " + host_ + " type veth peer name other"));
    EXPECT_TRUE(told(false));
}

}  // namespace
}  // namespace heddle::port
