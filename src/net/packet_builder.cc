#include "net/packet_builder.h"

#include <cassert>

#include "net/checksum.h"
#include "net/header_at.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

size_t padded_to_words(size_t length) {
    return (length + 3) / 4 * 4;
}

uint16_t length16(size_t length) {
    assert(length <= 0xffff);
    return static_cast<uint16_t>(length);
}

}  // namespace

template <class Header>
void PacketBuilder::append(const Header& header) {
    const auto bytes = bytes_of(header);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void PacketBuilder::append_options(std::span<const std::byte> options) {
    bytes_.insert(bytes_.end(), options.begin(), options.end());
    bytes_.resize(bytes_.size() + padded_to_words(options.size()) - options.size());
}

void PacketBuilder::announce(uint16_t ethertype, uint8_t protocol) {
    if (next_field_ == NextField::ethertype && ethertype != 0) {
        *header_at<be16_t>(std::span(bytes_), next_field_offset_) = be16_t(ethertype);
    } else if (next_field_ == NextField::protocol) {
        bytes_[next_field_offset_] = std::byte{protocol};
    }
    next_field_ = NextField::none;
}

PacketBuilder& PacketBuilder::ethernet(const MacAddress& source, const MacAddress& destination,
                                       uint16_t ethertype) {
    next_field_ = NextField::ethertype;
    next_field_offset_ = bytes_.size() + offsetof(EthernetHeader, ethertype);
    append(EthernetHeader{destination, source, be16_t(ethertype)});
    return *this;
}

PacketBuilder& PacketBuilder::vlan(uint16_t vid, uint8_t pcp, uint16_t tpid) {
    assert(next_field_ == NextField::ethertype);
    const auto inner = *header_at<be16_t>(std::span(bytes_), next_field_offset_);
    announce(tpid, 0);
    next_field_ = NextField::ethertype;
    next_field_offset_ = bytes_.size() + offsetof(VlanTag, ethertype);
    append(VlanTag{be16_t(VlanTag::make_tci(pcp, false, vid)), inner});
    return *this;
}

PacketBuilder& PacketBuilder::arp(const ArpHeader& header) {
    announce(ethertype::kArp, 0);
    append(header);
    return *this;
}

PacketBuilder& PacketBuilder::ipv4(Ipv4Address source, Ipv4Address destination,
                                   const Ipv4Fields& fields) {
    assert(fields.options.size() <= 40);
    announce(ethertype::kIpv4, ip_protocol::kIpv4);
    begin(Kind::ipv4);
    next_field_ = NextField::protocol;
    next_field_offset_ = bytes_.size() + offsetof(Ipv4Header, protocol);

    Ipv4Header header;
    header.set_header_length(
        static_cast<unsigned>(sizeof(Ipv4Header) + padded_to_words(fields.options.size())));
    header.dscp_ecn = fields.dscp_ecn;
    header.identification = be16_t(fields.identification);
    header.flags_fragment = be16_t(fields.flags_fragment);
    header.ttl = fields.ttl;
    header.protocol = fields.protocol;
    header.source = source;
    header.destination = destination;
    append(header);
    append_options(fields.options);
    return *this;
}

PacketBuilder& PacketBuilder::ipv6(const Ipv6Address& source, const Ipv6Address& destination,
                                   const Ipv6Fields& fields) {
    announce(ethertype::kIpv6, ip_protocol::kIpv6);
    begin(Kind::ipv6);
    next_field_ = NextField::protocol;
    next_field_offset_ = bytes_.size() + offsetof(Ipv6Header, next_header);

    Ipv6Header header;
    header.version_class_flow =
        be32_t(Ipv6Header::kVersion << 28 | uint32_t{fields.traffic_class} << 20 |
               (fields.flow_label & 0xfffff));
    header.next_header = fields.next_header;
    header.hop_limit = fields.hop_limit;
    header.source = source;
    header.destination = destination;
    append(header);
    return *this;
}

PacketBuilder& PacketBuilder::ipv6_extension(uint8_t protocol, std::span<const std::byte> header) {
    announce_protocol(protocol);
    next_field_ = NextField::protocol;
    next_field_offset_ = bytes_.size();
    return payload(header);
}

PacketBuilder& PacketBuilder::ipv6_fragment(uint16_t offset, bool more_fragments,
                                            uint32_t identification, uint8_t next_header) {
    assert(offset % 8 == 0);
    const uint16_t flags = more_fragments ? Ipv6FragmentHeader::kMoreFragments : 0;
    const Ipv6FragmentHeader header{next_header, 0, be16_t(offset | flags), be32_t(identification)};
    return ipv6_extension(ip_protocol::kFragment, bytes_of(header));
}

PacketBuilder& PacketBuilder::tcp(uint16_t source_port, uint16_t destination_port,
                                  const TcpFields& fields) {
    assert(fields.options.size() <= 40);
    announce_protocol(ip_protocol::kTcp);
    begin(Kind::tcp);
    TcpHeader header;
    header.source_port = be16_t(source_port);
    header.destination_port = be16_t(destination_port);
    header.sequence = be32_t(fields.sequence);
    header.acknowledgment = be32_t(fields.acknowledgment);
    header.set_header_length(
        static_cast<unsigned>(sizeof(TcpHeader) + padded_to_words(fields.options.size())));
    header.flags = fields.flags;
    header.window = be16_t(fields.window);
    append(header);
    append_options(fields.options);
    return *this;
}

PacketBuilder& PacketBuilder::udp(uint16_t source_port, uint16_t destination_port) {
    announce_protocol(ip_protocol::kUdp);
    begin(Kind::udp);
    append(UdpHeader{be16_t(source_port), be16_t(destination_port), {}, {}});
    return *this;
}

PacketBuilder& PacketBuilder::icmp(uint8_t type, uint8_t code, uint16_t word1, uint16_t word2) {
    announce_protocol(ip_protocol::kIcmp);
    begin(Kind::icmp);
    append(IcmpHeader{type, code, {}, be16_t(word1), be16_t(word2)});
    return *this;
}

PacketBuilder& PacketBuilder::icmpv6(uint8_t type, uint8_t code, uint16_t word1, uint16_t word2) {
    announce_protocol(ip_protocol::kIcmpv6);
    begin(Kind::icmpv6);
    append(IcmpHeader{type, code, {}, be16_t(word1), be16_t(word2)});
    return *this;
}

PacketBuilder& PacketBuilder::payload(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
}

PacketBuilder& PacketBuilder::payload(size_t length) {
    for (size_t i = 0; i < length; ++i)
        bytes_.push_back(static_cast<std::byte>(i));
    return *this;
}

PacketBuilder& PacketBuilder::padding(size_t length) {
    padding_ += length;
    return *this;
}

PacketBuilder& PacketBuilder::partial_checksum() {
    partial_ = true;
    return *this;
}

std::vector<std::byte> PacketBuilder::build() const {
    std::vector<std::byte> frame = bytes_;
    const std::span packet(frame);
    // From the inside out: an outer checksum covers the inner ones.
    for (size_t i = layers_.size(); i-- > 0;) {
        const auto layer = packet.subspan(layers_[i].offset);
        switch (layers_[i].kind) {
            case Kind::ipv4:
                finish_ipv4(layer);
                break;
            case Kind::ipv6:
                header_at<Ipv6Header>(layer, 0)->payload_length =
                    be16_t(length16(layer.size() - sizeof(Ipv6Header)));
                break;
            default:
                finish_l4(packet, i);
                break;
        }
    }
    frame.resize(frame.size() + padding_);
    return frame;
}

void PacketBuilder::finish_ipv4(std::span<std::byte> packet) const {
    auto* header = header_at<Ipv4Header>(packet, 0);
    header->total_length = be16_t(length16(packet.size()));
    header->checksum = ipv4_header_checksum(packet.first(header->header_length()));
}

void PacketBuilder::finish_l4(std::span<std::byte> packet, size_t layer_index) const {
    const auto message = packet.subspan(layers_[layer_index].offset);
    const auto begin_sum = [&](uint8_t protocol) {
        assert(layer_index > 0);
        const Layer& below = layers_[layer_index - 1];
        if (below.kind == Kind::ipv4) {
            const auto* ip = header_at<Ipv4Header>(packet, below.offset);
            return pseudo_header(ip->source, ip->destination, protocol, length16(message.size()));
        }
        assert(below.kind == Kind::ipv6);
        const auto* ip = header_at<Ipv6Header>(packet, below.offset);
        return pseudo_header(ip->source, ip->destination, protocol,
                             static_cast<uint32_t>(message.size()));
    };
    const bool partial = partial_ && layer_index + 1 == layers_.size();

    switch (layers_[layer_index].kind) {
        case Kind::tcp: {
            auto sum = begin_sum(ip_protocol::kTcp);
            header_at<TcpHeader>(message, 0)->checksum =
                partial ? sum.sum() : sum.add(message).checksum();
            break;
        }
        case Kind::udp: {
            auto* header = header_at<UdpHeader>(message, 0);
            header->length = be16_t(length16(message.size()));
            auto sum = begin_sum(ip_protocol::kUdp);
            header->checksum =
                partial ? sum.sum() : udp_checksum_to_wire(sum.add(message).checksum());
            break;
        }
        case Kind::icmp:
            header_at<IcmpHeader>(message, 0)->checksum = checksum(message);
            break;
        case Kind::icmpv6:
            header_at<IcmpHeader>(message, 0)->checksum =
                begin_sum(ip_protocol::kIcmpv6).add(message).checksum();
            break;
        default:
            break;
    }
}

}  // namespace heddle::net
