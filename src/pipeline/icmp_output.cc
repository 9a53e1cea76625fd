#include "pipeline/icmp_output.h"

#include "net/ethernet.h"
#include "net/icmp.h"
#include "net/ipv6.h"
#include "packet/frame.h"
#include "pipeline/ip_checks.h"
#include "pipeline/punt.h"
#include "pipeline/routing.h"
#include "service/icmp_echo.h"
#include "service/icmp_error.h"

namespace heddle::pipeline {
namespace {

using forwarding::RouterInterface;
using packet::DropReason;

service::IcmpErrorKind kind_of(IcmpReason reason) noexcept {
    using service::IcmpErrorKind;
    switch (reason) {
        case IcmpReason::ttl_exceeded:
            return IcmpErrorKind::time_exceeded;
        case IcmpReason::no_route:
            return IcmpErrorKind::no_route;
        case IcmpReason::host_unreachable:
            return IcmpErrorKind::address_unreachable;
        case IcmpReason::rejected:
            return IcmpErrorKind::prohibited;
        case IcmpReason::beyond_scope:
            return IcmpErrorKind::beyond_scope;
        case IcmpReason::packet_too_big:
            return IcmpErrorKind::packet_too_big;
        case IcmpReason::protocol_unreachable:
            return IcmpErrorKind::protocol_unreachable;
        case IcmpReason::port_unreachable:
            return IcmpErrorKind::port_unreachable;
    }
    return IcmpErrorKind::no_route;
}

/// Sends the router's answer to whoever sent `to`. A link-local address is on the link that the
/// packet came from; any other has a route.
void answer(Context& context, const RouterInterface& in, rte_mbuf* frame) noexcept {
    packet::Metadata& meta = packet::metadata(frame);
    meta.originated = true;
    meta.has_hash = false;
    if (!is_ipv4(frame) && ipv6_header(frame)->destination.is_link_local()) {
        const forwarding::AdjacencyId id =
            context.tables.neighbors.find({in.bridge, ipv6_header(frame)->destination});
        send_to_neighbor(context, in, id, frame);
        return;
    }
    route_originated(context, in.router, frame);
}

/// What the router itself is asked for, other than neighbour discovery.
void refuse(Context& context, const RouterInterface& in, rte_mbuf* frame) noexcept {
    const net::ParsedHeaders parsed = packet::parse_headers(frame);
    const bool has_port =
        parsed.has_l4(net::ip_protocol::kUdp) || parsed.has_l4(net::ip_protocol::kTcp);
    const bool is_icmp = parsed.ip_protocol == net::ip_protocol::kIcmp ||
                         parsed.ip_protocol == net::ip_protocol::kIcmpv6;
    if (!is_icmp) {
        send_icmp_error(context, in, frame,
                        has_port ? IcmpReason::port_unreachable : IcmpReason::protocol_unreachable);
    }
    drop(context, packet::metadata(frame).ingress_port, DropReason::no_such_service, frame);
}

bool is_neighbor_discovery(rte_mbuf* frame) noexcept {
    constexpr uint32_t kIcmp = sizeof(net::EthernetHeader) + sizeof(net::Ipv6Header);
    if (is_ipv4(frame) || ipv6_header(frame)->next_header != net::ip_protocol::kIcmpv6 ||
        frame->data_len < kIcmp + sizeof(net::IcmpHeader)) {
        return false;
    }
    const uint8_t type = rte_pktmbuf_mtod_offset(frame, const net::IcmpHeader*, kIcmp)->type;
    return type >= net::icmpv6_type::kRouterSolicitation &&
           type <= net::icmpv6_type::kNeighborAdvertisement;
}

}  // namespace

void send_icmp_error(Context& context, const RouterInterface& in, rte_mbuf* frame,
                     IcmpReason reason, uint32_t mtu) noexcept {
    const service::IcmpErrorKind kind = kind_of(reason);
    const forwarding::PortId ingress = packet::metadata(frame).ingress_port;
    if (!service::may_answer(frame, kind) ||
        !context.tables.icmp_limit(ingress).admit(context.now)) {
        return;
    }
    service::IcmpErrorSender sender;
    sender.source_mac = in.mac;
    sender.ipv4_identification = ++context.ip_id;
    if (is_ipv4(frame)) {
        const net::Ipv4Address source = in.source_for(ipv4_header(frame)->source);
        if (source.is_unspecified()) return;
        sender.source = source;
    } else {
        sender.source = in.source_for(ipv6_header(frame)->source);
    }
    constexpr uint32_t kNextHeader = 6;  // where an IPv6 header has it
    rte_mbuf* error =
        service::make_icmp_error(frame, {kind, mtu, kNextHeader}, sender, context.pools);
    if (error == nullptr) return;
    context.tables.counters(forwarding::kNoPort, context.worker).replicated.add(1);
    answer(context, in, error);
}

void deliver_local(Context& context, const RouterInterface& in, rte_mbuf* frame) noexcept {
    if (is_neighbor_discovery(frame)) {
        punt_neighbor_message(context, in.id, frame);
        return;
    }
    if (service::make_echo_reply(frame)) {
        answer(context, in, frame);
        return;
    }
    refuse(context, in, frame);
}

}  // namespace heddle::pipeline
