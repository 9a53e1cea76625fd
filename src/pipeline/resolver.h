#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "net/neighbor_discovery.h"
#include "pipeline/announcer.h"
#include "pipeline/context.h"

namespace heddle::pipeline {

/// The state of a neighbour (RFC 4861, section 7.3.2; likewise for ARP). DELAY is left out: a stale
/// entry that is used is probed at once.
enum class NeighborPhase : uint8_t {
    unknown,     ///< nobody wanted to know yet
    incomplete,  ///< asked, no answer yet; packets wait
    reachable,
    stale,  ///< not confirmed for a while; used as it is
    probe,  ///< asked whether it is still there; used as it is
    failed  ///< nobody answered
};

/// Resolves neighbours: owns the packets that wait for one, asks, learns, ages and announces. It
/// belongs to one worker, the only writer of forwarding::NeighborTable; other workers hand it what
/// it has to see (pipeline::punt), control asks it by a command that the worker executes.
///
/// Times are TSC cycles, those of ageing seconds of the worker's clock. Allocates nothing but
/// packet buffers once it is constructed.
class Resolver {
 public:
    Resolver();
    /// Frees what still waits.
    ~Resolver();
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    /// A frame with metadata().punt set. Takes ownership.
    void handle(Context& context, rte_mbuf* frame) noexcept;

    /// Timers. Call when next_tick() has passed, or more often.
    void tick(Context& context) noexcept;
    /// When tick() is due, in TSC cycles; UINT64_MAX for never.
    uint64_t next_tick() const noexcept { return next_tick_; }

    // ---- What control asks for, by a command in the worker's thread

    /// A host of the port table: known without asking, and changed by nobody else. It is behind
    /// `bridge_port`, if that is given.
    void set_permanent(Context& context, const forwarding::NeighborKey& key,
                       const net::MacAddress& mac, forwarding::BridgePortId bridge_port) noexcept;
    /// It is as any other from now on.
    void clear_permanent(Context& context, const forwarding::NeighborKey& key) noexcept;

    /// The adjacency of a neighbour that a next hop refers to: it stays in the table until it has
    /// been unpinned as often. kNoAdjacency if the table is full.
    forwarding::AdjacencyId pin(Context& context, const forwarding::NeighborKey& key) noexcept;
    void unpin(forwarding::AdjacencyId id) noexcept;

    /// Forgets all neighbours of a bridge that nothing pins, or that go with it.
    void forget_bridge(Context& context, forwarding::BridgeId bridge) noexcept;

    /// Drops what waits to leave by an interface that was removed, before its id is used again.
    void forget_interface(Context& context, forwarding::InterfaceId interface) noexcept;
    /// Drops what waits and came by a port that was removed.
    void forget_port(Context& context, forwarding::PortId port) noexcept;

    /// Begins to announce an interface that is new or changed; its address, and what it advertises.
    void announce(Context& context, forwarding::InterfaceId interface) noexcept;

    /// Ids that are free after a grace period and when the frames that were in rings then have been
    /// handled: control waits for both and calls release().
    bool has_retired() const noexcept {
        return retired_count_.load(std::memory_order_relaxed) != 0;
    }
    std::vector<forwarding::AdjacencyId> take_retired();
    void release(Context& context, const std::vector<forwarding::AdjacencyId>& ids) noexcept;

    struct View {
        forwarding::NeighborKey key;
        net::MacAddress mac;
        NeighborPhase phase;
        bool permanent;
        uint32_t idle;  ///< seconds since something was sent to it
        uint16_t waiting;
    };
    void for_each(const Context& context, const std::function<void(const View&)>& visit) const;

    struct Statistics {
        std::atomic<uint64_t> requests{0};
        std::atomic<uint64_t> conflicts{0};  ///< others that claimed an address of a router's
        std::atomic<forwarding::InterfaceId> conflict_at{0};  ///< the last time: whose address
    };
    const Statistics& statistics() const noexcept { return statistics_; }

 private:
    struct Neighbor {
        NeighborPhase phase;
        uint8_t probes;
        bool live;
        uint16_t waiting;
        uint32_t pins;
        uint32_t phase_since;               ///< tick
        uint32_t index;                     ///< in live_
        forwarding::InterfaceId interface;  ///< of the router that asks
        uint64_t deadline;
        rte_mbuf* first;
        rte_mbuf* last;
        net::MacAddress mac;
    };

    void handle_unresolved(Context& context, rte_mbuf* frame) noexcept;
    void handle_message(Context& context, rte_mbuf* frame) noexcept;
    bool handle_arp(Context& context, rte_mbuf* frame) noexcept;
    bool handle_nd(Context& context, rte_mbuf* frame) noexcept;
    bool handle_solicitation(Context& context, const rte_mbuf* frame,
                             const net::NeighborSolicitation& message) noexcept;
    bool handle_advertisement(Context& context, const rte_mbuf* frame,
                              const net::NeighborAdvertisement& message) noexcept;
    bool handle_router_solicitation(Context& context, const rte_mbuf* frame,
                                    const net::RouterSolicitation& message) noexcept;
    /// Somebody else claims an address of a router's.
    void conflict(Context& context, const forwarding::RouterInterface& own) noexcept;

    forwarding::AdjacencyId destination_of(Context& context, rte_mbuf* frame,
                                           const forwarding::RouterInterface& out) noexcept;
    forwarding::AdjacencyId add(Context& context, const forwarding::NeighborKey& key) noexcept;
    forwarding::AdjacencyId find_or_add(Context& context,
                                        const forwarding::NeighborKey& key) noexcept;
    void wait(Context& context, forwarding::AdjacencyId id, rte_mbuf* frame) noexcept;
    void start(Context& context, forwarding::AdjacencyId id,
               const forwarding::RouterInterface& out) noexcept;
    void ask(Context& context, forwarding::AdjacencyId id, bool unicast) noexcept;
    const forwarding::RouterInterface* asking_interface(Context& context,
                                                        forwarding::AdjacencyId id) noexcept;
    void confirm(Context& context, forwarding::AdjacencyId id, const net::MacAddress& mac,
                 bool solicited) noexcept;
    rte_mbuf* take_waiting(Neighbor& neighbor) noexcept;
    /// Drops those that wait for which `verdict(metadata)` answers a reason.
    template <typename Verdict>
    void sift_waiting(Context& context, forwarding::AdjacencyId id, Verdict verdict) noexcept;
    void flush_waiting(Context& context, forwarding::AdjacencyId id) noexcept;
    void fail(Context& context, forwarding::AdjacencyId id) noexcept;
    void refuse(Context& context, rte_mbuf* frame) noexcept;
    void retire(Context& context, forwarding::AdjacencyId id) noexcept;
    void check(Context& context, forwarding::AdjacencyId id) noexcept;
    void probe(Context& context, forwarding::AdjacencyId id) noexcept;

    /// What a message says about an address, if it may be believed. `create`: it asked for us, and
    /// may make an entry; `solicited`: it answers a question of ours, so the neighbour is
    /// reachable.
    void learn(Context& context, const forwarding::RouterInterface& in,
               const net::IpAddress& address, const net::MacAddress& mac, bool create,
               bool solicited) noexcept;
    /// learn() for every router of a bridge; makes no entry.
    void learn_on(Context& context, const forwarding::Bridge& bridge, const net::IpAddress& address,
                  const net::MacAddress& mac, bool solicited) noexcept;
    bool is_permanent(const Context& context, forwarding::AdjacencyId id) const noexcept;

    forwarding::ZeroedArray<Neighbor> neighbors_;
    forwarding::ZeroedArray<uint32_t> of_bridge_;  ///< how many are live
    std::vector<forwarding::AdjacencyId> live_;
    std::vector<forwarding::AdjacencyId> retired_;
    std::atomic<size_t> retired_count_{0};
    unsigned waiting_ = 0;
    unsigned waiting_superframes_ = 0;
    uint64_t next_tick_ = UINT64_MAX;
    Announcer announcer_;
    Statistics statistics_;
};

}  // namespace heddle::pipeline
