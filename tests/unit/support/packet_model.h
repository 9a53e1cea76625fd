#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packet/metadata.h"
#include "support/frames.h"

/// TCP and UDP packets described by value and written byte by byte. Shares no code with src/net or
/// src/packet, so that it can be the oracle for both.
namespace heddle::test {

/// RFC 1071, the slow way: 16-bit big-endian words, folded after each.
inline uint16_t naive_sum(const Bytes& bytes) {
    uint32_t sum = 0;
    for (size_t i = 0; i < bytes.size(); i += 2) {
        sum += static_cast<uint32_t>(bytes[i] << 8) + (i + 1 < bytes.size() ? bytes[i + 1] : 0);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<uint16_t>(sum);
}

inline void append16(Bytes& bytes, uint32_t value) {
    bytes.push_back(static_cast<uint8_t>(value >> 8));
    bytes.push_back(static_cast<uint8_t>(value));
}
inline void append32(Bytes& bytes, uint32_t value) {
    append16(bytes, value >> 16);
    append16(bytes, value);
}
inline void append(Bytes& bytes, const Bytes& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}
inline void store16(Bytes& bytes, size_t offset, uint32_t value) {
    bytes.at(offset) = static_cast<uint8_t>(value >> 8);
    bytes.at(offset + 1) = static_cast<uint8_t>(value);
}
inline uint16_t load16(const Bytes& bytes, size_t offset) {
    return static_cast<uint16_t>(bytes.at(offset) << 8 | bytes.at(offset + 1));
}

enum class ChecksumField { partial, full };

struct PacketModel {
    /// An IPv6 extension header but for its next-header byte; its length is a multiple of 8.
    struct Extension {
        uint8_t type;
        Bytes content;  ///< all but the first byte
    };

    bool v6 = false;
    bool udp = false;
    unsigned vlan_tags = 0;
    Bytes ip_options = {};                   ///< IPv4, a multiple of 4 bytes
    std::vector<Extension> extensions = {};  ///< IPv6
    Bytes final_destination = {};            ///< in a routing header; empty: the destination
    Bytes tcp_options = {};                  ///< a multiple of 4 bytes
    uint8_t tcp_flags = 0x10;
    uint32_t sequence = 1000;
    uint16_t ip_id = 1;
    Bytes payload = {};
    uint16_t destination_port = 443;
    uint8_t other_protocol = 0;  ///< if set, the payload follows the IP header at once

    size_t l3_offset() const { return 14 + 4 * size_t{vlan_tags}; }
    size_t l4_offset() const {
        size_t offset = l3_offset() + (v6 ? 40 : 20) + ip_options.size();
        for (const Extension& extension : extensions)
            offset += 1 + extension.content.size();
        return offset;
    }
    size_t l4_header_length() const {
        if (other_protocol != 0) return 0;
        return udp ? 8 : 20 + tcp_options.size();
    }
    size_t payload_offset() const { return l4_offset() + l4_header_length(); }
    size_t checksum_offset() const { return l4_offset() + (udp ? 6 : 16); }
    uint8_t protocol() const {
        if (other_protocol != 0) return other_protocol;
        return udp ? 17 : 6;
    }
    Bytes source() const {
        return v6 ? Bytes{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
                  : Bytes{10, 0, 0, 1};
    }
    Bytes destination() const {
        return v6 ? Bytes{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 2}
                  : Bytes{10, 0, 255, 2};
    }

    Bytes pseudo_header() const {
        Bytes bytes = source();
        append(bytes, final_destination.empty() ? destination() : final_destination);
        append32(bytes, static_cast<uint32_t>(l4_header_length() + payload.size()));
        append32(bytes, protocol());  // IPv4's has the same words in fewer bytes
        return bytes;
    }

    Bytes bytes(ChecksumField checksum) const {
        Bytes out = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
        for (unsigned tag = 0; tag < vlan_tags; ++tag) {
            append16(out, tag + 1 < vlan_tags ? 0x88a8 : 0x8100);
            append16(out, 0x6000 + 100 + tag);
        }
        append16(out, v6 ? 0x86dd : 0x0800);
        append_ip(out);
        append_l4(out);
        append(out, payload);
        if (other_protocol != 0) return out;
        Bytes message(out.begin() + static_cast<ptrdiff_t>(l4_offset()), out.end());
        uint16_t field = naive_sum(pseudo_header());
        if (checksum == ChecksumField::full) {
            append(message, message.size() % 2 != 0 ? Bytes{0} : Bytes{});
            append(message, pseudo_header());
            field = static_cast<uint16_t>(~naive_sum(message));
            if (udp && field == 0) field = 0xffff;
        }
        store16(out, checksum_offset(), field);
        return out;
    }

    /// Chooses the first two bytes of the payload so that the full checksum field becomes `wanted`.
    void force_checksum(uint16_t wanted) {
        store16(payload, 0, 0);
        const Bytes packet = bytes(ChecksumField::full);
        const uint16_t sum = static_cast<uint16_t>(~load16(packet, checksum_offset()));
        uint32_t word = static_cast<uint16_t>(~wanted) + static_cast<uint16_t>(~sum);
        store16(payload, 0, (word & 0xffff) + (word >> 16));
    }

    /// What a superframe of this content is on the wire (RFC 9293; net/ipv4/tcp_offload.c).
    std::vector<PacketModel> segments(size_t gso_size) const {
        std::vector<PacketModel> result;
        for (size_t begin = 0; begin < payload.size(); begin += gso_size) {
            const size_t end = std::min(begin + gso_size, payload.size());
            PacketModel segment = *this;
            segment.payload = {payload.begin() + static_cast<ptrdiff_t>(begin),
                               payload.begin() + static_cast<ptrdiff_t>(end)};
            segment.sequence += static_cast<uint32_t>(begin);
            segment.ip_id = static_cast<uint16_t>(ip_id + result.size());
            if (begin != 0) segment.tcp_flags &= 0x7f;             // CWR
            if (end != payload.size()) segment.tcp_flags &= 0xf6;  // FIN, PSH
            result.push_back(segment);
        }
        return result;
    }

    packet::Gso gso() const {
        if (udp) return v6 ? packet::Gso::udp6 : packet::Gso::udp4;
        return v6 ? packet::Gso::tcp6 : packet::Gso::tcp4;
    }

    /// The metadata of a frame with this content as a port would set it.
    packet::Metadata metadata(packet::L4Checksum checksum, uint16_t gso_size = 0) const {
        packet::Metadata known;
        known.parsed = true;
        known.l3_offset = static_cast<uint16_t>(l3_offset());
        known.l4_offset = static_cast<uint16_t>(l4_offset());
        known.payload_offset = static_cast<uint16_t>(payload_offset());
        known.ethertype = v6 ? 0x86dd : 0x0800;
        known.ip_protocol = protocol();
        known.l4_checksum = checksum;
        known.gso = gso_size == 0 ? packet::Gso::none : gso();
        known.gso_size = gso_size;
        return known;
    }

 private:
    void append_ip(Bytes& out) const {
        const size_t begin = out.size();
        const size_t l4_length = l4_header_length() + payload.size();
        if (!v6) {
            append16(out, (0x45 + static_cast<uint32_t>(ip_options.size() / 4)) << 8);
            append16(out, static_cast<uint32_t>(20 + ip_options.size() + l4_length));
            append16(out, ip_id);
            append16(out, 0x4000);
            append16(out, 64 << 8 | protocol());
            append16(out, 0);
            append(out, source());
            append(out, destination());
            append(out, ip_options);
            const Bytes header(out.begin() + static_cast<ptrdiff_t>(begin), out.end());
            store16(out, begin + 10, static_cast<uint16_t>(~naive_sum(header)));
            return;
        }
        append32(out, 0x6000'1234);
        append16(out, static_cast<uint32_t>(l4_offset() - l3_offset() - 40 + l4_length));
        out.push_back(extensions.empty() ? protocol() : extensions[0].type);
        out.push_back(64);
        append(out, source());
        append(out, destination());
        for (size_t i = 0; i < extensions.size(); ++i) {
            out.push_back(i + 1 < extensions.size() ? extensions[i + 1].type : protocol());
            append(out, extensions[i].content);
        }
    }

    void append_l4(Bytes& out) const {
        if (other_protocol != 0) return;
        append16(out, 40000);
        append16(out, destination_port);
        if (udp) {
            append16(out, static_cast<uint32_t>(8 + payload.size()));
            append16(out, 0);
            return;
        }
        append32(out, sequence);
        append32(out, 77);
        out.push_back(static_cast<uint8_t>((5 + tcp_options.size() / 4) << 4));
        out.push_back(tcp_flags);
        append16(out, 512);
        append16(out, 0);
        append16(out, 0);
        append(out, tcp_options);
    }
};

/// A packet inside a tunnel packet: VXLAN, unless the test says otherwise.
struct TunnelModel {
    PacketModel outer{.udp = true, .ip_id = 500, .destination_port = 4789};  ///< without payload
    Bytes header = {8, 0, 0, 0, 0, 0, 42, 0};  ///< between the outer packet's headers and the inner
    bool ethernet = true;                      ///< an Ethernet header precedes the inner packet
    bool outer_checksum = true;                ///< the outer UDP checksum is used
    PacketModel inner = {};

    /// Where the offsets of the inner model count from.
    size_t inner_base() const {
        return outer.payload_offset() + header.size() - (ethernet ? 0 : 14);
    }

    /// `partial` is what a kernel hands to a device that cuts superframes: only the sum of the
    /// pseudo header is in either checksum field.
    Bytes bytes(ChecksumField checksum) const {
        PacketModel whole = outer;
        const Bytes frame = inner.bytes(checksum);
        whole.payload = header;
        whole.payload.insert(whole.payload.end(), frame.begin() + (ethernet ? 0 : 14), frame.end());
        Bytes out = whole.bytes(checksum);
        if (outer.udp && !outer_checksum) store16(out, outer.checksum_offset(), 0);
        return out;
    }

    std::vector<TunnelModel> segments(size_t gso_size) const {
        std::vector<TunnelModel> result;
        for (const PacketModel& packet : inner.segments(gso_size)) {
            TunnelModel segment = *this;
            segment.inner = packet;
            segment.outer.ip_id = static_cast<uint16_t>(outer.ip_id + result.size());
            result.push_back(segment);
        }
        return result;
    }

    packet::Metadata metadata(packet::L4Checksum outer_state, packet::L4Checksum inner_state,
                              uint16_t gso_size = 0) const {
        packet::Metadata known = outer.metadata(outer_state);
        if (outer.other_protocol != 0) known.payload_offset = 0;
        known.inner_l3_offset = static_cast<uint16_t>(inner_base() + inner.l3_offset());
        known.inner_l4_offset = static_cast<uint16_t>(inner_base() + inner.l4_offset());
        known.inner_payload_offset = static_cast<uint16_t>(inner_base() + inner.payload_offset());
        known.inner_l4_checksum = inner_state;
        known.gso = gso_size == 0 ? packet::Gso::none : inner.gso();
        known.gso_size = gso_size;
        return known;
    }
};

/// One of each kind of tunnel that is known, over IPv4 or IPv6, without an inner packet.
inline std::vector<TunnelModel> tunnels(bool outer_v6) {
    const auto ip_ip = [&](bool inner_v6) {
        TunnelModel tunnel{.header = {}, .ethernet = false, .inner = {.v6 = inner_v6}};
        tunnel.outer = {.v6 = outer_v6, .ip_id = 500};
        tunnel.outer.other_protocol = inner_v6 ? 41 : 4;
        return tunnel;
    };
    const auto gre = [&](Bytes header, bool ethernet, bool inner_v6) {
        TunnelModel tunnel = ip_ip(inner_v6);
        tunnel.outer.other_protocol = 47;
        tunnel.header = std::move(header);
        tunnel.ethernet = ethernet;
        return tunnel;
    };
    const auto udp = [&](uint16_t port, Bytes header, bool ethernet, bool inner_v6,
                         bool checksum = true) {
        TunnelModel tunnel{.header = std::move(header), .ethernet = ethernet};
        tunnel.outer.v6 = outer_v6;
        tunnel.outer.destination_port = port;
        tunnel.outer_checksum = checksum || outer_v6;
        tunnel.inner.v6 = inner_v6;
        return tunnel;
    };
    const Bytes vxlan = {8, 0, 0, 0, 0, 0, 42, 0};
    std::vector<TunnelModel> result;
    for (const bool inner_v6 : {false, true}) {
        const auto type = [&](Bytes header) {
            append16(header, inner_v6 ? 0x86dd : 0x0800);
            return header;
        };
        Bytes geneve_ip = type({0, 0});
        append(geneve_ip, {0, 0, 7, 0});
        Bytes gre_key = type({0x20, 0});
        append(gre_key, {0, 0, 0, 9});
        Bytes geneve_options = {3, 0x40, 0x65, 0x58, 0, 0, 7, 0};  // 12 bytes of options
        append(geneve_options, {1, 2, 3, 2, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 1, 2});
        result.push_back(udp(4789, vxlan, true, inner_v6));
        result.push_back(udp(4789, vxlan, true, inner_v6, false));
        result.push_back(udp(8472, {0x88, 0, 0, 1, 0, 0, 42, 0}, true, inner_v6));
        result.push_back(udp(5000, vxlan, true, inner_v6));
        result.push_back(udp(6081, geneve_options, true, inner_v6));
        result.push_back(udp(6081, geneve_ip, false, inner_v6));
        result.push_back(ip_ip(inner_v6));
        result.push_back(gre(type({0, 0}), false, inner_v6));
        result.push_back(gre(gre_key, false, inner_v6));
        result.push_back(gre({0, 0, 0x65, 0x58}, true, inner_v6));
    }
    return result;
}

/// TCP timestamps as Linux lays them out, which leave 1448 of an MTU of 1500.
inline Bytes tcp_timestamps() {
    return {1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8};
}

}  // namespace heddle::test
