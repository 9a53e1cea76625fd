#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "forwarding/lpm.h"
#include "readers.h"

/// What the concurrency contract in lpm.h promises, while one thread changes the table without a
/// pause.
namespace heddle::forwarding {
namespace {

using net::Ipv4Address;
using net::Ipv6Address;

/// A table, an address of it for each index, and routes that cover exactly one of these addresses,
/// apart from the shortest, which may cover several.
template <typename Address>
class Scene {
 public:
    using Prefix = net::Prefix<Address>;
    static constexpr unsigned kAddresses = 6;

    /// The last bits are those of nobody else.
    static Address address(unsigned index) {
        std::array<uint8_t, Address::kBits / 8> bytes{};
        bytes[0] = static_cast<uint8_t>(0x20 + 0x20 * index);
        bytes[1] = 60;
        bytes[2] = 7;
        bytes.back() = 1;
        return make(bytes);
    }
    /// The routes to an address, in different places of the table: beside a slot of the root, at
    /// the top, in the middle and at the end.
    static constexpr std::array<unsigned, 6> kLengths = {3, 8, 12, 20, 25, Address::kBits};
    static Prefix route(unsigned index, unsigned length) {
        return Prefix(address(index), length).network();
    }
    /// Says for whom it was stored, and which one of its kind.
    static NextHopId next_hop(unsigned index, unsigned variant) {
        return variant << 4 | (index + 1);
    }
    static bool is_for(NextHopId next_hop, unsigned index) { return (next_hop & 15) == index + 1; }
    static unsigned variant(NextHopId next_hop) { return next_hop >> 4; }

    /// A route to somewhere near the address but not to it.
    static Prefix beside(unsigned index, std::minstd_rand& random) {
        std::array<uint8_t, Address::kBits / 8> bytes{};
        bytes[0] = static_cast<uint8_t>(0x20 + 0x20 * index);
        bytes[1] = random() % 2 == 0 ? 60 : static_cast<uint8_t>(random());
        bytes[2] = static_cast<uint8_t>(8 + random() % 248);
        return Prefix(make(bytes), 24);
    }

    LpmArena arena;
    Lpm<Address> table{arena};

 private:
    static Address make(const std::array<uint8_t, 4>& b) { return {b[0], b[1], b[2], b[3]}; }
    static Address make(const std::array<uint8_t, 16>& bytes) { return Address(bytes); }
};

/// Looks all addresses up, as a burst and by themselves.
template <typename Address, typename Check>
void look_up_all(const Lpm<Address>& table, Check check) {
    using S = Scene<Address>;
    std::array<Address, Lpm<Address>::kBurst> burst;
    for (unsigned i = 0; i < burst.size(); ++i)
        burst[i] = S::address(i % S::kAddresses);
    std::array<NextHopId, burst.size()> found;
    table.lookup(burst, found);
    for (unsigned i = 0; i < burst.size(); ++i)
        check(i % S::kAddresses, found[i]);
    for (unsigned i = 0; i < S::kAddresses; ++i)
        check(i, table.lookup(burst[i]));
}

template <typename Address>
class LpmUnderConcurrency : public testing::Test {};
using Families = testing::Types<Ipv4Address, Ipv6Address>;
TYPED_TEST_SUITE(LpmUnderConcurrency, Families);

// Symptom: packets are lost, or leave by another's route, while a route is exchanged for a longer
// or shorter one that is added before the other one goes.
TYPED_TEST(LpmUnderConcurrency, AddressThatAlwaysHasARouteAlwaysFindsOneOfItsOwn) {
    using S = Scene<TypeParam>;
    S scene;
    std::array<unsigned, S::kAddresses> present{};  // bit i: the route with kLengths[i]
    for (unsigned index = 0; index < S::kAddresses; ++index) {
        scene.table.set(S::route(index, S::kLengths[0]), S::next_hop(index, 0));
        present[index] = 1;
    }
    std::atomic<uint64_t> wrong{0};
    std::atomic<uint64_t> rounds{0};
    {
        Readers readers;
        for (unsigned id = 0; id < 2; ++id) {
            readers.start(id, [&] {
                look_up_all(scene.table, [&](unsigned index, NextHopId found) {
                    if (!S::is_for(found, index)) wrong.fetch_add(1, std::memory_order_relaxed);
                });
                rounds.fetch_add(1, std::memory_order_relaxed);
            });
        }
        std::minstd_rand random(5);
        for (unsigned step = 0; step < 60'000 || rounds < 1000; ++step) {
            const unsigned index = random() % S::kAddresses;
            const unsigned route = random() % S::kLengths.size();
            const unsigned bit = 1u << route;
            const auto prefix = S::route(index, S::kLengths[route]);
            if ((present[index] & bit) == 0 || random() % 4 == 0) {
                scene.table.set(prefix, S::next_hop(index, step & 0xffffff));
                present[index] |= bit;
            } else if (present[index] != bit) {
                scene.table.erase(prefix);
                present[index] &= ~bit;
            }
            if (step % 3 == 0) {
                const auto beside = S::beside(index, random);
                if (random() % 2 == 0) {
                    scene.table.set(beside, S::next_hop(14, 0));
                } else {
                    scene.table.erase(beside);
                }
            }
            if (step % 16 != 0) continue;
            readers.synchronize();
            scene.arena.reclaim();
        }
    }
    EXPECT_EQ(wrong, 0u);
}

// Symptom: an old next hop comes back for a packet or two, when other routes are loaded and the
// table is arranged anew.
TYPED_TEST(LpmUnderConcurrency, ReplacedNextHopNeverComesBackWhileTheTableGrowsAndShrinks) {
    using S = Scene<TypeParam>;
    S scene;
    const auto set_all = [&](unsigned variant) {
        for (unsigned index = 0; index < S::kAddresses; ++index)
            scene.table.set(S::route(index, S::kLengths[index]), S::next_hop(index, variant));
    };
    set_all(0);
    std::atomic<uint64_t> wrong{0};
    std::atomic<uint64_t> rounds{0};
    {
        Readers readers;
        for (unsigned id = 0; id < 2; ++id) {
            readers.start(id, [&, last = std::array<unsigned, S::kAddresses>{}]() mutable {
                look_up_all(scene.table, [&](unsigned index, NextHopId found) {
                    const bool good = S::is_for(found, index) && S::variant(found) >= last[index];
                    if (!good) wrong.fetch_add(1, std::memory_order_relaxed);
                    last[index] = S::variant(found);
                });
                rounds.fetch_add(1, std::memory_order_relaxed);
            });
        }
        unsigned variant = 0;
        for (unsigned cycle = 0; cycle < 3 || rounds < 1000; ++cycle) {
            std::vector<net::Prefix<TypeParam>> others;
            std::minstd_rand random(cycle + 1);
            while (scene.table.size() < 4200) {
                others.push_back(S::beside(random() % S::kAddresses, random));
                scene.table.set(others.back(), S::next_hop(14, 0));
                if (others.size() % 8 == 0) set_all(++variant);
                if (others.size() % 64 != 0) continue;
                readers.synchronize();
                scene.arena.reclaim();
            }
            for (size_t i = 0; i < others.size(); ++i) {
                scene.table.erase(others[i]);
                if (i % 8 == 0) set_all(++variant);
                if (i % 64 != 0) continue;
                readers.synchronize();
                scene.arena.reclaim();
            }
            ASSERT_EQ(scene.table.size(), S::kAddresses);
        }
    }
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heddle::forwarding
