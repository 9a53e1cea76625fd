#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "forwarding/ids.h"
#include "forwarding/zeroed_array.h"
#include "net/hash_mix.h"
#include "net/ip_address.h"
#include "net/mac_address.h"

namespace heddle::forwarding {

/// An address on a bridge, of either family.
struct NeighborKey {
    BridgeId bridge = kNoBridge;
    uint16_t family = 0;  ///< 4 or 6
    std::array<uint8_t, 16> bytes{};

    NeighborKey() = default;
    NeighborKey(BridgeId on, net::Ipv4Address address) noexcept : bridge(on), family(4) {
        std::memcpy(bytes.data(), &address, sizeof(address));
    }
    NeighborKey(BridgeId on, const net::Ipv6Address& address) noexcept
        : bridge(on), family(6), bytes(address.bytes()) {}
    NeighborKey(BridgeId on, const net::IpAddress& address) noexcept
        : NeighborKey(address.is_v4() ? NeighborKey(on, *address.v4())
                                      : NeighborKey(on, *address.v6())) {}

    bool is_v4() const noexcept { return family == 4; }
    net::Ipv4Address v4() const noexcept {
        net::Ipv4Address address;
        std::memcpy(&address, bytes.data(), sizeof(address));
        return address;
    }
    net::Ipv6Address v6() const noexcept { return net::Ipv6Address(bytes); }
    net::IpAddress address() const noexcept {
        return is_v4() ? net::IpAddress(v4()) : net::IpAddress(v6());
    }

    uint64_t hash() const noexcept {
        uint64_t halves[2];
        std::memcpy(halves, bytes.data(), sizeof(halves));
        return net::mix64(net::multiply_fold(halves[0] ^ net::kHashMultiplier1,
                                             halves[1] ^ net::kHashMultiplier2) ^
                          (uint64_t{bridge} << 16 | family));
    }
    friend auto operator<=>(const NeighborKey&, const NeighborKey&) = default;
};
static_assert(sizeof(NeighborKey) == 20);

/// The way to one neighbour. Written by the resolver, read by all workers; but `used` is written by
/// whoever sends to it, once a second.
struct alignas(64) Adjacency {
    std::atomic<uint64_t> link;  ///< 0, or its MAC address and flags
    std::atomic<uint32_t> used;  ///< tick (seconds) when a packet was last sent to it
    /// Where it is, if it is a host of the port table; otherwise the FDB is to be asked.
    std::atomic<BridgePortId> bridge_port;
    NeighborKey key;  ///< constant while the adjacency is in the table

    static constexpr uint64_t kUsable = uint64_t{1} << 63;
    static constexpr uint64_t kPermanent = uint64_t{1} << 62;  ///< of the port table
    static uint64_t link_to(const net::MacAddress& mac) noexcept { return kUsable | mac.to_u64(); }
    static net::MacAddress mac_of(uint64_t link) noexcept {
        return net::MacAddress::from_u64(link & ((uint64_t{1} << 48) - 1));
    }
};
static_assert(sizeof(Adjacency) == 64);

/// All neighbours of all bridges: (bridge, address) -> adjacency.
///
/// A table of buckets of eight words, each the upper half of a key's hash and the id of its
/// adjacency, where the whole key is: one cache line besides the adjacency, which a worker needs
/// anyway. rte_hash would keep a third line with a copy of the key.
///
/// Concurrency: find() and at(): any worker inside an RCU read section. All others: the resolver
/// alone. What it takes out with erase() may be used again only after a grace period: the caller
/// then says so with release().
class NeighborTable {
 public:
    NeighborTable() : buckets_(kBuckets), adjacencies_(kMaxAdjacencies) {
        free_.reserve(kMaxAdjacencies);  // the resolver allocates nothing
    }

    AdjacencyId find(const NeighborKey& key) const noexcept {
        const uint64_t hash = key.hash();
        for (const size_t index : {first_bucket(hash), second_bucket(hash)}) {
            for (const std::atomic<uint64_t>& slot : buckets_[index].slots) {
                const uint64_t word = slot.load(std::memory_order_acquire);
                if (word >> 32 != tag(hash)) continue;
                const auto id = static_cast<AdjacencyId>(word);
                if (id != kNoAdjacency && adjacencies_[id].key == key) return id;
            }
        }
        return kNoAdjacency;
    }
    void prefetch(AdjacencyId id) const noexcept { __builtin_prefetch(&adjacencies_[id]); }

    Adjacency& at(AdjacencyId id) noexcept { return adjacencies_[id]; }
    const Adjacency& at(AdjacencyId id) const noexcept { return adjacencies_[id]; }

    // ---- Resolver

    /// A new adjacency without MAC address, or kNoAdjacency if there is no room. The key must not
    /// be in the table.
    AdjacencyId add(const NeighborKey& key) noexcept;

    /// Nobody finds it any more; its id stays taken until release().
    void erase(AdjacencyId id) noexcept;
    void release(AdjacencyId id) noexcept;

    size_t size() const noexcept { return size_; }

 private:
    static constexpr size_t kWays = 8;
    static constexpr size_t kBuckets = kMaxAdjacencies / 4;

    struct alignas(64) Bucket {
        std::atomic<uint64_t> slots[kWays];
    };
    static_assert(sizeof(Bucket) == 64);

    static uint64_t tag(uint64_t hash) noexcept { return hash >> 32; }
    static size_t first_bucket(uint64_t hash) noexcept { return hash & (kBuckets - 1); }
    static size_t second_bucket(uint64_t hash) noexcept { return (hash >> 16) & (kBuckets - 1); }

    std::atomic<uint64_t>* free_slot(uint64_t hash) noexcept;
    AdjacencyId take_id() noexcept;

    ZeroedArray<Bucket> buckets_;
    ZeroedArray<Adjacency> adjacencies_;
    std::vector<AdjacencyId> free_;
    AdjacencyId never_used_ = 1;
    size_t size_ = 0;
};

}  // namespace heddle::forwarding
