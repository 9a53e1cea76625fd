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

    friend bool operator==(const Port&, const Port&) = default;
};

/// Names are unique per kind; no device is that of two ports.
struct Topology {
    Settings settings;
    std::vector<Network> networks;
    std::vector<Port> ports;

    friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace heddle::model
