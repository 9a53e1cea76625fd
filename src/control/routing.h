#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "control/id_pool.h"
#include "control/next_hops.h"
#include "control/rib.h"
#include "forwarding/tables.h"
#include "forwarding/vrf.h"
#include "model/topology.h"
#include "worker/scheduler.h"

namespace heddle::control {

/// Compiles routers into VRFs, interfaces, next hops and neighbours.
///
/// Concurrency: the control thread.
class Routing {
 public:
    using NameOfPort = std::function<std::string(forwarding::PortId)>;

    Routing(forwarding::Tables& tables, worker::Scheduler& scheduler, IdPool& bridge_port_ids,
            NameOfPort name_of_port);
    ~Routing();

    /// What it needs to know of networks and ports.
    struct Surroundings {
        const model::Topology& wanted;
        struct Network {
            forwarding::BridgeId bridge;
            uint16_t mtu;
        };
        std::function<Network(const std::string& name)> network;
        /// Where a port carries a network, kNoBridgePort if it does so more than once.
        std::function<forwarding::BridgePortId(const std::string& port, const std::string& network)>
            bridge_port_of;
    };

    /// Makes the routers of `surroundings.wanted` those in force. What goes is unpublished; the
    /// caller waits for a grace period, forgets addresses behind take_ended_bridge_ports() and
    /// calls release(). Answers what could not be done.
    api::Problems update(const Surroundings& surroundings);

    /// Networks whose interfaces of routers changed since the last call: their bridges must be
    /// compiled anew.
    std::set<std::string> take_dirty_networks() { return std::exchange(dirty_networks_, {}); }
    std::map<std::string, std::vector<forwarding::InterfaceId>> interfaces_by_network() const;

    std::set<forwarding::BridgePortId> take_ended_bridge_ports() {
        return std::exchange(ended_bridge_ports_, {});
    }

    /// Tells networks of interfaces that are new or changed, once their bridges are published and
    /// ports are up.
    void announce();

    /// No worker uses these bridges any more: forgets their neighbours, before their ids are used
    /// again.
    void forget_bridges(const std::set<forwarding::BridgeId>& bridges);
    /// No worker receives from these ports any more.
    void forget_ports(const std::vector<forwarding::PortId>& ports);

    /// Objects that workers may still see are kept until release(), after a grace period.
    bool has_garbage() const;
    void release();

    /// A grace period for neighbours that were forgotten; call once a second. Answers what to tell
    /// the operator, as the name of a router and a message, if there is something new.
    std::optional<std::pair<std::string, std::string>> maintain();

    /// Routes of a source other than the configuration.
    struct Updated {
        uint64_t added = 0;
        uint64_t withdrawn = 0;
        api::Problems problems;
    };
    Updated update_routes(const v1::RouteUpdate& update, const std::string& path);

    // ---- For reports
    std::set<std::string> names() const;
    void observe_routers(const std::function<bool(v1::RouterState&&)>& sink) const;
    void observe_routes(const std::set<std::string>& routers,
                        const std::function<bool(v1::RouteState&&)>& sink) const;
    void observe_next_hops(const std::function<bool(v1::NextHopState&&)>& sink) const;
    v1::LookupResponse lookup(const v1::LookupRequest& request) const;
    /// "router r1" for the address of a router in a bridge; empty if it is none.
    std::string owner_of(forwarding::BridgePortId bridge_port) const;

 private:
    struct Interface {
        model::RouterInterface wanted;
        forwarding::InterfaceId id = forwarding::kNoInterface;
        forwarding::BridgePortId bridge_port = forwarding::kNoBridgePort;
        std::unique_ptr<const forwarding::RouterInterface> published;
    };
    struct Router {
        Router(forwarding::RouterId number, forwarding::LpmArena& arena, NextHops& next_hops)
            : id(number),
              vrf(number, arena),
              ipv4(vrf.ipv4, next_hops),
              ipv6(vrf.ipv6, next_hops) {}

        model::Router wanted;
        forwarding::RouterId id;
        forwarding::Vrf vrf;
        Rib<net::Ipv4Address> ipv4;
        Rib<net::Ipv6Address> ipv6;
        std::map<std::string, Interface> interfaces;  ///< by network
    };
    void reclaim_neighbors();
    void remove_router(std::map<std::string, std::unique_ptr<Router>>::iterator router);
    void remove_interface(Router& router, Interface& interface);
    void update_interfaces(Router& router, const model::Router& wanted,
                           const Surroundings& surroundings);
    void publish(Router& router, Interface& interface, const model::Router& wanted,
                 const Surroundings& surroundings);
    void update_hosts(const Surroundings& surroundings);
    void update_routes(Router& router, const model::Router& wanted);

    void add_attached(Router& router, const Interface& interface);
    void remove_attached(Router& router, const Interface& interface);
    /// Of all sources: nothing may lead to the id of an interface that goes.
    void remove_routes_by(Router& router, forwarding::InterfaceId interface);
    void add_static(Router& router, const model::Route& route);
    void add(Router& router, const net::IpPrefix& prefix, const std::vector<NextHops::Member>& hops,
             NextHops::Source source, uint8_t distance);
    bool remove(Router& router, const net::IpPrefix& prefix, NextHops::Source source,
                uint8_t distance);
    std::vector<NextHops::Member> members(const Router& router, const model::Route& route);
    forwarding::AdjacencyId pin(const forwarding::NeighborKey& key);

    std::string describe(const forwarding::NextHop& hop) const;
    std::string describe(const NextHops::Info& info) const;
    std::string source_name(NextHops::Source source) const;
    NextHops::Source source_number(const std::string& name);
    const Interface* interface(forwarding::InterfaceId id) const;
    const Router* router(forwarding::RouterId id) const;
    template <typename Address>
    void look_up(const Router& router, const Address& address, v1::LookupResponse& response) const;

    forwarding::Tables& tables_;
    worker::Scheduler& scheduler_;
    IdPool& bridge_port_ids_;
    const NameOfPort name_of_port_;
    IdPool router_ids_;
    IdPool interface_ids_;
    NextHops next_hops_;
    std::map<std::string, std::unique_ptr<Router>> routers_;
    std::unordered_map<forwarding::InterfaceId, std::pair<Router*, Interface*>> interface_of_id_;
    struct Host {
        net::MacAddress mac;
        forwarding::BridgePortId bridge_port = forwarding::kNoBridgePort;

        friend bool operator==(const Host&, const Host&) = default;
    };
    std::map<forwarding::NeighborKey, Host> hosts_;  ///< permanent neighbours
    /// Neighbours that next hops refer to, or did until the next maintain().
    std::map<forwarding::NeighborKey, forwarding::AdjacencyId> pinned_;
    uint64_t conflicts_told_ = 0;
    std::vector<std::string> sources_;  ///< from kFirstOther on
    std::set<std::string> dirty_networks_;
    std::vector<forwarding::InterfaceId> unannounced_;
    std::set<forwarding::BridgePortId> ended_bridge_ports_;
    std::vector<forwarding::InterfaceId> retired_interfaces_;
    std::vector<std::shared_ptr<const void>> garbage_;
    std::vector<std::unique_ptr<Router>> retired_routers_;
    api::Problems problems_;
};

}  // namespace heddle::control
