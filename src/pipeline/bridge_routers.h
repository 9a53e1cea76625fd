#pragma once

#include <optional>

#include "pipeline/context.h"

namespace heddle::pipeline {

/// The first interface of a router on a bridge that meets a condition; nullptr if none does. An id
/// that is another interface's by now is passed over.
template <typename Condition>
const forwarding::RouterInterface* find_router(const Context& context,
                                               const forwarding::Bridge& bridge,
                                               Condition condition) noexcept {
    for (const forwarding::InterfaceId id : bridge.routers) {
        const forwarding::RouterInterface* interface = context.tables.interface(id);
        if (interface == nullptr || interface->bridge != bridge.id) continue;
        if (condition(*interface)) return interface;
    }
    return nullptr;
}

/// The router's interface that has an address; nullptr if it is no router's.
template <typename Address>
const forwarding::RouterInterface* owner_of(const Context& context,
                                            const forwarding::Bridge& bridge,
                                            const Address& address) noexcept {
    return find_router(context, bridge, [&](const forwarding::RouterInterface& interface) {
        return interface.owns(address);
    });
}

/// The MAC address of a host of the port table that is to be answered for.
inline std::optional<net::MacAddress> proxied(const Context& context,
                                              const forwarding::Bridge& bridge,
                                              const forwarding::NeighborKey& key) noexcept {
    if (!bridge.proxy_arp) return std::nullopt;
    const forwarding::AdjacencyId id = context.tables.neighbors.find(key);
    if (id == forwarding::kNoAdjacency) return std::nullopt;
    const uint64_t link = context.tables.neighbors.at(id).link.load(std::memory_order_acquire);
    if ((link & forwarding::Adjacency::kPermanent) == 0) return std::nullopt;
    return forwarding::Adjacency::mac_of(link);
}

}  // namespace heddle::pipeline
