#include "control/rib.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <random>
#include <tuple>

namespace heddle::control {
namespace {

using forwarding::kNoNextHop;
using forwarding::NextHop;
using forwarding::NextHopId;
using net::Ipv4Address;
using net::Ipv4Prefix;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NextHops::Source kBgp = route_source::kFirstOther;
constexpr NextHops::Source kOspf = route_source::kFirstOther + 1;

/// A route as a test sees it: prefix, neighbour, source, distance, active.
using Seen = std::tuple<std::string, uint32_t, unsigned, unsigned, bool>;

template <typename Address>
class Router {
 public:
    Router() : table(tables->lpm_arena), rib(table, hops) {}

    void add(const net::Prefix<Address>& prefix, uint32_t neighbor, NextHops::Source source,
             uint8_t distance) {
        rib.add(prefix,
                hops.take({{{NextHop::Kind::adjacency, 1, neighbor}, 1}}, source, distance));
        tables->lpm_arena.reclaim();
    }
    bool remove(const net::Prefix<Address>& prefix, NextHops::Source source, uint8_t distance) {
        const bool removed = rib.remove(prefix, source, distance);
        tables->lpm_arena.reclaim();
        return removed;
    }
    /// The neighbour that a packet goes to; 0 for none.
    uint32_t lookup(const Address& address) const {
        return tables->next_hop(table.lookup(address)).index;
    }
    std::vector<Seen> all() const {
        std::vector<Seen> result;
        rib.for_each([&](const net::Prefix<Address>& prefix, NextHopId id, bool active) {
            const NextHops::Info& info = hops.info(id);
            result.emplace_back(prefix.to_string(), info.hop.index, info.source, info.distance,
                                active);
        });
        return result;
    }
    uint64_t routes() const {
        uint64_t sum = 0;
        hops.for_each([&](NextHopId, const NextHops::Info& info) { sum += info.routes; });
        return sum;
    }

    const std::unique_ptr<forwarding::Tables> tables = std::make_unique<forwarding::Tables>(16);
    NextHops hops{*tables};
    forwarding::Lpm<Address> table;
    Rib<Address> rib;
};

const Ipv4Prefix kTen(Ipv4Address(10, 0, 0, 0), 8);
const Ipv4Prefix kTenOne(Ipv4Address(10, 1, 0, 0), 16);
const Ipv4Address kInTenOne(10, 1, 2, 3);

TEST(Rib, LeastDistanceCountsThenTheSource) {
    Router<Ipv4Address> router;
    router.add(kTen, 1, kOspf, 110);
    EXPECT_EQ(router.lookup(kInTenOne), 1u);
    router.add(kTen, 2, kBgp, 20);
    EXPECT_EQ(router.lookup(kInTenOne), 2u);
    router.add(kTen, 3, route_source::kStatic, 200);
    EXPECT_EQ(router.lookup(kInTenOne), 2u);
    router.add(kTen, 4, route_source::kStatic, 20);
    EXPECT_EQ(router.lookup(kInTenOne), 4u) << "the lower source at the same distance";
    EXPECT_THAT(router.all(), ElementsAre(Seen("10.0.0.0/8", 4, 2, 20, true),
                                          Seen("10.0.0.0/8", 2, kBgp, 20, false),
                                          Seen("10.0.0.0/8", 1, kOspf, 110, false),
                                          Seen("10.0.0.0/8", 3, 2, 200, false)));
    EXPECT_EQ(router.rib.size(), 1u);
}

TEST(Rib, SourceReplacesItsRouteAtWhateverDistanceButStaticOnesStandSideBySide) {
    Router<Ipv4Address> router;
    router.add(kTen, 1, kBgp, 20);
    router.add(kTen, 2, kBgp, 30);
    EXPECT_THAT(router.all(), ElementsAre(Seen("10.0.0.0/8", 2, kBgp, 30, true)));
    router.add(kTen, 3, kOspf, 25);
    EXPECT_EQ(router.lookup(kInTenOne), 3u);
    router.add(kTen, 4, kBgp, 5);
    EXPECT_EQ(router.lookup(kInTenOne), 4u) << "a standby that got better";
    router.add(kTen, 4, kBgp, 250);
    EXPECT_EQ(router.lookup(kInTenOne), 3u) << "and worse again";
    router.add(kTen, 5, route_source::kStatic, 1);
    router.add(kTen, 6, route_source::kStatic, 2);
    router.add(kTen, 7, route_source::kStatic, 1);
    EXPECT_THAT(router.all(),
                ElementsAre(Seen("10.0.0.0/8", 7, 2, 1, true), Seen("10.0.0.0/8", 6, 2, 2, false),
                            Seen("10.0.0.0/8", 3, kOspf, 25, false),
                            Seen("10.0.0.0/8", 4, kBgp, 250, false)));
    EXPECT_EQ(router.routes(), 4u) << "what was replaced is counted no more";
}

TEST(Rib, WithdrawnRouteMakesRoomForTheNextBest) {
    Router<Ipv4Address> router;
    router.add(kTen, 1, route_source::kStatic, 1);
    router.add(kTen, 2, kBgp, 20);
    router.add(kTen, 3, kOspf, 110);
    EXPECT_FALSE(router.remove(kTen, route_source::kStatic, 2)) << "no static one at distance 2";
    EXPECT_FALSE(router.remove(kTenOne, kBgp, 20)) << "another prefix";
    EXPECT_TRUE(router.remove(kTen, kBgp, 20)) << "a standby";
    EXPECT_EQ(router.lookup(kInTenOne), 1u);
    EXPECT_TRUE(router.remove(kTen, route_source::kStatic, 1));
    EXPECT_EQ(router.lookup(kInTenOne), 3u);
    EXPECT_FALSE(router.remove(kTen, kBgp, 20)) << "again";
    EXPECT_TRUE(router.remove(kTen, kOspf, 0)) << "it has only one, whatever its distance";
    EXPECT_EQ(router.lookup(kInTenOne), 0u);
    EXPECT_EQ(router.rib.size(), 0u);
    EXPECT_EQ(router.routes(), 0u);
}

TEST(Rib, FindsARouteWhetherItIsTheBestOrNot) {
    Router<Ipv4Address> router;
    const auto neighbor_of = [&](NextHops::Source source, uint8_t distance) {
        const NextHopId id = router.rib.find(kTen, source, distance);
        return id == kNoNextHop ? 0 : router.hops.info(id).hop.index;
    };
    EXPECT_EQ(neighbor_of(kBgp, 20), 0u);
    router.add(kTen, 1, route_source::kStatic, 1);
    router.add(kTen, 2, route_source::kStatic, 9);
    router.add(kTen, 3, kBgp, 20);
    EXPECT_EQ(neighbor_of(route_source::kStatic, 1), 1u);
    EXPECT_EQ(neighbor_of(route_source::kStatic, 9), 2u);
    EXPECT_EQ(neighbor_of(kBgp, 20), 3u);
    EXPECT_EQ(neighbor_of(kOspf, 20), 0u);
}

TEST(Rib, ForEachGoesByPrefixAndFromBestToWorst) {
    Router<Ipv4Address> router;
    router.add(kTenOne, 1, kBgp, 20);
    router.add(Ipv4Prefix(Ipv4Address(9, 0, 0, 0), 8), 2, kBgp, 20);
    router.add(kTen, 3, kOspf, 110);
    router.add(kTen, 4, kBgp, 20);
    router.add(Ipv4Prefix(), 5, route_source::kStatic, 1);
    EXPECT_THAT(
        router.all(),
        ElementsAre(Seen("0.0.0.0/0", 5, 2, 1, true), Seen("9.0.0.0/8", 2, kBgp, 20, true),
                    Seen("10.0.0.0/8", 4, kBgp, 20, true), Seen("10.0.0.0/8", 3, kOspf, 110, false),
                    Seen("10.1.0.0/16", 1, kBgp, 20, true)));
}

TEST(Rib, ClearReturnsEverything) {
    Router<Ipv4Address> router;
    for (uint32_t i = 0; i < 200; ++i) {
        const Ipv4Prefix prefix(Ipv4Address(10, static_cast<uint8_t>(i), 0, 0), 16);
        router.add(prefix, 1 + i % 3, route_source::kStatic, 1);
        router.add(prefix, 1 + i % 5, kBgp, 20);
    }
    router.rib.clear();
    EXPECT_THAT(router.all(), IsEmpty());
    EXPECT_EQ(router.routes(), 0u);
    EXPECT_EQ(router.rib.size(), 0u);
    router.hops.release();
    router.tables->lpm_arena.reclaim();
    EXPECT_EQ(router.tables->lpm_arena.bytes_in_use(), 0u);
    router.add(kTen, 9, kBgp, 20);
    EXPECT_EQ(router.lookup(kInTenOne), 9u) << "and can be used again";
}

Ipv4Prefix random_prefix(std::mt19937& random, Ipv4Address) {
    const unsigned length = 8 + random() % 9;
    const Ipv4Address address(10, static_cast<uint8_t>(random()), 0, 0);
    return Ipv4Prefix(address, length).network();
}
net::Ipv6Prefix random_prefix(std::mt19937& random, const net::Ipv6Address&) {
    std::array<uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
    bytes[7] = static_cast<uint8_t>(random());
    return net::Ipv6Prefix(net::Ipv6Address(bytes), 56 + random() % 9).network();
}

/// Routes of four sources come and go at random; what the table says is always the longest prefix
/// of the model, and of that the route of least (distance, source).
template <typename Address>
void compare_with_model() {
    // A static route is one per distance, any other source has one.
    using Key = std::tuple<net::Prefix<Address>, unsigned, unsigned>;
    struct Value {
        unsigned distance;
        uint32_t neighbor;
    };
    std::mt19937 random(4);
    Router<Address> router;
    std::map<Key, Value> model;
    const NextHops::Source sources[] = {route_source::kAttached, route_source::kStatic, kBgp,
                                        kOspf};
    for (int round = 0; round < 20'000; ++round) {
        const auto prefix = random_prefix(random, Address());
        const NextHops::Source source = sources[random() % 4];
        const auto distance = static_cast<uint8_t>(1 + random() % 3);
        const Key key{prefix, source, source == route_source::kStatic ? distance : 0u};
        // Waves, so that the table fills and empties.
        if (random() % 100 < (round / 2000 % 2 == 0 ? 70u : 30u)) {
            const uint32_t neighbor = 1 + random() % 6;
            router.add(prefix, neighbor, source, distance);
            model[key] = {distance, neighbor};
        } else {
            ASSERT_EQ(router.remove(prefix, source, distance), model.erase(key) == 1);
        }
        if (random() % 8 == 0) router.hops.release();
        const Address address = random_prefix(random, Address()).address();
        const Key* best_key = nullptr;
        const Value* best = nullptr;
        for (const auto& [each, value] : model) {
            const auto& [each_prefix, each_source, unused] = each;
            if (!each_prefix.contains(address)) continue;
            const auto rank = [](const Key& k, const Value& v) {
                return std::tuple(-static_cast<int>(std::get<0>(k).length()), v.distance,
                                  std::get<1>(k));
            };
            if (best == nullptr || rank(each, value) < rank(*best_key, *best)) {
                best_key = &each;
                best = &value;
            }
        }
        ASSERT_EQ(router.lookup(address), best == nullptr ? 0 : best->neighbor) << round;
        if (round % 500 == 0) {
            ASSERT_EQ(router.all().size(), model.size());
            ASSERT_EQ(router.routes(), model.size());
        }
    }
    for (const auto& [key, value] : model) {
        ASSERT_TRUE(router.remove(std::get<0>(key), static_cast<NextHops::Source>(std::get<1>(key)),
                                  static_cast<uint8_t>(value.distance)));
    }
    EXPECT_EQ(router.routes(), 0u);
    router.tables->lpm_arena.reclaim();
    EXPECT_EQ(router.tables->lpm_arena.bytes_in_use(), 0u);
}

TEST(Rib, AgreesWithAModelIpv4) {
    compare_with_model<Ipv4Address>();
}

TEST(Rib, AgreesWithAModelIpv6) {
    compare_with_model<net::Ipv6Address>();
}

}  // namespace
}  // namespace heddle::control
