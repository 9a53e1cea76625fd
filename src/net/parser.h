#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace heddle::net {

/// The first thing found wrong with a frame, from the outside in.
enum class Malformed : uint8_t {
    none,
    ethernet_truncated,
    vlan_truncated,
    ip_truncated,                     ///< shorter than the fixed IP header
    ip_bad_version,                   ///< contradicts the ethertype
    ip_bad_header_length,             ///< IHL below 5
    ip_bad_length,                    ///< shorter than the IP header, or longer than the frame
    extension_header_truncated,       ///< beyond the packet, or shorter than its own fixed part
    extension_header_misplaced,       ///< hop-by-hop options not first, or a second fragment header
    extension_header_chain_too_long,  ///< more than kMaxExtensionHeaders
    l4_truncated,                     ///< also in a first fragment (RFC 1858, RFC 7112)
    l4_bad_length  ///< TCP data offset below 5, UDP length below 8 or beyond the packet
};

/// "ip-bad-length" for Malformed::ip_bad_length.
std::string_view name(Malformed malformed) noexcept;

inline constexpr unsigned kMaxVlanTags = 2;
inline constexpr unsigned kMaxExtensionHeaders = 8;

/// Where the headers of a frame are.
///
/// Offsets count bytes from the beginning of the head given to the parser; 0 means absent. An
/// offset that is set can be relied on: with is_ipv4 or is_ipv6 the fixed IP header at l3_offset
/// lies within the head; where l4_offset is set and ip_protocol is TCP, UDP or the family's ICMP,
/// so does the whole L4 header, TCP options included. What is set before a defect was met stays
/// set.
///
/// Whether a value is known is told by a flag or an offset, never by the value: protocol 0 and VLAN
/// 0 exist (CVE-2023-1668).
struct ParsedHeaders {
    /// Host order, behind the VLAN tags; a third tag is not parsed and shows as its own ethertype.
    uint16_t ethertype = 0;
    uint16_t vlan_tci = 0;   ///< of the first tag, host order; valid if vlan_count > 0
    uint16_t l3_offset = 0;  ///< behind Ethernet header and tags, whatever follows there
    uint16_t l4_offset = 0;  ///< upper-layer header; absent in later fragments
    /// Behind the L4 header, if that is TCP, UDP or ICMP; in a later fragment, of its data.
    uint16_t payload_offset = 0;
    uint16_t fragment_offset = 0;  ///< bytes; valid if is_fragment
    /// Bytes of the IP packet, its headers included; what follows in the frame is padding.
    uint32_t l3_length = 0;
    /// Bytes of L4 header and payload in this packet, for unfragmented UDP as its own field says;
    /// valid if l4_offset is set.
    uint16_t l4_length = 0;
    uint8_t ip_protocol = 0;  ///< behind extension headers; valid if has_ip_protocol
    uint8_t tcp_flags = 0;    ///< valid if has_l4(ip_protocol::kTcp)
    uint8_t vlan_count = 0;   ///< 0 to kMaxVlanTags
    Malformed malformed = Malformed::none;

    bool incomplete = false;  ///< the head, not the frame, ended before the headers did
    bool is_ipv4 = false;
    bool is_ipv6 = false;
    bool has_ip_protocol = false;  ///< not in a later fragment that begins with an extension header
    bool has_ip_options = false;   ///< IPv4 options or IPv6 extension headers
    bool is_fragment = false;      ///< first or later; an atomic fragment is none (RFC 6946)
    /// An IPv6 routing header has other destinations to visit than the one at l3_offset.
    bool has_segments_left = false;

    bool is_ip() const noexcept { return is_ipv4 || is_ipv6; }
    bool is_first_fragment() const noexcept { return is_fragment && fragment_offset == 0; }
    bool is_later_fragment() const noexcept { return is_fragment && fragment_offset != 0; }

    /// An L4 header of this protocol was found and may be read at l4_offset.
    bool has_l4(uint8_t protocol) const noexcept {
        return l4_offset != 0 && ip_protocol == protocol;
    }
};
static_assert(std::is_trivially_copyable_v<ParsedHeaders> && sizeof(ParsedHeaders) <= 32);

/// Parses a frame of `frame_length` bytes, the first of which are `head`. Headers are looked for in
/// the first 64 KB only. Padding of any length behind the IP packet is fine (CVE-2020-35498); IP
/// lengths are checked against the frame (CVE-2016-10377). Jumbograms (RFC 2675) are malformed:
/// length 0.
ParsedHeaders parse_frame(std::span<const std::byte> head, size_t frame_length) noexcept;

/// Parses from the IP header at `l3_offset` on, as behind a tunnel header. The version field
/// decides the family; ethertype is set accordingly, or left 0 if it is neither.
ParsedHeaders parse_ip(std::span<const std::byte> head, size_t l3_offset,
                       size_t frame_length) noexcept;

}  // namespace heddle::net
