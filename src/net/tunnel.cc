#include "net/tunnel.h"

#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/ip_protocol.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

/// What a tunnel header says follows it.
struct Inside {
    size_t offset;
    uint16_t protocol;  ///< an ethertype, or kEthernetInTunnel
};
using Found = std::optional<Inside>;

Found behind_vxlan(std::span<const std::byte> head, size_t offset, bool known_port) noexcept {
    const auto* vxlan = header_at<VxlanHeader>(head, offset);
    if (vxlan == nullptr) return std::nullopt;
    // Other flags, as of the group policy extension, change nothing of the layout.
    constexpr uint8_t kLayout = VxlanHeader::kHasVni | VxlanHeader::kHasNextProtocol;
    const uint8_t relevant = known_port ? kLayout : 0xff;
    if ((vxlan->flags & relevant) != VxlanHeader::kHasVni) return std::nullopt;
    return Inside{offset + sizeof(VxlanHeader), kEthernetInTunnel};
}

Found behind_geneve(std::span<const std::byte> head, size_t offset) noexcept {
    const auto* geneve = header_at<GeneveHeader>(head, offset);
    if (geneve == nullptr || geneve->version() != 0) return std::nullopt;
    return Inside{offset + geneve->header_length(), geneve->protocol.value()};
}

Found behind_udp(std::span<const std::byte> head, const ParsedHeaders& outer) noexcept {
    const auto* udp = header_at<UdpHeader>(head, outer.l4_offset);
    if (udp == nullptr) return std::nullopt;
    switch (udp->destination_port.value()) {
        case udp_port::kVxlan:
        case udp_port::kLinuxVxlan:
            return behind_vxlan(head, outer.payload_offset, true);
        case udp_port::kGeneve:
            return behind_geneve(head, outer.payload_offset);
        default:
            return behind_vxlan(head, outer.payload_offset, false);
    }
}

Found behind_gre(std::span<const std::byte> head, size_t offset) noexcept {
    const auto* gre = header_at<GreHeader>(head, offset);
    if (gre == nullptr) return std::nullopt;
    const uint16_t flags = gre->flags_version.value();
    if ((flags & ~GreHeader::kHasKey) != 0) return std::nullopt;
    const size_t key = (flags & GreHeader::kHasKey) != 0 ? sizeof(be32_t) : 0;
    return Inside{offset + sizeof(GreHeader) + key, gre->protocol.value()};
}

Found behind_tunnel_header(std::span<const std::byte> head, const ParsedHeaders& outer) noexcept {
    switch (outer.ip_protocol) {
        case ip_protocol::kUdp:
            return behind_udp(head, outer);
        case ip_protocol::kIpv4:
            return Inside{outer.l4_offset, ethertype::kIpv4};
        case ip_protocol::kIpv6:
            return Inside{outer.l4_offset, ethertype::kIpv6};
        case ip_protocol::kGre:
            return behind_gre(head, outer.l4_offset);
        default:
            return std::nullopt;
    }
}

Found behind_ethernet(std::span<const std::byte> head, size_t offset) noexcept {
    const auto* ethernet = header_at<EthernetHeader>(head, offset);
    if (ethernet == nullptr) return std::nullopt;
    Inside inside{offset + sizeof(EthernetHeader), ethernet->ethertype.value()};
    for (unsigned tags = 0; tags < kMaxVlanTags && is_vlan_tag(inside.protocol); ++tags) {
        const auto* tag = header_at<VlanTag>(head, inside.offset);
        if (tag == nullptr) return std::nullopt;
        inside = {inside.offset + sizeof(VlanTag), tag->ethertype.value()};
    }
    return inside;
}

}  // namespace

std::optional<ParsedHeaders> parse_tunnelled_ip(std::span<const std::byte> head,
                                                const ParsedHeaders& outer,
                                                size_t frame_length) noexcept {
    if (outer.malformed != Malformed::none || outer.incomplete || outer.is_fragment ||
        outer.l4_offset == 0) {
        return std::nullopt;
    }
    auto inside = behind_tunnel_header(head, outer);
    if (inside && inside->protocol == kEthernetInTunnel) {
        inside = behind_ethernet(head, inside->offset);
    }
    if (!inside) return std::nullopt;
    const auto inner = parse_ip(head, inside->offset, frame_length);
    if (!inner.is_ip() || inner.ethertype != inside->protocol) return std::nullopt;
    return inner;
}

}  // namespace heddle::net
