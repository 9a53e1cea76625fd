#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "net/big_endian.h"
#include "net/parser.h"

namespace heddle::net {

/// RFC 7348, section 5. Behind it follows an Ethernet frame.
struct VxlanHeader {
    static constexpr uint8_t kHasVni = 0x08;
    /// VXLAN-GPE's (draft-ietf-nvo3-vxlan-gpe): a protocol number, not always Ethernet, is present.
    static constexpr uint8_t kHasNextProtocol = 0x04;

    uint8_t flags = kHasVni;
    uint8_t reserved[3] = {};
    be32_t vni_reserved;  ///< VNI in the upper 24 bits
};
static_assert(sizeof(VxlanHeader) == 8 && alignof(VxlanHeader) == 1);

/// RFC 8926, section 3.4. Options follow.
struct GeneveHeader {
    uint8_t version_options = 0;
    uint8_t flags = 0;
    be16_t protocol;  ///< an ethertype
    be32_t vni_reserved;

    constexpr unsigned version() const noexcept { return version_options >> 6; }
    /// Bytes, options included.
    constexpr unsigned header_length() const noexcept { return 8 + (version_options & 0x3fu) * 4; }
};
static_assert(sizeof(GeneveHeader) == 8 && alignof(GeneveHeader) == 1);

/// RFC 2784; the key is that of RFC 2890.
struct GreHeader {
    static constexpr uint16_t kHasKey = 0x2000;

    be16_t flags_version;
    be16_t protocol;  ///< an ethertype
};
static_assert(sizeof(GreHeader) == 4 && alignof(GreHeader) == 1);

namespace udp_port {
inline constexpr uint16_t kVxlan = 4789;
inline constexpr uint16_t kLinuxVxlan = 8472;  ///< Linux's default, older than IANA's number
inline constexpr uint16_t kGeneve = 6081;
}  // namespace udp_port

/// Transparent Ethernet bridging, as Geneve and GRE name it.
inline constexpr uint16_t kEthernetInTunnel = 0x6558;

/// Finds the IP header inside a tunnel packet whose outer headers are parsed, and parses from there
/// on; offsets count from the beginning of `head`, as those of `outer` do. Known are
///   UDP          VXLAN (RFC 7348) on ports 4789 and 8472, Geneve (RFC 8926) on port 6081; what
///                looks like a VXLAN header on any other port is taken for one
///   IP in IP     RFC 2003, RFC 2473, RFC 4213
///   GRE          RFC 2784 without checksum and sequence number
/// with an Ethernet header and VLAN tags in front of the inner packet where the tunnel says so.
/// None if the packet carries no such thing, or `head` ends before the inner IP header.
///
/// Port numbers are a convention, so this is a guess until something else, such as csum_start of
/// a virtio_net_hdr, bears it out.
std::optional<ParsedHeaders> parse_tunnelled_ip(std::span<const std::byte> head,
                                                const ParsedHeaders& outer,
                                                size_t frame_length) noexcept;

}  // namespace heddle::net
