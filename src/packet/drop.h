#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::packet {

/// Why a frame was not forwarded. There is no other way to lose a frame: whoever frees one without
/// sending or consuming it counts it under one of these, on the port named in the comment.
///
/// X(identifier, "name in the API and the CLI", "what it means and what to look at")
// clang-format off
#define HEDDLE_DROP_REASONS(X)                                                                        \
    /* while receiving; counted on the ingress port */                                                \
    X(rx_runt,            "rx-runt",            "shorter than an Ethernet header")                    \
    X(rx_oversize,        "rx-oversize",        "longer than the largest receive buffer")             \
    X(rx_no_buffer,       "rx-no-buffer",       "no packet buffer was free")                          \
    X(bad_vnet_header,    "bad-vnet-header",    "virtio_net_hdr contradicts the frame")               \
    X(bad_source_mac,     "bad-source-mac",     "source address is zero, multicast or broadcast")     \
    /* classification; counted on the ingress port */                                                 \
    X(port_not_attached,  "port-not-attached",  "the port belongs to no network")                     \
    X(vlan_not_allowed,   "vlan-not-allowed",   "the port carries no network for this VLAN tag")      \
    X(bad_vlan_tag,       "bad-vlan-tag",       "truncated or nested tag, or VLAN id 4095")           \
    X(link_local_group,   "link-local-group",   "IEEE 802.1D reserved group address (STP, LLDP ...)") \
    /* switching; counted on the ingress port */                                                      \
    X(no_destination,     "no-destination",     "flooded, but no other port to send it to")           \
    X(same_port,          "same-port",          "destination was learned on the ingress port")        \
    X(port_isolated,      "port-isolated",      "both ports are isolated")                            \
    X(storm_limit,        "storm-limit",        "flooding beyond storm_limit_pps of the port")        \
    X(router_mac,         "router-mac",         "source address is that of a router of the network")      \
    X(handover_full,      "handover-full",      "the receiving worker's ring was full")               \
    /* routing; counted on the ingress port */                                                        \
    X(not_routable,       "not-routable",       "sent to a router, but neither IP nor ARP")               \
    X(bad_ip_header,      "bad-ip-header",      "version, length, options or extension headers are wrong") \
    X(bad_ip_checksum,    "bad-ip-checksum",    "IPv4 header checksum is wrong")                          \
    X(martian,            "martian",            "source or destination that must not be routed")          \
    X(land,               "land",               "source and destination are the same")                    \
    X(source_route,       "source-route",       "IPv4 source route option or IPv6 routing header")        \
    X(reverse_path,       "reverse-path",       "no route back to the source (reverse_path of the interface)") \
    X(ttl_exceeded,       "ttl-exceeded",       "TTL or hop limit used up")                               \
    X(no_route,           "no-route",           "no route to the destination")                            \
    X(blackhole,          "blackhole",          "a blackhole route")                                      \
    X(rejected,           "rejected",           "a reject route")                                         \
    X(router_loop,        "router-loop",        "led from router to router too often")                    \
    X(beyond_scope,       "beyond-scope",       "link-local address of another link")                     \
    X(packet_too_big,     "packet-too-big",     "exceeds the next MTU and must not be fragmented")        \
    X(no_such_service,    "no-such-service",    "sent to a router's own address, which does not serve it") \
    X(interface_gone,     "interface-gone",     "the router's interface was removed meanwhile")           \
    /* neighbours; counted on the ingress port */                                                     \
    X(neighbor_unreachable, "neighbor-unreachable", "ARP or neighbour discovery found nobody")            \
    X(neighbor_queue_full, "neighbor-queue-full", "too many packets wait for the neighbour's MAC address") \
    X(neighbor_limit,     "neighbor-limit",     "too many unknown neighbours or too much ARP from this port") \
    X(bad_arp,            "bad-arp",            "malformed or forged ARP to a router")                    \
    X(bad_nd,             "bad-nd",             "malformed or forged neighbour discovery to a router")    \
    /* while sending; counted on the egress port */                                                   \
    X(port_gone,          "port-gone",          "the egress port was removed meanwhile")              \
    X(port_down,          "port-down",          "the egress port is down")                            \
    X(tx_mtu,             "tx-mtu",             "packet (or segment) longer than the MTU of the port") \
    X(tx_full,            "tx-full",            "the device's transmit queue stayed full")            \
    X(tx_error,           "tx-error",           "the device refused the frame")                       \
    X(tx_no_buffer,       "tx-no-buffer",       "no packet buffer free to copy or segment into")      \
    X(tx_bad_segment,     "tx-bad-segment",     "headers do not allow to segment the superframe")
// clang-format on

enum class DropReason : uint8_t {
#define X(identifier, name, meaning) identifier,
    HEDDLE_DROP_REASONS(X)
#undef X
};

inline constexpr size_t kDropReasonCount = 0
#define X(identifier, name, meaning) +1
    HEDDLE_DROP_REASONS(X)
#undef X
    ;

/// "tx-mtu" for DropReason::tx_mtu.
std::string_view name(DropReason reason);

/// One line for the operator.
std::string_view meaning(DropReason reason);

}  // namespace heddle::packet
