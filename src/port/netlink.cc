#include "port/netlink.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>

#include <cstring>

namespace heddle::port {
namespace {

/// libnl's objects are reference counted; each has its own function to drop a reference.
template <auto put>
struct Put {
    template <typename Object>
    void operator()(Object* object) const noexcept {
        put(object);
    }
};
using LinkHandle = std::unique_ptr<rtnl_link, Put<rtnl_link_put>>;
using AddressHandle = std::unique_ptr<rtnl_addr, Put<rtnl_addr_put>>;
using RouteHandle = std::unique_ptr<rtnl_route, Put<rtnl_route_put>>;
using CacheHandle = std::unique_ptr<nl_cache, Put<nl_cache_free>>;
using AddrHandle = std::unique_ptr<nl_addr, Put<nl_addr_put>>;

Result<void> check(int status) {
    if (status < 0) return tl::unexpected(std::string(nl_geterror(status)));
    return {};
}

AddrHandle build(const net::IpAddress& address) {
    if (const auto* v4 = address.v4()) return AddrHandle(nl_addr_build(AF_INET, v4, sizeof(*v4)));
    return AddrHandle(nl_addr_build(AF_INET6, address.v6(), sizeof(net::Ipv6Address)));
}

/// Nothing if it is of another family.
std::optional<net::IpPrefix> parse(nl_addr* address) {
    if (address == nullptr) return std::nullopt;
    const auto as = [address](auto value) -> std::optional<net::IpPrefix> {
        if (nl_addr_get_len(address) != sizeof(value)) return std::nullopt;
        std::memcpy(&value, nl_addr_get_binary_addr(address), sizeof(value));
        return net::Prefix<decltype(value)>(value, nl_addr_get_prefixlen(address));
    };
    switch (nl_addr_get_family(address)) {
        case AF_INET:
            return as(net::Ipv4Address());
        case AF_INET6:
            return as(net::Ipv6Address());
        default:
            return std::nullopt;
    }
}

}  // namespace

Result<Netlink> Netlink::open() {
    Netlink netlink(nl_socket_alloc());
    if (netlink.socket_ == nullptr) return tl::unexpected(error_text(ENOMEM));
    if (auto done = check(nl_connect(netlink.socket_.get(), NETLINK_ROUTE)); !done) {
        return tl::unexpected("cannot open a netlink socket: " + done.error());
    }
    return netlink;
}

Result<Netlink> Netlink::open(const NetworkNamespace& where) {
    return where.run([] { return open(); });
}

Result<std::optional<Link>> Netlink::find(const std::string& name) {
    return find(0, name.c_str());
}

Result<std::optional<Link>> Netlink::find(int index) {
    return find(index, nullptr);
}

Result<std::optional<Link>> Netlink::find(int index, const char* name) {
    rtnl_link* found = nullptr;
    const int status = rtnl_link_get_kernel(socket_.get(), index, name, &found);
    if (status == -NLE_NODEV || status == -NLE_OBJ_NOTFOUND) return std::nullopt;
    if (auto done = check(status); !done) return tl::unexpected(done.error());
    const LinkHandle handle(found);
    const char* kind = rtnl_link_get_type(found);
    return Link{.index = rtnl_link_get_ifindex(found),
                .name = rtnl_link_get_name(found),
                .kind = kind == nullptr ? "" : kind,
                .flags = rtnl_link_get_flags(found),
                .mtu = rtnl_link_get_mtu(found),
                .master = rtnl_link_get_master(found),
                .ethernet = rtnl_link_get_arptype(found) == ARPHRD_ETHER,
                .carrier = rtnl_link_get_carrier(found) != 0,
                .tx_dropped = rtnl_link_get_stat(found, RTNL_LINK_TX_DROPPED)};
}

Result<void> Netlink::change(int index, const LinkChange& change) {
    const LinkHandle which(rtnl_link_alloc());
    const LinkHandle changes(rtnl_link_alloc());
    if (which == nullptr || changes == nullptr) return tl::unexpected(error_text(ENOMEM));
    rtnl_link_set_ifindex(which.get(), index);
    if (change.name) rtnl_link_set_name(changes.get(), change.name->c_str());
    if (change.namespace_fd) rtnl_link_set_ns_fd(changes.get(), *change.namespace_fd);
    if (change.mac) {
        const AddrHandle mac(nl_addr_build(AF_LLC, &*change.mac, sizeof(*change.mac)));
        rtnl_link_set_addr(changes.get(), mac.get());
    }
    if (change.mtu) rtnl_link_set_mtu(changes.get(), *change.mtu);
    if (change.tx_queue_length) rtnl_link_set_txqlen(changes.get(), *change.tx_queue_length);
    if (change.up) rtnl_link_set_flags(changes.get(), IFF_UP);
    return check(rtnl_link_change(socket_.get(), which.get(), changes.get(), 0));
}

Result<void> Netlink::add_address(int index, const net::IpPrefix& address) {
    const AddressHandle handle(rtnl_addr_alloc());
    const AddrHandle local = build(address.address());
    if (handle == nullptr || local == nullptr) return tl::unexpected(error_text(ENOMEM));
    nl_addr_set_prefixlen(local.get(), static_cast<int>(address.length()));
    rtnl_addr_set_ifindex(handle.get(), index);
    rtnl_addr_set_local(handle.get(), local.get());
    if (address.is_v6()) rtnl_addr_set_flags(handle.get(), IFA_F_NODAD);
    return check(rtnl_addr_add(socket_.get(), handle.get(), NLM_F_CREATE | NLM_F_REPLACE));
}

Result<std::vector<net::IpPrefix>> Netlink::addresses(int index) {
    nl_cache* cache = nullptr;
    if (auto done = check(rtnl_addr_alloc_cache(socket_.get(), &cache)); !done) {
        return tl::unexpected(done.error());
    }
    const CacheHandle handle(cache);
    std::vector<net::IpPrefix> found;
    for (nl_object* object = nl_cache_get_first(cache); object != nullptr;
         object = nl_cache_get_next(object)) {
        auto* address = reinterpret_cast<rtnl_addr*>(object);
        if (rtnl_addr_get_ifindex(address) != index) continue;
        if (const auto prefix = parse(rtnl_addr_get_local(address))) found.push_back(*prefix);
    }
    return found;
}

Result<void> Netlink::add_default_route(int index, const net::IpAddress& gateway) {
    const RouteHandle route(rtnl_route_alloc());
    const AddrHandle any(nl_addr_build(gateway.is_v4() ? AF_INET : AF_INET6, nullptr, 0));
    const AddrHandle via = build(gateway);
    rtnl_nexthop* hop = rtnl_route_nh_alloc();
    if (route == nullptr || any == nullptr || via == nullptr || hop == nullptr) {
        if (hop != nullptr) rtnl_route_nh_free(hop);
        return tl::unexpected(error_text(ENOMEM));
    }
    rtnl_route_nh_set_ifindex(hop, index);
    rtnl_route_nh_set_gateway(hop, via.get());
    rtnl_route_add_nexthop(route.get(), hop);  // which owns it from here on
    rtnl_route_set_dst(route.get(), any.get());
    rtnl_route_set_protocol(route.get(), RTPROT_STATIC);
    rtnl_route_set_flags(route.get(), RTNH_F_ONLINK);
    // Never replaces: in the host's own namespace that would take the host off its network.
    const int status = rtnl_route_add(socket_.get(), route.get(), NLM_F_CREATE | NLM_F_EXCL);
    if (status != -NLE_EXIST) return check(status);
    const auto same = has_default_route(index, gateway);
    if (!same) return tl::unexpected(same.error());
    if (!*same) return tl::unexpected(std::string("there is another default route already"));
    return {};
}

Result<bool> Netlink::has_default_route(int index, const net::IpAddress& gateway) {
    nl_cache* cache = nullptr;
    const int family = gateway.is_v4() ? AF_INET : AF_INET6;
    if (auto done = check(rtnl_route_alloc_cache(socket_.get(), family, 0, &cache)); !done) {
        return tl::unexpected(done.error());
    }
    const CacheHandle handle(cache);
    const AddrHandle via = build(gateway);
    for (nl_object* object = nl_cache_get_first(cache); object != nullptr;
         object = nl_cache_get_next(object)) {
        auto* route = reinterpret_cast<rtnl_route*>(object);
        if (nl_addr_get_prefixlen(rtnl_route_get_dst(route)) != 0) continue;
        if (rtnl_route_get_nnexthops(route) != 1) continue;
        rtnl_nexthop* hop = rtnl_route_nexthop_n(route, 0);
        nl_addr* hop_gateway = rtnl_route_nh_get_gateway(hop);
        if (rtnl_route_nh_get_ifindex(hop) == index && hop_gateway != nullptr &&
            nl_addr_cmp(hop_gateway, via.get()) == 0) {
            return true;
        }
    }
    return false;
}

}  // namespace heddle::port
