#include "net/flow_hash.h"

#include "net/ethernet.h"
#include "net/hash_mix.h"
#include "net/header_at.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/tcp.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

uint64_t mix(uint64_t state, uint64_t word) noexcept {
    return multiply_fold(state ^ kHashMultiplier1, word ^ kHashMultiplier2);
}

/// Protocol and ports, where all packets of the flow show them. The protocol is tagged as present,
/// so that protocol 0 differs from none.
uint64_t upper_layer_word(std::span<const std::byte> head, const ParsedHeaders& parsed) noexcept {
    if (parsed.is_fragment || !parsed.has_ip_protocol) return 0;
    uint64_t word = 0x100u | parsed.ip_protocol;
    if (parsed.has_l4(ip_protocol::kTcp) || parsed.has_l4(ip_protocol::kUdp)) {
        static_assert(offsetof(TcpHeader, destination_port) ==
                      offsetof(UdpHeader, destination_port));
        const auto* ports = header_at<be32_t>(head, parsed.l4_offset);
        if (ports != nullptr) word |= uint64_t{ports->memory_order()} << 32;
    }
    return word;
}

}  // namespace

uint32_t flow_hash(std::span<const std::byte> head, const ParsedHeaders& parsed,
                   uint64_t seed) noexcept {
    uint64_t hash = seed;
    if (parsed.is_ipv4) {
        const auto* ip = header_at<Ipv4Header>(head, parsed.l3_offset);
        if (ip == nullptr) return 0;
        const uint64_t addresses =
            uint64_t{ip->source.big().memory_order()} << 32 | ip->destination.big().memory_order();
        hash = mix(mix(hash, addresses), upper_layer_word(head, parsed));
    } else if (parsed.is_ipv6) {
        const auto* ip = header_at<Ipv6Header>(head, parsed.l3_offset);
        if (ip == nullptr) return 0;
        hash = mix(mix(hash, ip->source.half(0)), ip->source.half(1));
        hash = mix(mix(hash, ip->destination.half(0)), ip->destination.half(1));
        hash = mix(hash, upper_layer_word(head, parsed));
    } else if (const auto* ethernet = header_at<EthernetHeader>(head, 0)) {
        const uint64_t source_and_type = ethernet->source_u64() | uint64_t{parsed.ethertype} << 48;
        hash = mix(mix(hash, ethernet->destination_u64()), source_and_type);
    }
    hash = mix64(hash);
    return static_cast<uint32_t>(hash);
}

}  // namespace heddle::net
