#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "forwarding/ids.h"
#include "forwarding/zeroed_array.h"
#include "net/mac_address.h"

namespace heddle::forwarding {

/// Where a MAC address of a bridge is.
struct FdbValue {
    BridgePortId bridge_port = kNoBridgePort;  ///< kNoBridgePort: not found
    uint32_t tick = 0;                         ///< seconds (Fdb's clock) when it last sent
    bool is_static = false;
};

/// The forwarding database of all bridges: (bridge, MAC) -> bridge port.
///
/// A table of one-cache-line buckets of four entries; a key lives in its first bucket or, when that
/// fills up, in its second if there is more room. With as many random keys as buckets 2 % live in
/// the second, and one such filling in seventy meets a key for which both are full. rte_hash would
/// do, but copies keys out of line (two more cache lines per lookup: 44 to 63 cycles a key here
/// against about 20) and takes a lock to insert.
///
/// Concurrency:
/// - find(), learn(): any number of registered worker threads, without locks, inside an RCU read
///   section (between two quiescent states).
/// - all others: one control thread. It retires an entry by taking its value and its key away,
/// which
///   is visible at once; the slot is free for another key only after release() following a grace
///   period, when no reader is left that saw the old key there: a reader never gets the value of
///   one key under another.
/// - Two threads that add one address at the same time may leave it in two slots, which they make
///   agree. All of them are changed together; find() takes the first. Each was asked for
///   (`may_add`) and is retired by itself.
class Fdb {
 public:
    /// A bridge and a MAC address; never 0, as 0 is the mark of a free slot.
    class Key {
     public:
        Key() = default;
        /// `mac`: its six bytes as net::MacAddress::to_u64() gives them.
        Key(BridgeId bridge, uint64_t mac) noexcept : bits_(uint64_t{bridge} << 48 | mac) {}
        static Key from_bits(uint64_t bits) noexcept {
            Key key;
            key.bits_ = bits;
            return key;
        }
        uint64_t bits() const noexcept { return bits_; }
        BridgeId bridge() const noexcept { return static_cast<BridgeId>(bits_ >> 48); }
        uint64_t mac() const noexcept { return bits_ & ((uint64_t{1} << 48) - 1); }
        net::MacAddress mac_address() const noexcept { return net::MacAddress::from_u64(mac()); }

     private:
        uint64_t bits_ = 0;
    };

    /// Seconds are enough for ageing, and a store per entry and second is all that a busy address
    /// costs other workers' caches.
    using Tick = uint32_t;

    /// Number of buckets; a power of two. Good for about as many entries: 64 bytes per bucket.
    static constexpr size_t kDefaultBuckets = 1u << 17;

    explicit Fdb(size_t buckets = kDefaultBuckets);

    uint64_t hash(Key key) const noexcept { return net::mac_hash(key.bits()); }

    void prefetch(uint64_t hash) const noexcept {
        __builtin_prefetch(&buckets_[first_bucket(hash)]);
    }

    FdbValue find(Key key, uint64_t hash) const noexcept;

    enum class Learned : uint8_t {
        known,      ///< there already, perhaps refreshed
        added,      ///< new
        moved,      ///< was at another bridge port
        is_static,  ///< a static entry says otherwise; nothing changed
        full        ///< `may_add` said no, or no free slot; nothing changed
    };

    /// Records that `key` sent a frame by way of `bridge_port` at `now`. `may_add` is asked, and
    /// may count, before a new entry is made.
    template <typename MayAdd>
    Learned learn(Key key, uint64_t hash, BridgePortId bridge_port, Tick now,
                  MayAdd may_add) noexcept;

    // ---- Control thread ------------------------------------------------------------------------

    /// Makes or replaces an entry. Returns how many learned ones became it; nullopt if the table is
    /// full.
    std::optional<unsigned> set_static(Key key, BridgePortId bridge_port) noexcept;

    struct Entry {
        Key key;
        FdbValue value;
    };

    /// Calls for each live entry. Entries that change meanwhile may be seen before or after the
    /// change.
    void for_each(const std::function<void(const Entry&)>& visit) const;

    /// Takes away the entries for which `remove` is true, in the buckets from `first` on, `count`
    /// of them (all by default). Returns how many. Their slots wait for release(). `remove` may be
    /// asked again about an entry that a worker changed meanwhile, so it must not count; `retired`
    /// is called once for each that went, as it was in the end.
    size_t retire_if(const std::function<bool(const Entry&)>& remove, size_t first = 0,
                     size_t count = SIZE_MAX,
                     const std::function<void(const Entry&)>& retired = {});

    /// Frees the slots retired before the last grace period: call after an RCU grace period has
    /// passed since the last retire_if().
    void release();
    bool has_retired() const noexcept { return !retired_.empty(); }

    size_t bucket_count() const noexcept { return buckets_.size(); }

 private:
    static constexpr unsigned kWays = 4;

    // A slot is free (key 0, value 0), being filled (key, value 0), live (key, value) or retired
    // (kRetiredKey, value 0).
    struct Slot {
        std::atomic<uint64_t> key;
        std::atomic<uint64_t> value;
    };
    struct alignas(64) Bucket {
        Slot slots[kWays];
    };
    static_assert(sizeof(Bucket) == 64);

    static constexpr uint64_t kRetiredKey =
        UINT64_MAX;  ///< a broadcast address: nobody looks it up

    // Value bits: bridge port 24 | tick 32 | static 1 | live 1.
    static constexpr uint64_t kLive = 1;
    static constexpr uint64_t kStatic = 2;
    static uint64_t pack(BridgePortId bridge_port, Tick tick, uint64_t flags) noexcept {
        return uint64_t{bridge_port} << 40 | uint64_t{tick} << 8 | flags | kLive;
    }
    static BridgePortId bridge_port_of(uint64_t value) noexcept {
        return static_cast<BridgePortId>(value >> 40);
    }
    static Tick tick_of(uint64_t value) noexcept { return static_cast<Tick>(value >> 8); }
    static FdbValue unpack(uint64_t value) noexcept {
        return {bridge_port_of(value), tick_of(value), (value & kStatic) != 0};
    }
    static_assert(kMaxBridgePorts <= 1u << 24);

    size_t first_bucket(uint64_t hash) const noexcept { return hash & mask_; }
    size_t second_bucket(uint64_t hash) const noexcept { return (hash >> 32) & mask_; }

    /// The live slot of the key, or nullptr; `value` is what it held.
    Slot* find_slot(Key key, uint64_t hash, uint64_t& value) noexcept;

    /// Takes a free slot for a key: its value is still 0. nullptr if both buckets are full.
    Slot* claim(Key key, uint64_t hash) noexcept;
    Learned add(Key key, uint64_t hash, uint64_t value) noexcept;
    unsigned used(size_t bucket) const noexcept;

    /// Applies `change(slot, value)` to every live slot of the key.
    template <typename Change>
    void for_each_slot(Key key, uint64_t hash, Change change) noexcept;

    ZeroedArray<Bucket> buckets_;
    uint64_t mask_;
    std::vector<Slot*> retired_;
};

// ---- Hot path

inline Fdb::Slot* Fdb::find_slot(Key key, uint64_t hash, uint64_t& value) noexcept {
    for (size_t index : {first_bucket(hash), second_bucket(hash)}) {
        for (Slot& slot : buckets_[index].slots) {
            if (slot.key.load(std::memory_order_relaxed) != key.bits()) continue;
            value = slot.value.load(std::memory_order_acquire);
            if (value != 0) return &slot;
        }
    }
    return nullptr;
}

inline FdbValue Fdb::find(Key key, uint64_t hash) const noexcept {
    uint64_t value = 0;
    if (const_cast<Fdb*>(this)->find_slot(key, hash, value) == nullptr) return {};
    return unpack(value);
}

template <typename Change>
void Fdb::for_each_slot(Key key, uint64_t hash, Change change) noexcept {
    for (size_t index : {first_bucket(hash), second_bucket(hash)}) {
        for (Slot& slot : buckets_[index].slots) {
            if (slot.key.load(std::memory_order_seq_cst) != key.bits()) continue;
            const uint64_t value = slot.value.load(std::memory_order_seq_cst);
            if (value != 0) change(slot, value);
        }
    }
}

template <typename MayAdd>
Fdb::Learned Fdb::learn(Key key, uint64_t hash, BridgePortId bridge_port, Tick now,
                        MayAdd may_add) noexcept {
    uint64_t value = 0;
    Slot* slot = find_slot(key, hash, value);
    if (slot != nullptr) [[likely]] {
        if ((value & kStatic) != 0) {
            return bridge_port_of(value) == bridge_port ? Learned::known : Learned::is_static;
        }
        if (bridge_port_of(value) == bridge_port) [[likely]] {
            // Only on success: an entry retired or moved in between must stay so.
            if (tick_of(value) != now) {
                slot->value.compare_exchange_strong(value, pack(bridge_port, now, 0),
                                                    std::memory_order_release,
                                                    std::memory_order_relaxed);
            }
            return Learned::known;
        }
        for_each_slot(key, hash, [&](Slot& duplicate, uint64_t old) {
            if ((old & kStatic) != 0) return;
            duplicate.value.compare_exchange_strong(old, pack(bridge_port, now, 0),
                                                    std::memory_order_release,
                                                    std::memory_order_relaxed);
        });
        return Learned::moved;
    }
    if (!may_add()) return Learned::full;
    return add(key, hash, pack(bridge_port, now, 0));
}

}  // namespace heddle::forwarding
