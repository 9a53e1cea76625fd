#pragma once

#include <net/if.h>
#include <netlink/netlink.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/ip_prefix.h"
#include "net/mac_address.h"
#include "port/network_namespace.h"
#include "port/result.h"

namespace heddle::port {

/// A network interface as the kernel describes it.
struct Link {
    int index = 0;
    std::string name;
    std::string kind;         ///< "veth", "tun", "bridge" ...; empty for hardware
    uint32_t flags = 0;       ///< IFF_UP, IFF_LOWER_UP ...
    uint32_t mtu = 0;         ///< bytes of L3 packet
    int master = 0;           ///< index of the bridge, bond ... it belongs to; 0 if none
    bool ethernet = false;    ///< frames begin with an Ethernet header
    bool carrier = false;     ///< also known while the interface is down
    uint64_t tx_dropped = 0;  ///< frames the host meant to send and the driver dropped

    bool up() const noexcept { return (flags & IFF_UP) != 0; }
};

/// What to change of an interface; what is left out stays.
struct LinkChange {
    std::optional<std::string> name = {};
    std::optional<int> namespace_fd = {};  ///< where to move it; together with `name` in one step
    std::optional<net::MacAddress> mac = {};
    std::optional<uint32_t> mtu = {};
    std::optional<uint32_t> tx_queue_length = {};
    bool up = false;  ///< true sets it up; false leaves it
};

/// A route netlink socket in one network namespace, for one thread at a time. Errors are the bare
/// reason ("File exists"): the caller knows what it wanted and for which device.
class Netlink {
 public:
    /// In the namespace of the calling thread.
    static Result<Netlink> open();
    static Result<Netlink> open(const NetworkNamespace& where);

    /// Nothing if there is no such interface.
    Result<std::optional<Link>> find(const std::string& name);
    Result<std::optional<Link>> find(int index);

    Result<void> change(int index, const LinkChange& change);

    /// Adds an interface address, or changes it if it is there. IPv6 without duplicate address
    /// detection (RFC 4862, 5.4): usable at once.
    Result<void> add_address(int index, const net::IpPrefix& address);
    Result<std::vector<net::IpPrefix>> addresses(int index);

    /// A default route through this interface; succeeds if the very same is already there. The
    /// gateway need not be in the prefix of an address (RTNH_F_ONLINK), as with the /32 of a
    /// Kubernetes pod.
    Result<void> add_default_route(int index, const net::IpAddress& gateway);

 private:
    struct Free {
        void operator()(nl_sock* socket) const noexcept { nl_socket_free(socket); }
    };
    explicit Netlink(nl_sock* socket) noexcept : socket_(socket) {}

    Result<std::optional<Link>> find(int index, const char* name);
    Result<bool> has_default_route(int index, const net::IpAddress& gateway);

    std::unique_ptr<nl_sock, Free> socket_;
};

}  // namespace heddle::port
