#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/arp.h"
#include "net/ethernet.h"
#include "net/icmp.h"
#include "net/ip_address.h"
#include "net/ip_protocol.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/mac_address.h"
#include "net/tcp.h"

namespace heddle::net {

struct Ipv4Fields {
    uint8_t ttl = 64;
    uint8_t dscp_ecn = 0;
    uint16_t identification = 0;
    uint16_t flags_fragment = 0;              ///< as in Ipv4Header, host order
    uint8_t protocol = 0;                     ///< used unless a known layer follows
    std::span<const std::byte> options = {};  ///< padded to a multiple of 4
};

struct Ipv6Fields {
    uint8_t hop_limit = 64;
    uint8_t traffic_class = 0;
    uint32_t flow_label = 0;
    uint8_t next_header = ip_protocol::kNoNextHeader;  ///< used unless a known layer follows
};

struct TcpFields {
    uint32_t sequence = 0;
    uint32_t acknowledgment = 0;
    uint8_t flags = tcp_flag::kAck;
    uint16_t window = 65535;
    std::span<const std::byte> options = {};  ///< padded to a multiple of 4
};

/// Builds a frame from the outside in; each layer announces itself in the one before it, and
/// build() fills in lengths and checksums, which are right for any nesting:
///
///     auto frame = PacketBuilder()
///                      .ethernet(source_mac, destination_mac)
///                      .vlan(10)
///                      .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
///                      .udp(5353, 53)
///                      .payload(100)
///                      .build();
///
/// Addresses and ports are given as source, destination. Without ethernet() the result begins with
/// the IP header. Made for tests, benchmarks and rare answers: it allocates.
class PacketBuilder {
 public:
    PacketBuilder& ethernet(const MacAddress& source, const MacAddress& destination,
                            uint16_t ethertype = 0);  ///< ethertype unless a known layer follows
    PacketBuilder& vlan(uint16_t vid, uint8_t pcp = 0, uint16_t tpid = ethertype::kVlan);
    PacketBuilder& arp(const ArpHeader& header);
    PacketBuilder& ipv4(Ipv4Address source, Ipv4Address destination, const Ipv4Fields& fields = {});
    PacketBuilder& ipv6(const Ipv6Address& source, const Ipv6Address& destination,
                        const Ipv6Fields& fields = {});

    /// An IPv6 extension header as it is on the wire, but for its first byte (next header).
    PacketBuilder& ipv6_extension(uint8_t protocol, std::span<const std::byte> header);
    PacketBuilder& ipv6_fragment(uint16_t offset, bool more_fragments, uint32_t identification,
                                 uint8_t next_header = ip_protocol::kNoNextHeader);

    PacketBuilder& tcp(uint16_t source_port, uint16_t destination_port,
                       const TcpFields& fields = {});
    PacketBuilder& udp(uint16_t source_port, uint16_t destination_port);
    PacketBuilder& icmp(uint8_t type, uint8_t code, uint16_t word1 = 0, uint16_t word2 = 0);
    PacketBuilder& icmpv6(uint8_t type, uint8_t code, uint16_t word1 = 0, uint16_t word2 = 0);

    PacketBuilder& payload(std::span<const std::byte> bytes);
    PacketBuilder& payload(size_t length);  ///< bytes that count up: 0, 1, 2 ... 255, 0 ...

    /// Bytes behind the packet that no length field counts, such as up to Ethernet's minimum. Last
    /// call.
    PacketBuilder& padding(size_t length);

    /// Leave the innermost TCP or UDP checksum as a sender with checksum offload does: the field
    /// holds the sum of the pseudo header. Enclosing UDP checksums do not anticipate its
    /// completion.
    PacketBuilder& partial_checksum();

    std::vector<std::byte> build() const;

 private:
    enum class Kind : uint8_t { ipv4, ipv6, tcp, udp, icmp, icmpv6 };
    struct Layer {
        Kind kind;
        size_t offset;
    };

    template <class Header>
    void append(const Header& header);
    void append_options(std::span<const std::byte> options);
    void begin(Kind kind) { layers_.push_back({kind, bytes_.size()}); }
    void announce(uint16_t ethertype, uint8_t protocol);
    void announce_protocol(uint8_t protocol) { announce(0, protocol); }
    void finish_ipv4(std::span<std::byte> packet) const;
    void finish_l4(std::span<std::byte> packet, size_t layer_index) const;

    /// Where the last layer names what follows it.
    enum class NextField : uint8_t { none, ethertype, protocol };

    std::vector<std::byte> bytes_;
    std::vector<Layer> layers_;  ///< those with a length or a checksum
    NextField next_field_ = NextField::none;
    size_t next_field_offset_ = 0;
    size_t padding_ = 0;
    bool partial_ = false;
};

}  // namespace heddle::net
