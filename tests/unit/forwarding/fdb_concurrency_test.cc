#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "forwarding/bridge.h"
#include "forwarding/fdb.h"
#include "readers.h"

/// What the concurrency contract in fdb.h promises, under as much contention as two cores give: few
/// keys and fewer slots, so that each slot changes its owner all the time.
namespace heddle::forwarding {
namespace {

constexpr unsigned kKeys = 12;

/// A bridge port tells which key it was learned for.
constexpr BridgePortId port_of(unsigned key, unsigned variant) {
    return (key + 1) << 8 | variant;
}

Fdb::Key make_key(unsigned index) {
    return {BridgeId{1}, uint64_t{index + 1} << 9};
}

// Symptom: a frame leaves by the port of another machine, once in a million, after an address aged.
TEST(FdbUnderConcurrency, ReaderNeverGetsAPortThatWasNotStoredForItsKey) {
    Fdb fdb(2);
    std::atomic<uint64_t> wrong{0};
    std::atomic<uint64_t> found{0};
    Readers readers;
    for (unsigned id = 0; id < 2; ++id) {
        readers.start(id, [&, random = std::minstd_rand(id + 1)]() mutable {
            const unsigned index = random() % kKeys;
            const Fdb::Key key = make_key(index);
            fdb.learn(key, fdb.hash(key), port_of(index, random() % 3), random() % 4,
                      [] { return true; });
        });
    }
    for (unsigned id = 2; id < 4; ++id) {
        readers.start(id, [&, random = std::minstd_rand(id + 1)]() mutable {
            const unsigned index = random() % kKeys;
            const Fdb::Key key = make_key(index);
            const FdbValue value = fdb.find(key, fdb.hash(key));
            if (value.bridge_port == kNoBridgePort) return;
            found.fetch_add(1, std::memory_order_relaxed);
            if (value.bridge_port >> 8 != index + 1) wrong.fetch_add(1, std::memory_order_relaxed);
        });
    }
    std::minstd_rand random(99);
    for (int cycle = 0; cycle < 500 || found < 1000; ++cycle) {
        fdb.retire_if([&](const Fdb::Entry&) { return random() % 2 == 0; });
        readers.synchronize();
        fdb.release();
    }
    readers.stop();
    EXPECT_EQ(wrong, 0u);
}

// Symptom: after weeks a network learns nothing any more, though its FDB is nearly empty.
TEST(FdbUnderConcurrency, PlacesTakenWithinALimitAreAllGivenBack) {
    constexpr uint32_t kLimit = 5;
    Fdb fdb(2);
    BridgeCounters counters{};
    std::atomic<uint32_t> most{0};
    Readers readers;
    for (unsigned id = 0; id < 3; ++id) {
        readers.start(id, [&, random = std::minstd_rand(id + 1)]() mutable {
            const unsigned index = random() % kKeys;
            const Fdb::Key key = make_key(index);
            bool reserved = false;
            const Fdb::Learned result = fdb.learn(key, fdb.hash(key), port_of(index, 0), 0, [&] {
                return reserved = counters.reserve(kLimit);
            });
            if (reserved && result != Fdb::Learned::added) counters.cancel();
            const uint32_t now = counters.learned.load();
            if (now > most.load()) most = now;
        });
    }
    std::minstd_rand random(99);
    for (int cycle = 0; cycle < 500 || counters.limit_hits == 0; ++cycle) {
        fdb.retire_if([&](const Fdb::Entry&) { return random() % 2 == 0; }, 0, SIZE_MAX,
                      [&](const Fdb::Entry&) { counters.learned.fetch_sub(1); });
        readers.synchronize();
        fdb.release();
    }
    readers.stop();
    EXPECT_LE(most, kLimit);
    fdb.retire_if([](const Fdb::Entry&) { return true; }, 0, SIZE_MAX,
                  [&](const Fdb::Entry&) { counters.learned.fetch_sub(1); });
    EXPECT_EQ(counters.learned, 0u);
}

// Symptom: a static entry made while its address sends traffic has no effect, or is learned away.
TEST(FdbUnderConcurrency, StaticEntryMadeWhileItsKeyIsLearnedWinsAndStays) {
    Fdb fdb(2);
    BridgeCounters counters{};
    Readers readers;
    std::atomic<unsigned> index{0};
    for (unsigned id = 0; id < 3; ++id) {
        readers.start(id, [&, random = std::minstd_rand(id + 1)]() mutable {
            const Fdb::Key key = make_key(index.load(std::memory_order_relaxed));
            bool reserved = false;
            const auto result = fdb.learn(key, fdb.hash(key), 1 + random() % 3, 0,
                                          [&] { return reserved = counters.reserve(UINT32_MAX); });
            if (reserved && result != Fdb::Learned::added) counters.cancel();
        });
    }
    constexpr BridgePortId kStaticPort = 77;
    for (unsigned cycle = 0; cycle < 500; ++cycle) {
        index = cycle % kKeys;
        const Fdb::Key key = make_key(index);
        const auto replaced = fdb.set_static(key, kStaticPort);
        ASSERT_TRUE(replaced.has_value());
        counters.learned.fetch_sub(*replaced);
        readers.synchronize();
        ASSERT_EQ(fdb.find(key, fdb.hash(key)).bridge_port, kStaticPort) << "cycle " << cycle;
        readers.synchronize();
        fdb.for_each([&](const Fdb::Entry& entry) {
            if (entry.key.bits() != key.bits()) return;
            EXPECT_TRUE(entry.value.is_static) << "a second slot says otherwise";
            EXPECT_EQ(entry.value.bridge_port, kStaticPort);
        });
        fdb.retire_if([](const Fdb::Entry&) { return true; }, 0, SIZE_MAX,
                      [&](const Fdb::Entry& entry) {
                          if (!entry.value.is_static) counters.learned.fetch_sub(1);
                      });
        readers.synchronize();
        fdb.release();
    }
    readers.stop();
    fdb.retire_if([](const Fdb::Entry&) { return true; }, 0, SIZE_MAX,
                  [&](const Fdb::Entry& entry) {
                      if (!entry.value.is_static) counters.learned.fetch_sub(1);
                  });
    EXPECT_EQ(counters.learned, 0u) << "learned entries that became static still count as learned";
}

// Symptom: after two workers learned one address at once, frames go to its old place for minutes.
TEST(FdbUnderConcurrency, AddressLearnedByTwoWorkersAtOnceMovesAsOne) {
    Fdb fdb(2);
    for (unsigned round = 0; round < 3000; ++round) {
        const Fdb::Key key = make_key(round % kKeys);
        std::atomic<unsigned> ready{0};
        const auto learn = [&](BridgePortId port) {
            ++ready;
            while (ready.load() < 2) {
            }
            fdb.learn(key, fdb.hash(key), port, 0, [] { return true; });
        };
        std::thread other([&] { learn(1); });
        learn(2);
        other.join();
        const BridgePortId now_at = fdb.find(key, fdb.hash(key)).bridge_port;
        fdb.for_each([&](const Fdb::Entry& entry) {
            ASSERT_EQ(entry.value.bridge_port, now_at) << "the two slots of a key differ";
        });
        fdb.learn(key, fdb.hash(key), 3, 0, [] { return true; });
        fdb.for_each([&](const Fdb::Entry& entry) { ASSERT_EQ(entry.value.bridge_port, 3u); });
        fdb.retire_if([](const Fdb::Entry&) { return true; });
        fdb.release();  // no reader is left
    }
}

}  // namespace
}  // namespace heddle::forwarding
