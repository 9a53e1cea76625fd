#include "forwarding/tables.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

namespace heddle::forwarding {
namespace {

TEST(BridgePort, PackedWordGivesBackEveryField) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 100'000; ++i) {
        const BridgePort before{static_cast<PortId>(random()), static_cast<BridgeId>(random()),
                                static_cast<uint16_t>(random() % 4096), random() % 2 == 0,
                                static_cast<InterfaceId>(random())};
        const BridgePort after = BridgePort::unpack(before.pack());
        ASSERT_EQ(after.port, before.port);
        ASSERT_EQ(after.bridge, before.bridge);
        ASSERT_EQ(after.vlan, before.vlan);
        ASSERT_EQ(after.isolated, before.isolated);
        ASSERT_EQ(after.interface, before.interface);
    }
}

TEST(BridgePort, WordOfZeroesIsNoPortInNoBridge) {
    const BridgePort none = BridgePort::unpack(0);
    EXPECT_EQ(none.port, kNoPort);
    EXPECT_EQ(none.bridge, kNoBridge);
    EXPECT_EQ(BridgePort{}.pack(), 0u);
}

size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    size_t total = 0;
    size_t resident = 0;
    file >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Tables, EmptyTablesForThousandsOfPortsCostNoMemory) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "a sanitizer's own memory for what is read would be measured, too";
#endif
    const size_t before = resident_bytes();
    ASSERT_GT(before, 0u);
    Tables tables;
    uint64_t sum = 0;
    for (size_t id = 0; id < kMaxBridgePorts; ++id)
        sum += tables.bridge_port(static_cast<BridgePortId>(id)).pack();
    tables.fdb.for_each([&](const Fdb::Entry&) { ++sum; });
    EXPECT_EQ(sum, 0u);
    EXPECT_LT(resident_bytes() - before, 1u << 20) << "reading must not make pages";
}

TEST(Tables, NothingIsPublishedAtFirst) {
    Tables tables;
    EXPECT_EQ(tables.port(1), nullptr);
    EXPECT_EQ(tables.port(kMaxPorts - 1), nullptr);
    EXPECT_EQ(tables.bridge(1), nullptr);
    EXPECT_EQ(tables.bridge(kMaxBridges - 1), nullptr);
    EXPECT_TRUE(tables.storm_limit(1).admit(0, 1000));
}

TEST(Tables, CountersOfWorkersAndPortsAreApart) {
    Tables tables;
    tables.counters(1, 0).rx_frames.add(1);
    tables.counters(1, kMaxWorkers - 1).rx_frames.add(2);
    tables.counters(2, 0).drop(packet::DropReason::tx_mtu, 3);
    EXPECT_EQ(tables.counters(1, 0).rx_frames.read(), 1u);
    EXPECT_EQ(tables.counters(1, 1).rx_frames.read(), 0u);
    EXPECT_EQ(tables.counters(1, kMaxWorkers - 1).rx_frames.read(), 2u);
    EXPECT_EQ(tables.counters(2, 0).rx_frames.read(), 0u);
    EXPECT_EQ(tables.counters(2, 0).drops[size_t(packet::DropReason::tx_mtu)].read(), 3u);
    tables.reset_port_counters(1);
    EXPECT_EQ(tables.counters(1, kMaxWorkers - 1).rx_frames.read(), 0u);
    EXPECT_EQ(tables.counters(2, 0).drops[size_t(packet::DropReason::tx_mtu)].read(), 3u);
}

TEST(BridgeCounters, ReserveStopsAtTheLimitAndCountsRefusals) {
    BridgeCounters counters{};
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(counters.reserve(3));
    for (int i = 0; i < 5; ++i)
        EXPECT_FALSE(counters.reserve(3));
    EXPECT_EQ(counters.learned, 3u);
    EXPECT_EQ(counters.limit_hits, 5u);
    EXPECT_FALSE(counters.reserve(0));
    EXPECT_TRUE(counters.reserve(4));
}

}  // namespace
}  // namespace heddle::forwarding
