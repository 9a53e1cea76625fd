#include "forwarding/neighbor_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "worker/read_side.h"

namespace heddle::forwarding {
namespace {

using net::Ipv4Address;
using net::Ipv6Address;
using net::MacAddress;

Ipv4Address ipv4(uint32_t number) {
    return Ipv4Address(net::be32_t(0x0a000000 + number));
}
Ipv6Address ipv6(uint32_t number) {
    std::array<uint8_t, 16> bytes{0xfd};
    for (unsigned i = 0; i < 4; ++i)
        bytes[15 - i] = static_cast<uint8_t>(number >> 8 * i);
    return Ipv6Address(bytes);
}

TEST(NeighborTable, WhatWasAddedIsFoundUntilItIsErased) {
    NeighborTable table;
    const NeighborKey key(1, ipv4(1));
    EXPECT_EQ(table.find(key), kNoAdjacency);
    const AdjacencyId id = table.add(key);
    ASSERT_NE(id, kNoAdjacency);
    EXPECT_EQ(table.find(key), id);
    EXPECT_EQ(table.size(), 1u);
    EXPECT_EQ(table.at(id).key, key);
    EXPECT_EQ(table.at(id).link, 0u);
    table.erase(id);
    EXPECT_EQ(table.find(key), kNoAdjacency);
    EXPECT_EQ(table.size(), 0u);
}

TEST(NeighborTable, IdIsNotTakenAgainBeforeItIsReleased) {
    NeighborTable table;
    const NeighborKey key(1, ipv4(1));
    const AdjacencyId id = table.add(key);
    table.at(id).link = Adjacency::link_to(MacAddress(2, 0, 0, 0, 0, 1));
    table.at(id).used = 7;
    table.at(id).bridge_port = 9;
    table.erase(id);
    EXPECT_EQ(table.at(id).key, key) << "a worker may still look at it";
    EXPECT_NE(table.add(key), id);
    table.release(id);
    EXPECT_EQ(table.add(NeighborKey(2, ipv4(2))), id);
    EXPECT_EQ(table.at(id).link, 0u) << "nothing of its former owner";
    EXPECT_EQ(table.at(id).used, 0u);
    EXPECT_EQ(table.at(id).bridge_port, kNoBridgePort);
}

TEST(NeighborTable, BridgesAndFamiliesAreApart) {
    NeighborTable table;
    std::array<uint8_t, 16> same{10, 0, 0, 1};  // the bytes of 10.0.0.1, and zeroes
    const std::vector<NeighborKey> keys = {
        NeighborKey(1, ipv4(1)),           NeighborKey(2, ipv4(1)),
        NeighborKey(1, Ipv6Address(same)), NeighborKey(2, Ipv6Address(same)),
        NeighborKey(1, ipv6(1)),           NeighborKey(1, ipv4(2))};
    std::vector<AdjacencyId> ids;
    for (const NeighborKey& key : keys)
        ids.push_back(table.add(key));
    for (size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(table.find(keys[i]), ids[i]);
        EXPECT_EQ(std::count(ids.begin(), ids.end(), ids[i]), 1);
    }
    EXPECT_EQ(keys[0].address().to_string(), "10.0.0.1");
    EXPECT_EQ(keys[4].address().to_string(), "fd00::1");
    table.erase(ids[0]);
    EXPECT_EQ(table.find(keys[0]), kNoAdjacency);
    for (size_t i = 1; i < keys.size(); ++i)
        EXPECT_EQ(table.find(keys[i]), ids[i]);
}

TEST(NeighborTable, MacAddressAndFlagsShareAWord) {
    const MacAddress mac(2, 0x11, 0x22, 0x33, 0x44, 0xff);
    const uint64_t link = Adjacency::link_to(mac);
    EXPECT_EQ(Adjacency::mac_of(link), mac);
    EXPECT_EQ(Adjacency::mac_of(link | Adjacency::kPermanent), mac);
    EXPECT_NE(Adjacency::link_to(MacAddress()), 0u) << "0 means that it is not known";
}

TEST(NeighborTable, FillsUntilNoIdIsLeftThenRefusesAndGoesOn) {
    const auto table = std::make_unique<NeighborTable>();
    std::map<uint32_t, AdjacencyId> added;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < kMaxAdjacencies + 5000; ++i) {
        const AdjacencyId id = table->add(NeighborKey(1, ipv4(i)));
        if (id == kNoAdjacency) {
            ++refused;
            ASSERT_EQ(table->find(NeighborKey(1, ipv4(i))), kNoAdjacency);
        } else {
            added[i] = id;
        }
    }
    EXPECT_EQ(table->size(), added.size());
    EXPECT_EQ(refused, kMaxAdjacencies + 5000 - added.size());
    // Half full with two choices of eight, hardly anything is refused for want of a slot.
    EXPECT_GT(added.size(), kMaxAdjacencies * 99 / 100);
    EXPECT_LT(added.size(), kMaxAdjacencies) << "id 0 is nobody's";
    for (const auto& [number, id] : added)
        ASSERT_EQ(table->find(NeighborKey(1, ipv4(number))), id);
    const auto [number, id] = *added.begin();
    table->erase(id);
    EXPECT_EQ(table->add(NeighborKey(2, ipv4(1))), kNoAdjacency) << "erased, but not released";
    table->release(id);
    EXPECT_EQ(table->add(NeighborKey(1, ipv4(number))), id);
}

/// Keys whose two buckets are both among a few.
TEST(NeighborTable, FullBucketsRefuseAndAreUsedAgainAfterAnErase) {
    const auto table = std::make_unique<NeighborTable>();
    // A key that goes into exactly one bucket: as many of them as fit, found by trying.
    constexpr uint64_t kBuckets = kMaxAdjacencies / 4;
    const auto buckets = [](const NeighborKey& key) {
        return std::pair(key.hash() % kBuckets, (key.hash() >> 16) % kBuckets);
    };
    std::vector<NeighborKey> keys;
    for (uint32_t i = 0; keys.size() < 20 && i < 20'000'000; ++i) {
        const NeighborKey key(1, ipv4(i));
        const auto [first, second] = buckets(key);
        if (first < 64 && second < 64) keys.push_back(key);
    }
    ASSERT_EQ(keys.size(), 20u);
    for (const NeighborKey& key : keys) {
        const AdjacencyId id = table->add(key);
        ASSERT_NE(id, kNoAdjacency);
        ASSERT_EQ(table->find(key), id);
    }
    // The same key again and again, which the table does not look for, fills both of its buckets.
    const NeighborKey key = keys[0];
    std::vector<AdjacencyId> ids{table->find(key)};
    while (ids.size() < 20) {
        const AdjacencyId id = table->add(key);
        if (id == kNoAdjacency) break;
        ids.push_back(id);
    }
    EXPECT_LE(ids.size(), 16u) << "two buckets of eight";
    EXPECT_GE(ids.size(), 8u);
    EXPECT_EQ(table->size(), keys.size() + ids.size() - 1);
    for (const NeighborKey& other : keys)
        EXPECT_NE(table->find(other), kNoAdjacency);
    table->erase(ids[3]);
    EXPECT_NE(table->add(key), kNoAdjacency) << "although its id is still taken";
}

TEST(NeighborTable, AgreesWithAMap) {
    std::mt19937 random(5);
    const auto table = std::make_unique<NeighborTable>();
    std::map<NeighborKey, AdjacencyId> model;
    std::vector<AdjacencyId> retired;
    for (int round = 0; round < 200'000; ++round) {
        const auto bridge = static_cast<BridgeId>(1 + random() % 3);
        const uint32_t number = random() % 700;
        const NeighborKey key = random() % 2 == 0 ? NeighborKey(bridge, ipv4(number))
                                                  : NeighborKey(bridge, ipv6(number));
        const auto found = model.find(key);
        ASSERT_EQ(table->find(key), found == model.end() ? kNoAdjacency : found->second);
        if (found == model.end()) {
            const AdjacencyId id = table->add(key);
            ASSERT_NE(id, kNoAdjacency);
            for (const AdjacencyId each : retired)
                ASSERT_NE(id, each);
            model.emplace(key, id);
        } else if (random() % 2 == 0) {
            table->erase(found->second);
            retired.push_back(found->second);
            model.erase(found);
        }
        if (retired.size() > 20) {
            for (const AdjacencyId id : retired)
                table->release(id);
            retired.clear();
        }
        ASSERT_EQ(table->size(), model.size());
    }
    std::map<AdjacencyId, NeighborKey> by_id;
    for (const auto& [key, id] : model)
        ASSERT_TRUE(by_id.emplace(id, key).second) << "an id is one key's";
}

// Symptom: packets go to another machine for an instant after a neighbour aged.
TEST(NeighborTableUnderConcurrency, ReaderNeverGetsTheMacAddressOfAnotherNeighbor) {
    const auto table = std::make_unique<NeighborTable>();
    constexpr uint32_t kKeys = 24;
    const auto mac_of = [](uint32_t number) {
        return MacAddress(2, 0, 0, 0, 1, static_cast<uint8_t>(number));
    };
    worker::ReadSide read_side;
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> found{0};
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> readers;
    for (unsigned id = 0; id < 3; ++id) {
        readers.emplace_back([&, id] {
            std::minstd_rand random(id + 1);
            read_side.enter(id);
            while (!stop.load(std::memory_order_relaxed)) {
                for (int i = 0; i < 32; ++i) {
                    const uint32_t number = random() % kKeys;
                    const AdjacencyId adjacency = table->find(NeighborKey(1, ipv4(number)));
                    if (adjacency == kNoAdjacency) continue;
                    const uint64_t link = table->at(adjacency).link.load(std::memory_order_acquire);
                    if (link == 0) continue;
                    found.fetch_add(1, std::memory_order_relaxed);
                    if (Adjacency::mac_of(link) != mac_of(number)) wrong.fetch_add(1);
                }
                read_side.quiescent(id);
            }
            read_side.leave(id);
        });
    }
    // The writer's own thread, as the resolver's worker: changes, then a grace period, then reuse.
    std::minstd_rand random(9);
    std::map<uint32_t, AdjacencyId> present;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    for (int rounds = 0; std::chrono::steady_clock::now() < end || rounds < 100; ++rounds) {
        std::vector<AdjacencyId> retired;
        for (int i = 0; i < 16; ++i) {
            const uint32_t number = random() % kKeys;
            if (const auto it = present.find(number); it != present.end()) {
                table->erase(it->second);
                retired.push_back(it->second);
                present.erase(it);
            } else {
                const AdjacencyId id = table->add(NeighborKey(1, ipv4(number)));
                table->at(id).link.store(Adjacency::link_to(mac_of(number)),
                                         std::memory_order_release);
                present[number] = id;
            }
        }
        read_side.synchronize();
        for (const AdjacencyId id : retired)
            table->release(id);
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(found, 0u);
    for (const auto& [number, id] : present)
        EXPECT_EQ(table->find(NeighborKey(1, ipv4(number))), id);
}

}  // namespace
}  // namespace heddle::forwarding
