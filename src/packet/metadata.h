#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <type_traits>

namespace heddle::packet {

/// State of the TCP or UDP checksum in the frame.
enum class L4Checksum : uint8_t {
    unknown,  ///< nobody looked; the field is what the sender wrote
    good,     ///< verified by the device or the sender's kernel
    partial,  ///< the field holds the folded pseudo-header sum *with* the L4 length; the rest is
              ///< due
    bad       ///< verified and wrong; forwarded untouched, so that the receiver sees it
};

/// Kind of superframe: `gso_size` bytes of payload go into each segment. With `inner_l4_offset` set
/// it is the inner packet that is of this kind.
enum class Gso : uint8_t { none, tcp4, tcp6, udp4, udp6 };

constexpr bool is_tcp(Gso gso) {
    return gso == Gso::tcp4 || gso == Gso::tcp6;
}

/// Why a frame is handed to the worker that resolves neighbours.
enum class Punt : uint8_t {
    none,
    unresolved,  ///< its neighbour's MAC address is not known; not rewritten yet
    neighbor     ///< ARP or neighbour discovery
};

/// What Heddle knows of a frame, in the private area behind its first rte_mbuf: the only truth
/// inside the daemon. `ol_flags`, `l2_len` ... and virtio_net_hdr are translated into it when a
/// frame is received and out of it when it is sent, in port drivers and nowhere else.
///
/// Offsets count bytes from the first byte of the frame (rte_pktmbuf_mtod). They are valid only
/// where `parsed` is set; a frame with `l4_checksum == partial` or `gso != none` always has them,
/// and all headers up to the payload are then contiguous in the first segment. An offset of 0 means
/// absent.
struct Metadata {
    uint16_t ingress_port = 0;  ///< PortId
    uint16_t scope = 0;         ///< BridgeId
    uint16_t l3_offset = 0;
    uint16_t l4_offset = 0;
    uint16_t payload_offset = 0;
    uint16_t inner_l3_offset = 0;
    uint16_t inner_l4_offset = 0;
    uint16_t inner_payload_offset = 0;
    uint16_t gso_size = 0;   ///< bytes of (inner) L4 payload per segment; 0 if gso == none
    uint16_t ethertype = 0;  ///< host order, behind all VLAN tags
    uint8_t ip_protocol = 0;
    Gso gso = Gso::none;
    L4Checksum l4_checksum = L4Checksum::unknown;
    L4Checksum inner_l4_checksum = L4Checksum::unknown;
    bool parsed = false;
    bool gso_ecn =
        false;  ///< virtio's VIRTIO_NET_HDR_GSO_ECN: CWR belongs to the first segment only
    bool has_hash = false;  ///< flow_hash is set
    uint8_t pcp_dei = 0;    ///< priority and drop eligibility of a tag taken off: TCI bits 15 to 12
    uint32_t flow_hash = 0;
    uint16_t ingress_interface = 0;  ///< InterfaceId of the router it came to; 0: not routed
    uint16_t egress_interface = 0;   ///< InterfaceId, of a frame that waits for its neighbour
    uint16_t egress_scope = 0;       ///< BridgeId, likewise
    Punt punt = Punt::none;
    bool originated = false;  ///< Heddle itself made it, and it came from no port
    uint32_t adjacency = 0;   ///< AdjacencyId, of a frame that waits for its neighbour
    uint32_t reserved = 0;
    rte_mbuf* waiting = nullptr;  ///< the next one that waits for the same neighbour
    uint64_t reserved_too = 0;
    void clear() noexcept { *this = Metadata{}; }

    /// Where the payload begins that GSO cuts: that of the inner packet, if there is one.
    uint16_t gso_payload_offset() const noexcept {
        return inner_l4_offset != 0 ? inner_payload_offset : payload_offset;
    }

    /// Moves all offsets after `bytes` (may be negative) were put in front of them, as by a VLAN
    /// tag.
    void shift(int bytes) noexcept;
};
static_assert(sizeof(Metadata) == 64, "one cache line");
static_assert(std::is_trivially_copyable_v<Metadata>);
static_assert(std::has_unique_object_representations_v<Metadata>, "no padding: it can be compared");

/// Every pool of Heddle's has this much private area.
inline constexpr uint16_t kPrivateSize = sizeof(Metadata);

/// Free bytes in front of a received frame. Ethdev drivers leave RTE_PKTMBUF_HEADROOM (128) only.
inline constexpr uint16_t kHeadroom = 256;

inline Metadata& metadata(rte_mbuf* frame) noexcept {
    return *static_cast<Metadata*>(rte_mbuf_to_priv(frame));
}
inline const Metadata& metadata(const rte_mbuf* frame) noexcept {
    return metadata(const_cast<rte_mbuf*>(frame));
}

inline void Metadata::shift(int bytes) noexcept {
    for (uint16_t* offset : {&l3_offset, &l4_offset, &payload_offset, &inner_l3_offset,
                             &inner_l4_offset, &inner_payload_offset}) {
        if (*offset != 0) *offset = static_cast<uint16_t>(*offset + bytes);
    }
}

}  // namespace heddle::packet
