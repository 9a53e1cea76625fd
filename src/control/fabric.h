#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/problems.h"
#include "control/id_pool.h"
#include "control/routing.h"
#include "forwarding/tables.h"
#include "model/topology.h"
#include "packet/pools.h"
#include "port/port.h"
#include "worker/scheduler.h"

namespace heddle::control {

class Transaction;

/// Now, on the workers' clock for FDB entries.
forwarding::Fdb::Tick clock_seconds();

/// Compiles the desired state into what the data plane follows, and keeps the two in step while
/// devices come and go.
///
/// A change is built beside what is in force, published object by object, and what it replaced is
/// freed after a grace period: traffic that the change does not concern loses nothing.
///
/// Concurrency: one thread at a time (Daemon holds a lock).
class Fabric {
 public:
    /// A port's history, for events: "up", "down: ...".
    using Report = std::function<void(const std::string& kind, const std::string& name,
                                      const std::string& message)>;

    Fabric(const packet::Pools& pools, Report report);
    ~Fabric();

    /// Makes `wanted` the state in force. A device that cannot be opened is a problem, under its
    /// port's path: with any, nothing has changed, unless it had to be taken from another port
    /// first. `tolerant` (at start) instead leaves such ports down, to be tried again.
    struct Outcome {
        api::Problems problems;
        api::Problems warnings;
    };
    using PathOfPort = std::function<std::string(size_t index)>;
    Outcome apply(const model::Topology& wanted, const PathOfPort& path_of_port, bool tolerant);

    /// Looks after devices (fail, return), ages addresses and reads what workers cannot tell. Call
    /// once a second.
    void maintain();

    /// A Linux interface appeared, changed or vanished: look after its port now.
    void interface_changed(const std::string& interface);

    /// Scheduler::tick().
    void balance() { scheduler_.tick(); }

    // ---- For reports ---------------------------------------------------------------------------
    struct PortRuntime;
    struct NetworkRuntime;
    const std::map<std::string, std::unique_ptr<PortRuntime>>& ports() const { return ports_; }
    const std::map<std::string, std::unique_ptr<NetworkRuntime>>& networks() const {
        return networks_;
    }
    const forwarding::Tables& tables() const { return tables_; }
    const worker::Scheduler& scheduler() const { return scheduler_; }
    const Routing& routing() const { return routing_; }

    /// Routes from elsewhere than the topology.
    Routing::Updated update_routes(const v1::RouteUpdate& update, const std::string& path);

    /// The neighbours of all networks. Asks the worker that has them.
    std::vector<pipeline::Resolver::View> neighbors();
    const packet::Pools& pools() const { return pools_; }

    /// Counters of a port over all workers.
    struct Totals {
        uint64_t rx_frames = 0, rx_bytes = 0, tx_frames = 0, tx_bytes = 0, tx_packets = 0;
        uint64_t replicated = 0, consumed = 0, rx_missed = 0;
        std::array<uint64_t, packet::kDropReasonCount> drops{};
        Totals& operator+=(const Totals& other);
    };
    Totals totals(const PortRuntime& port) const;
    Totals totals(forwarding::PortId id) const;  ///< without rx_missed; kNoPort: Heddle itself
    /// Over all ports there ever were.
    Totals totals() const;

    /// Port and tag of a bridge port.
    struct Attachment {
        std::string port;
        uint16_t vlan = 0;
    };
    std::optional<Attachment> attachment(forwarding::BridgePortId id) const;
    std::string network_name(forwarding::BridgeId id) const;

    /// Packet buffers that stand ready for reception in workers and devices: what is in use when no
    /// frame is inside the daemon.
    uint32_t buffers_ready() const;

    struct PortRuntime {
        model::Port wanted;
        forwarding::PortId id = forwarding::kNoPort;
        std::unique_ptr<port::Port> device;
        std::unique_ptr<const forwarding::PortEntry> entry;
        /// By tag (model::kUntagged for none).
        struct Membership {
            std::string network;
            forwarding::BridgePortId id;
        };
        std::map<uint16_t, Membership> memberships;
        bool up = false;
        std::string down_reason;
        uint64_t rx_missed_before = 0;  ///< by earlier incarnations of the device
        uint16_t mtu = 0;
        uint64_t oversize_reported = 0;  ///< tx-mtu drops that an event told of
        unsigned oversize_quiet = 0;     ///< maintenance rounds until the next such event
    };
    struct NetworkRuntime {
        model::Network wanted;
        forwarding::BridgeId id = forwarding::kNoBridge;
        std::unique_ptr<const forwarding::Bridge> bridge;
        std::map<net::MacAddress, forwarding::BridgePortId> static_entries;
        unsigned ports = 0;
    };

 private:
    friend class Transaction;

    /// Sweeps for aged addresses happen every so many maintenance rounds (seconds).
    static constexpr unsigned kAgeingRounds = 2;
    /// A port's MTU drops are an event at most every so many.
    static constexpr unsigned kOversizeRounds = 10;

    void look_after(PortRuntime& port);
    void adopt_device(PortRuntime& port, std::unique_ptr<port::Port> device);
    /// Returns when no worker uses the device any more, and destroys it.
    void close_device(PortRuntime& port);
    void set_up(PortRuntime& port, bool up, const std::string& reason);

    /// Publishes what the runtime object says now; what was in force becomes garbage.
    void publish_port(PortRuntime& port);
    /// Publishes the bridges of networks that changed, then waits for a grace period and frees what
    /// was unpublished since the last call. Nothing to do costs nothing.
    void publish_changes();
    void publish_dirty_bridges();
    void mark_dirty(const PortRuntime& port);
    /// Keeps an unpublished object until publish_changes(), which waits for a grace period.
    void retire(std::shared_ptr<const void> object) {
        if (object != nullptr) garbage_.push_back(std::move(object));
    }

    void report_oversize(PortRuntime& port);
    void forget_addresses(const std::function<bool(const forwarding::Fdb::Entry&)>& which);
    void age_addresses();

    const packet::Pools& pools_;
    Report report_;
    forwarding::Tables tables_;
    worker::Scheduler scheduler_;
    std::map<std::string, std::unique_ptr<PortRuntime>> ports_;
    std::map<std::string, std::unique_ptr<NetworkRuntime>> networks_;
    std::vector<PortRuntime*> port_of_id_;
    std::map<forwarding::BridgeId, std::string> network_of_id_;
    IdPool port_ids_;
    IdPool bridge_ids_;
    IdPool bridge_port_ids_;
    Routing routing_;
    std::set<std::string> dirty_networks_;  ///< whose bridge must be compiled anew
    std::vector<std::shared_ptr<const void>> garbage_;
    Totals retired_;  ///< of ports that are gone
    unsigned maintenance_rounds_ = 0;
    unsigned most_workers_ = 0;  ///< whose counters are not all zero
};

}  // namespace heddle::control
