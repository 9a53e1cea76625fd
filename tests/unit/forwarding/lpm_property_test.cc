#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "forwarding/lpm.h"

/// Tables against a list of routes, by random steps whose seeds are fixed.
namespace heddle::forwarding {
namespace {

using net::Ipv4Address;
using net::Ipv6Address;

/// Routes as a list, looked up one by one.
template <typename Address>
class Model {
 public:
    using Prefix = net::Prefix<Address>;

    NextHopId set(const Prefix& prefix, NextHopId next_hop) {
        masks_[prefix] = prefix.mask();
        return std::exchange(routes_[prefix], next_hop);
    }
    NextHopId erase(const Prefix& prefix) {
        masks_.erase(prefix);
        const auto node = routes_.extract(prefix);
        return node.empty() ? kNoNextHop : node.mapped();
    }
    NextHopId exact(const Prefix& prefix) const {
        const auto found = routes_.find(prefix);
        return found == routes_.end() ? kNoNextHop : found->second;
    }
    std::optional<std::pair<unsigned, NextHopId>> longest(const Address& address) const {
        const Prefix* best = nullptr;
        for (const auto& [prefix, mask] : masks_) {
            if ((address & mask) != prefix.address()) continue;
            if (best == nullptr || prefix.length() > best->length()) best = &prefix;
        }
        if (best == nullptr) return std::nullopt;
        return std::pair(best->length(), routes_.at(*best));
    }
    const std::map<Prefix, NextHopId>& routes() const { return routes_; }

 private:
    std::map<Prefix, NextHopId> routes_;
    std::map<Prefix, Address> masks_;  ///< which take a while to compute
};

/// Addresses of few different bits, at places that cross the edges of blocks, so that prefixes
/// nest, are siblings and meet again.
template <typename Address>
class Addresses {
 public:
    explicit Addresses(std::mt19937_64& random) : random_(random) {}

    Address address() {
        std::array<uint8_t, Address::kBits / 8> bytes{};
        const uint64_t kind = random_() % 4;
        for (uint8_t& byte : bytes) {
            // Mostly the same way down, which some leave.
            byte = random_() % 4 == 0 ? static_cast<uint8_t>(kind == 0 ? random_() : random_() % 4)
                                      : 0x20;
        }
        return from(bytes);
    }
    net::Prefix<Address> prefix() {
        static constexpr std::array<unsigned, 14> kLengths = {0,  1,  6,  7,  8,  12, 13,
                                                              18, 19, 23, 24, 25, 31, 32};
        unsigned length = kLengths[random_() % kLengths.size()];
        if (Address::kBits == 128 && random_() % 2 == 0) length = 2 * length + 64 * (random_() % 2);
        if (random_() % 4 == 0) length = static_cast<unsigned>(random_() % (Address::kBits + 1));
        return net::Prefix<Address>(address(), length).network();
    }

 private:
    static Address from(const std::array<uint8_t, 4>& b) { return {b[0], b[1], b[2], b[3]}; }
    static Address from(const std::array<uint8_t, 16>& bytes) { return Address(bytes); }

    std::mt19937_64& random_;
};

/// Random steps on a table and on the model side by side; they have to agree after each.
template <typename Address>
class Walk {
 public:
    using Prefix = net::Prefix<Address>;

    explicit Walk(uint64_t seed, size_t most) : random_(seed), make_(random_), most_(most) {}
    ~Walk() {
        table_.reset();
        arena_.reclaim();
        EXPECT_EQ(arena_.bytes_in_use(), 0u);
    }

    void step() {
        const uint64_t kind = random_() % 100;
        if (kind < 35 && model_.routes().size() < most_) {
            set(make_.prefix());
        } else if (kind < 50) {
            set(some_route());
        } else if (kind < 75) {
            erase(some_route());
        } else if (kind < 78) {
            erase(make_.prefix());
        } else if (kind < 98) {
            look_up();
        } else {
            arena_.reclaim();
        }
    }
    void erase_all() {
        while (!model_.routes().empty())
            erase(some_route());
        EXPECT_EQ(table_->size(), 0u);
        arena_.reclaim();
        EXPECT_EQ(arena_.bytes_in_use(), 0u);
        EXPECT_FALSE(arena_.has_retired());
    }
    void compare() const {
        std::vector<std::pair<Prefix, NextHopId>> seen;
        table_->for_each(
            [&](const Prefix& prefix, NextHopId next_hop) { seen.emplace_back(prefix, next_hop); });
        const std::vector<std::pair<Prefix, NextHopId>> expected(model_.routes().begin(),
                                                                 model_.routes().end());
        ASSERT_EQ(seen, expected);
    }

 private:
    Prefix some_route() {
        if (model_.routes().empty()) return make_.prefix();
        auto found = model_.routes().lower_bound(make_.prefix());
        return found == model_.routes().end() ? model_.routes().begin()->first : found->first;
    }
    void set(const Prefix& prefix) {
        const auto next_hop = static_cast<NextHopId>(1 + random_() % INT32_MAX);
        ASSERT_EQ(table_->set(prefix, next_hop), model_.set(prefix, next_hop))
            << prefix.to_string();
        ASSERT_EQ(table_->exact(prefix), next_hop);
        ASSERT_EQ(table_->size(), model_.routes().size());
    }
    void erase(const Prefix& prefix) {
        ASSERT_EQ(table_->erase(prefix), model_.erase(prefix)) << prefix.to_string();
        ASSERT_EQ(table_->exact(prefix), kNoNextHop);
        ASSERT_EQ(table_->size(), model_.routes().size());
    }
    void look_up() {
        std::vector<Address> addresses(random_() % (Lpm<Address>::kBurst + 1));
        for (Address& address : addresses)
            address = random_() % 2 == 0 ? make_.address() : some_route().address();
        std::vector<NextHopId> found(addresses.size());
        table_->lookup(addresses, found);
        for (size_t i = 0; i < addresses.size(); ++i) {
            const auto expected = model_.longest(addresses[i]);
            const NextHopId next_hop = expected ? expected->second : kNoNextHop;
            ASSERT_EQ(found[i], next_hop) << addresses[i].to_string();
            ASSERT_EQ(table_->lookup(addresses[i]), next_hop) << addresses[i].to_string();
            if (i > 0) continue;  // as it takes its time
            ASSERT_EQ(table_->longest(addresses[i]), expected) << addresses[i].to_string();
        }
        const Prefix prefix = make_.prefix();
        ASSERT_EQ(table_->exact(prefix), model_.exact(prefix));
    }

    std::mt19937_64 random_;
    Addresses<Address> make_;
    size_t most_;
    LpmArena arena_;
    std::unique_ptr<Lpm<Address>> table_ = std::make_unique<Lpm<Address>>(arena_);
    Model<Address> model_;
};

template <typename Address>
class LpmOf : public testing::Test {
 public:
    static void walk(uint64_t seed, size_t most, unsigned steps) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Walk<Address> walk(seed, most);
        for (unsigned i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
            walk.step();
            if (i % 1000 == 0) walk.compare();
        }
        if (!testing::Test::HasFatalFailure()) walk.erase_all();
    }
};
using Families = testing::Types<Ipv4Address, Ipv6Address>;
TYPED_TEST_SUITE(LpmOf, Families);

TYPED_TEST(LpmOf, FewRoutesAgreeWithAListAfterAnySteps) {
    for (uint64_t seed = 1; seed <= 10; ++seed)
        this->walk(seed, 12, 6000);
}

TYPED_TEST(LpmOf, ManyRoutesAgreeWithAListAfterAnySteps) {
    for (uint64_t seed = 101; seed <= 104; ++seed)
        this->walk(seed, 300, 15'000);
}

/// Random /16 to the longest, under a few short ones.
template <typename Address>
std::vector<net::Prefix<Address>> mixed_prefixes(size_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    Addresses<Address> make(random);
    std::map<net::Prefix<Address>, bool> prefixes;
    while (prefixes.size() < count)
        prefixes.emplace(make.prefix(), true);
    std::vector<net::Prefix<Address>> result;
    for (const auto& [prefix, unused] : prefixes)
        result.push_back(prefix);
    std::shuffle(result.begin(), result.end(), random);
    return result;
}

// The root gets more slots on the way, and less again.
TYPED_TEST(LpmOf, TableThatGrowsLargeAndSmallAgainKeepsItsRoutes) {
    const auto prefixes = mixed_prefixes<TypeParam>(6000, 7);
    LpmArena arena;
    Lpm<TypeParam> table(arena);
    Model<TypeParam> model;
    NextHopId next_hop = 0;
    const auto compare = [&] {
        std::map<net::Prefix<TypeParam>, NextHopId> seen;
        table.for_each([&](const auto& prefix, NextHopId value) { seen.emplace(prefix, value); });
        ASSERT_EQ(seen, model.routes());
        for (size_t i = 0; i < prefixes.size(); i += 50) {
            const TypeParam& address = prefixes[i].address();
            const auto expected = model.longest(address);
            ASSERT_EQ(table.lookup(address), expected ? expected->second : kNoNextHop);
            ASSERT_EQ(table.longest(address), expected);
        }
    };
    for (const auto& prefix : prefixes) {
        table.set(prefix, ++next_hop);
        model.set(prefix, next_hop);
        if (next_hop % 1000 == 0 || next_hop == 4096) compare();
    }
    for (const auto& prefix : prefixes) {
        ASSERT_EQ(table.erase(prefix), model.erase(prefix));
        if (table.size() % 1000 == 0 || table.size() == 1024) compare();
    }
    arena.reclaim();
    EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TYPED_TEST(LpmOf, EmptyTableTakesNothingFromTheArenaAndOneRouteAKilobyte) {
    LpmArena arena;
    Lpm<TypeParam> table(arena);
    EXPECT_EQ(arena.bytes_in_use(), 0u);
    EXPECT_EQ(table.lookup(TypeParam()), kNoNextHop);
    table.set({}, 5);
    EXPECT_LE(arena.bytes_in_use(), 1024u);
}

TYPED_TEST(LpmOf, TableThatIsDestroyedGivesItsMemoryBack) {
    LpmArena arena;
    {
        Lpm<TypeParam> table(arena);
        for (const auto& prefix : mixed_prefixes<TypeParam>(5000, 8))
            table.set(prefix, 1);
    }
    arena.reclaim();
    EXPECT_EQ(arena.bytes_in_use(), 0u);
    EXPECT_EQ(arena.bytes_held(), 0u);
}

// Symptom: an operator adds a route too many, gets an error, and from then on packets are lost.
TYPED_TEST(LpmOf, RouteForWhichThereIsNoMemoryLeavesTheTableAsItWas) {
    LpmArena arena((TypeParam::kBits == 32 ? 16 : 24) * LpmArena::kChunkBytes);
    auto table = std::make_unique<Lpm<TypeParam>>(arena);
    Model<TypeParam> model;
    size_t failed = 0;
    NextHopId next_hop = 0;
    std::mt19937_64 random(9);
    for (const auto& prefix : mixed_prefixes<TypeParam>(20'000, 9)) {
        try {
            table->set(prefix, ++next_hop);
            model.set(prefix, next_hop);
        } catch (const std::bad_alloc&) {
            ASSERT_EQ(table->exact(prefix), kNoNextHop);
            ++failed;
        }
        if (random() % 2 == 0) continue;
        try {
            table->erase(prefix);
            model.erase(prefix);
        } catch (const std::bad_alloc&) {
            ++failed;
        }
        if (next_hop % 100 == 0 && arena.retired_bytes() > 200'000) arena.reclaim();
    }
    EXPECT_GT(failed, 0u) << "memory was enough: the test shows nothing";
    std::map<net::Prefix<TypeParam>, NextHopId> seen;
    table->for_each([&](const auto& prefix, NextHopId value) { seen.emplace(prefix, value); });
    EXPECT_EQ(seen, model.routes());
    EXPECT_EQ(table->size(), model.routes().size());
    table.reset();
    arena.reclaim();
    EXPECT_EQ(arena.bytes_in_use(), 0u);
}

}  // namespace
}  // namespace heddle::forwarding
