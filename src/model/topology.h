#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/ip_address.h"
#include "net/ip_prefix.h"
#include "net/mac_address.h"

/// Desired state after validation: typed, complete with defaults, every name resolvable. The fields
/// mean what api/heddle.proto says of them.
namespace heddle::model {

enum class Polling : uint8_t { adaptive, busy };

struct Settings {
    std::optional<uint16_t> workers;  ///< none: by the number of CPUs
    Polling polling = Polling::adaptive;

    friend bool operator==(const Settings&, const Settings&) = default;
};

/// A VLAN id that stands for "without tag".
inline constexpr uint16_t kUntagged = 0;

struct StaticFdbEntry {
    net::MacAddress mac;  ///< unicast, not zero, once per network
    std::string port;     ///< carries the network under `vlan`
    uint16_t vlan = kUntagged;

    friend bool operator==(const StaticFdbEntry&, const StaticFdbEntry&) = default;
};

struct Network {
    std::string name;
    uint32_t ageing_time = 0;  ///< seconds
    uint32_t fdb_limit = 0;
    bool vlan_transparent = false;
    uint16_t group_forward_mask = 0;
    std::vector<StaticFdbEntry> static_fdb;
    uint16_t mtu = 0;  ///< of packets that routers send into it
    bool proxy_arp = false;

    friend bool operator==(const Network&, const Network&) = default;
};

struct Tap {
    std::string interface;
    std::string netns;  ///< absolute path; empty: the daemon's own namespace
    std::optional<net::MacAddress> mac;
    std::vector<net::IpPrefix> addresses;
    std::vector<net::IpAddress> gateways;  ///< at most one per family
    bool persistent = false;

    friend bool operator==(const Tap&, const Tap&) = default;
};

struct Netdev {
    std::string interface;

    friend bool operator==(const Netdev&, const Netdev&) = default;
};

struct Ethdev {
    std::string devargs;

    friend bool operator==(const Ethdev&, const Ethdev&) = default;
};

using Device = std::variant<Tap, Netdev, Ethdev>;

struct TrunkVlan {
    uint16_t vlan = 0;  ///< 1 to 4094, once per port
    std::string network;

    friend bool operator==(const TrunkVlan&, const TrunkVlan&) = default;
};

struct Port {
    std::string name;
    Device device;
    std::optional<uint16_t> mtu;  ///< none, of a Netdev only: what the interface has
    uint16_t queues = 1;
    std::string network;  ///< of untagged frames; empty: none
    std::vector<TrunkVlan> vlans;
    bool isolated = false;
    uint32_t storm_limit_pps = 0;  ///< 0: no limit
    /// The host behind the port; without `mac` there are no addresses.
    std::optional<net::MacAddress> mac;
    std::vector<net::IpAddress> addresses;

    friend bool operator==(const Port&, const Port&) = default;
};

enum class ReversePath : uint8_t { off, loose, strict };

struct RouterAdvertisement {
    bool managed = false;
    bool other_config = false;
    bool autonomous = true;
    uint16_t interval = 0;  ///< seconds
    uint16_t lifetime = 0;  ///< seconds

    friend bool operator==(const RouterAdvertisement&, const RouterAdvertisement&) = default;
};

struct RouterInterface {
    std::string network;
    std::vector<net::IpPrefix> addresses;  ///< at least one, none link-local
    ReversePath reverse_path = ReversePath::off;
    std::optional<RouterAdvertisement> advertisement;

    friend bool operator==(const RouterInterface&, const RouterInterface&) = default;
};

/// A neighbour in a network that the router has an interface on.
struct NextHop {
    std::string network;
    net::IpAddress address;
    uint8_t weight = 1;

    friend bool operator==(const NextHop&, const NextHop&) = default;
};

struct Blackhole {
    friend bool operator==(const Blackhole&, const Blackhole&) = default;
};
struct Reject {
    friend bool operator==(const Reject&, const Reject&) = default;
};
struct OtherRouter {
    std::string name;

    friend bool operator==(const OtherRouter&, const OtherRouter&) = default;
};

struct Route {
    net::IpPrefix prefix;  ///< without host bits
    uint8_t distance = 1;
    std::variant<std::vector<NextHop>, Blackhole, Reject, OtherRouter> target;

    friend bool operator==(const Route&, const Route&) = default;
};

struct Router {
    std::string name;
    net::MacAddress mac;
    std::vector<RouterInterface> interfaces;
    std::vector<Route> routes;  ///< each prefix once per distance

    friend bool operator==(const Router&, const Router&) = default;
};

/// Names are unique per kind; no device is that of two ports.
struct Topology {
    Settings settings;
    std::vector<Network> networks;
    std::vector<Port> ports;
    std::vector<Router> routers;

    friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace heddle::model
