#include "port/tap.h"

#include <netinet/udp.h>

#include "linux_fixture.h"
#include "net/ethernet.h"
#include "port/netlink.h"

namespace heddle::port {
namespace {

using packet::DropReason;
using packet::Gso;
using packet::L4Checksum;
using test::Container;
using test::eventually;
using test::FramePtr;
using test::shell;
using testing::HasSubstr;

bool is_udp(const rte_mbuf* frame) {
    return frame->data_len > 34 && *rte_pktmbuf_mtod_offset(frame, const uint8_t*, 12) == 0x08 &&
           *rte_pktmbuf_mtod_offset(frame, const uint8_t*, 13) == 0x00 &&
           *rte_pktmbuf_mtod_offset(frame, const uint8_t*, 23) == IPPROTO_UDP;
}

class TapTest : public test::LinuxTest {
 protected:
    TapConfig config() const {
        return {.interface = "eth0",
                .network_namespace = container_.name(),
                .mac = net::MacAddress(2, 0, 0, 0, 0, 1),
                .addresses = {*net::IpPrefix::parse("192.0.2.1/24"),
                              *net::IpPrefix::parse("2001:db8::1/64")}};
    }
    static std::unique_ptr<Tap> open(const TapConfig& config) {
        auto tap = Tap::open(config);
        EXPECT_TRUE(tap) << tap.error();
        return tap ? std::move(*tap) : nullptr;
    }
    static std::string refusal(const TapConfig& config) {
        auto tap = Tap::open(config);
        return tap ? "it was opened" : tap.error();
    }
    std::optional<Link> link(const std::string& name = "eth0") const {
        auto netlink = Netlink::open(*NetworkNamespace::open(container_.name()));
        return *netlink->find(name);
    }

    /// A UDP socket of the container whose peer answers no ARP, but is known.
    FileDescriptor udp_socket() const {
        EXPECT_TRUE(container_.ip("neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev eth0"));
        FileDescriptor socket = container_.socket(AF_INET, SOCK_DGRAM);
        const sockaddr_in peer = test::ipv4("192.0.2.2", 7);
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)), 0);
        return socket;
    }

    Container container_;
};

TEST_F(TapTest, ContainerFindsItsInterfaceConfigured) {
    TapConfig wanted = config();
    wanted.mtu = 9000;
    wanted.gateways = {*net::IpAddress::parse("192.0.2.254"), *net::IpAddress::parse("fe80::1")};
    auto tap = open(wanted);
    ASSERT_NE(tap, nullptr);
    EXPECT_TRUE(tap->up()) << tap->down_reason();
    const auto found = link();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->mtu, 9000);
    EXPECT_TRUE(found->up());
    EXPECT_TRUE(container_.ip("link show eth0 | grep -q 02:00:00:00:00:01"));
    EXPECT_TRUE(container_.ip("address show dev eth0 | grep -q 192.0.2.1/24"));
    EXPECT_TRUE(
        container_.ip("address show dev eth0 | grep -q '2001:db8::1/64 scope global nodad'"));
    EXPECT_TRUE(container_.ip("route show default | grep -q 'via 192.0.2.254 dev eth0'"));
    EXPECT_TRUE(container_.ip("-6 route show default | grep -q 'via fe80::1 dev eth0'"));
}

TEST_F(TapTest, OneNameCanBeUsedInManyNamespaces) {
    Container other;
    TapConfig second = config();
    second.network_namespace = other.name();
    TapConfig third = config();
    third.network_namespace.clear();
    third.addresses.clear();
    auto a = open(config());
    auto b = open(second);
    auto c = open(third);
    EXPECT_TRUE(a && b && c);
    EXPECT_FALSE(shell("ip link show | grep -q heddle")) << "temporary names are gone";
}

TEST_F(TapTest, DatagramArrivesWithItsChecksumLeftToUs) {
    auto tap = open(config());
    auto socket = udp_socket();
    ASSERT_EQ(send(socket.get(), "hello", 5, 0), 5);
    const FramePtr frame = receive_until(*tap, is_udp);
    ASSERT_NE(frame, nullptr);
    const packet::Metadata& known = packet::metadata(frame.get());
    EXPECT_EQ(known.l4_checksum, L4Checksum::partial);
    EXPECT_EQ(known.l4_offset, 34);
    EXPECT_EQ(frame->pkt_len, 47);
    EXPECT_EQ(std::memcmp(rte_pktmbuf_mtod_offset(frame.get(), char*, 42), "hello", 5), 0);
    EXPECT_GE(counters_.rx_frames.read(), 1);
}

TEST_F(TapTest, SuperframeOfUdpArrivesWhole) {
    auto tap = open(config());
    if (!tap->capabilities().uso4) GTEST_SKIP() << "before Linux 6.2";
    auto socket = udp_socket();
    const int segment = 1000;
    ASSERT_EQ(setsockopt(socket.get(), SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
    const std::string payload(30500, 'x');
    ASSERT_EQ(send(socket.get(), payload.data(), payload.size(), 0), 30500);
    const FramePtr frame = receive_until(*tap, is_udp);
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(packet::metadata(frame.get()).gso, Gso::udp4);
    EXPECT_EQ(packet::metadata(frame.get()).gso_size, 1000);
    EXPECT_EQ(frame->pkt_len, 42 + 30500);
    EXPECT_EQ(frame->nb_segs, 2);
}

TEST_F(TapTest, BurstIsBoundedByTheCallersSpanAndKeepsItsOrder) {
    auto tap = open(config());
    auto socket = udp_socket();
    for (uint32_t i = 0; i < 100; ++i)
        ASSERT_EQ(send(socket.get(), &i, sizeof(i), 0), 4);
    uint32_t next = 0;
    while (next < 100) {
        auto frames = receive(*tap, 0, 7);
        ASSERT_LE(frames.size(), 7);
        ASSERT_FALSE(frames.empty());
        for (const FramePtr& frame : frames) {
            if (!is_udp(frame.get())) continue;
            uint32_t number;
            std::memcpy(&number, rte_pktmbuf_mtod_offset(frame.get(), char*, 42), sizeof(number));
            EXPECT_EQ(number, next++);
        }
    }
}

TEST_F(TapTest, WakeupFdIsReadableWhileFramesWait) {
    auto tap = open(config());
    auto socket = udp_socket();
    while (!receive(*tap).empty()) {
    }
    ASSERT_EQ(send(socket.get(), "x", 1, 0), 1);
    pollfd wakeup{.fd = tap->wakeup_fd(0), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&wakeup, 1, 10000), 1);
    EXPECT_NE(receive_until(*tap, is_udp), nullptr);
}

TEST_F(TapTest, DeletedNamespaceFailsThePortAndIsNamed) {
    auto tap = open(config());
    container_.remove();
    EXPECT_TRUE(eventually([&] { return receive(*tap).empty() && tap->failed(); }))
        << "receive() notices";
    EXPECT_FALSE(tap->up());
    EXPECT_THAT(tap->down_reason(),
                HasSubstr("removed together with namespace " + container_.name()));
    transmit(*tap, test::make_frame(pools(), test::Bytes(60)));
    EXPECT_EQ(drops(DropReason::port_down), 1);
}

TEST_F(TapTest, InterfaceDeletedInTheContainerFailsThePort) {
    auto tap = open(config());
    ASSERT_TRUE(container_.ip("link del eth0"));
    tap->refresh();
    EXPECT_TRUE(tap->failed()) << "refresh() notices";
    EXPECT_EQ(tap->down_reason(),
              "interface eth0 in namespace " + container_.name() + " was removed");
}

TEST_F(TapTest, InterfaceSetDownAndUpAgainRecovers) {
    auto tap = open(config());
    ASSERT_TRUE(container_.ip("link set eth0 down"));
    transmit(*tap, test::make_frame(pools(), test::Bytes(60)));
    EXPECT_EQ(drops(DropReason::port_down), 1) << "transmit() notices";
    EXPECT_FALSE(tap->up());
    EXPECT_FALSE(tap->failed());
    EXPECT_THAT(tap->down_reason(), HasSubstr("is set down"));

    ASSERT_TRUE(container_.ip("link set eth0 up"));
    tap->refresh();
    EXPECT_TRUE(tap->up());
    EXPECT_EQ(tap->down_reason(), "");
    transmit(*tap, test::make_frame(pools(), test::Bytes(60)));
    EXPECT_EQ(counters_.tx_frames.read(), 1);
}

TEST_F(TapTest, MtuIsSetEvenAfterTheContainerRenamedItsInterface) {
    auto tap = open(config());
    ASSERT_TRUE(container_.ip("link set eth0 down"));
    ASSERT_TRUE(container_.ip("link set eth0 name net1"));
    ASSERT_TRUE(tap->set_mtu(4000));
    EXPECT_EQ(link("net1")->mtu, 4000);
}

TEST_F(TapTest, FramesTheRingCouldNotHoldAreCountedAsMissed) {
    auto tap = open(config());
    auto socket = udp_socket();
    for (int i = 0; i < 10000; ++i)
        send(socket.get(), "x", 1, 0);
    constexpr uint64_t kChatter = 50;  // frames the container sends of its own accord
    uint64_t arrived = 0;
    for (auto frames = receive(*tap); !frames.empty(); frames = receive(*tap)) {
        for (const FramePtr& frame : frames)
            arrived += is_udp(frame.get());
    }
    const uint64_t missed = tap->rx_missed();
    EXPECT_GE(missed, 10000 - 4096 - kChatter);
    EXPECT_GE(arrived + missed, 10000);
    EXPECT_LE(arrived + missed, 10000 + kChatter);
}

TEST_F(TapTest, SharedBytesAreSentWithoutWritingInFrontOfThem) {
    auto tap = open(config());
    FramePtr original = test::make_frame(pools(), test::Bytes(60, 1));
    auto* front = rte_pktmbuf_mtod(original.get(), uint8_t*) - 16;
    std::memset(front, 0x5a, 16);
    FramePtr clone(rte_pktmbuf_clone(original.get(), pools().small()));
    packet::metadata(clone.get()).clear();
    transmit(*tap, std::move(clone));
    EXPECT_EQ(counters_.tx_frames.read(), 1);
    for (int i = 0; i < 16; ++i)
        EXPECT_EQ(front[i], 0x5a);
}

TEST_F(TapTest, FrameOfMoreSegmentsThanASystemCallTakesIsRefusedAlone) {
    auto tap = open(config());
    transmit(*tap, test::make_frame(pools(), test::Bytes(600, 1), std::vector<size_t>(400, 1)));
    transmit(*tap, test::make_frame(pools(), test::Bytes(600, 1), std::vector<size_t>(200, 1)));
    EXPECT_EQ(drops(DropReason::tx_error), 1);
    EXPECT_EQ(counters_.tx_frames.read(), 1);
}

TEST_F(TapTest, PersistentDeviceStaysWithItsAddressesUntilDiscarded) {
    TapConfig wanted = config();
    wanted.persistent = true;
    ASSERT_NE(open(wanted), nullptr);
    ASSERT_TRUE(link()) << "outlives its port";
    ASSERT_TRUE(container_.ip("address add 192.0.2.77/32 dev eth0"));
    {
        auto tap = open(wanted);
        ASSERT_NE(tap, nullptr);
        EXPECT_TRUE(tap->up());
        EXPECT_TRUE(container_.ip("address show dev eth0 | grep -q 192.0.2.77"));
        auto socket = udp_socket();
        ASSERT_EQ(send(socket.get(), "x", 1, 0), 1);
        EXPECT_NE(receive_until(*tap, is_udp), nullptr);
        EXPECT_THAT(refusal(wanted), HasSubstr("in use")) << "no second reader";
        tap->discard();
    }
    EXPECT_FALSE(link());
}

TEST_F(TapTest, DeletingTheNamespaceOfADeviceTakenOverIsNoticed) {
    TapConfig wanted = config();
    wanted.persistent = true;
    ASSERT_NE(open(wanted), nullptr);
    auto tap = open(wanted);
    ASSERT_NE(tap, nullptr);
    container_.remove();
    tap->refresh();
    EXPECT_TRUE(tap->failed());
    EXPECT_THAT(tap->down_reason(), HasSubstr("removed together with namespace"));
    tap->discard();
}

TEST_F(TapTest, SeveralQueuesCarryFrames) {
    TapConfig wanted = config();
    wanted.queues = 4;
    auto tap = open(wanted);
    ASSERT_NE(tap, nullptr);
    EXPECT_EQ(tap->queue_count(), 4);
    unsigned found = 0;
    for (int flow = 0; flow < 16; ++flow) {
        auto socket = udp_socket();
        ASSERT_EQ(send(socket.get(), "x", 1, 0), 1);
        found += receive_until(*tap, is_udp) != nullptr;
        transmit(*tap, test::make_frame(pools(), test::Bytes(60)), static_cast<uint16_t>(flow));
    }
    EXPECT_EQ(found, 16);
    EXPECT_EQ(counters_.tx_frames.read(), 16);
}

TEST_F(TapTest, WhatCannotWorkIsRefusedInASentence) {
    TapConfig wanted = config();
    wanted.network_namespace = "no-such-namespace";
    EXPECT_THAT(refusal(wanted), HasSubstr("no-such-namespace"));
    wanted.network_namespace = "/etc/hostname";
    EXPECT_THAT(refusal(wanted), HasSubstr("is not a network namespace"));
    wanted = config();
    wanted.interface = "a-name-that-is-too-long";
    EXPECT_THAT(refusal(wanted), HasSubstr("1 to 15 characters"));
    wanted.interface = "lo";
    EXPECT_THAT(refusal(wanted), HasSubstr("taken by another interface"));
    wanted.persistent = true;
    EXPECT_THAT(refusal(wanted), HasSubstr("taken by an interface in use"));
    wanted.persistent = false;
    wanted = config();
    wanted.mac = net::MacAddress(1, 0, 0, 0, 0, 1);
    EXPECT_THAT(refusal(wanted), HasSubstr("MAC address 01:00:00:00:00:01"));
    EXPECT_FALSE(link()) << "nothing is left behind";
}

TEST_F(TapTest, DefaultRouteOfTheHostIsNotReplaced) {
    ASSERT_TRUE(container_.ip("link add up0 type veth peer name up1"));
    ASSERT_TRUE(container_.ip("link set up0 up"));
    ASSERT_TRUE(container_.ip("address add 198.51.100.2/24 dev up0"));
    ASSERT_TRUE(container_.ip("route add default via 198.51.100.1"));
    TapConfig wanted = config();
    wanted.gateways = {*net::IpAddress::parse("192.0.2.254")};
    EXPECT_THAT(refusal(wanted), HasSubstr("another default route"));
    EXPECT_TRUE(container_.ip("route show default | grep -q 198.51.100.1"));
}

}  // namespace
}  // namespace heddle::port
