#include "packet/checksum.h"

#include <algorithm>

#include "net/checksum.h"
#include "net/header_at.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "packet/frame.h"

namespace heddle::packet {
namespace {

constexpr uint32_t kUdpField = offsetof(net::UdpHeader, checksum);

/// Offset of the first byte behind the L4 message whose pseudo header sum a partial checksum began
/// with: by UDP's own length, as a receiver verifies it, or else by the IP header's.
uint32_t l4_end(rte_mbuf* frame, uint16_t l3_offset, uint16_t l4_offset, bool udp) noexcept {
    const auto head = first_segment(frame);
    uint32_t end = l3_offset;
    if (udp) {
        end = l4_offset + net::header_at<net::UdpHeader>(head, l4_offset)->length.value();
    } else if (const auto& ip = *net::header_at<net::Ipv4Header>(head, l3_offset);
               ip.version() == net::Ipv4Header::kVersion) {
        end += ip.total_length.value();
    } else {
        end += sizeof(net::Ipv6Header) +
               net::header_at<net::Ipv6Header>(head, l3_offset)->payload_length.value();
    }
    return std::min(end, frame->pkt_len);
}

std::byte& byte_at(rte_mbuf* frame, uint32_t offset) noexcept {
    while (offset >= frame->data_len) {
        offset -= frame->data_len;
        frame = frame->next;
    }
    return *rte_pktmbuf_mtod_offset(frame, std::byte*, offset);
}

/// Sums up [start, end), in which the field at start + offset holds what the sum begins with.
void complete(rte_mbuf* frame, uint32_t start, uint32_t end, uint32_t offset) noexcept {
    net::ChecksumAccumulator sum;
    ChainReader reader(frame, start);
    for (uint32_t left = end > start ? end - start : 0; left != 0;) {
        const auto piece = reader.next(left);
        sum.add(piece);
        left -= static_cast<uint32_t>(piece.size());
    }
    net::be16_t checksum = sum.checksum();
    if (offset == kUdpField) checksum = net::udp_checksum_to_wire(checksum);
    const auto bytes = net::bytes_of(checksum);
    byte_at(frame, start + offset) = bytes[0];  // the field may straddle segments
    byte_at(frame, start + offset + 1) = bytes[1];
}

void complete_l4(rte_mbuf* frame, uint16_t l3_offset, uint16_t l4_offset,
                 uint16_t payload_offset) noexcept {
    const uint16_t field = checksum_field(l4_offset, payload_offset);
    complete(frame, l4_offset, l4_end(frame, l3_offset, l4_offset, field == kUdpField), field);
}

}  // namespace

void complete_l4_checksum(rte_mbuf* frame) noexcept {
    Metadata& known = metadata(frame);
    if (known.inner_l4_checksum == L4Checksum::partial) {
        complete_l4(frame, known.inner_l3_offset, known.inner_l4_offset,
                    known.inner_payload_offset);
        known.inner_l4_checksum = L4Checksum::good;
    }
    if (known.l4_checksum == L4Checksum::partial) {
        complete_l4(frame, known.l3_offset, known.l4_offset, known.payload_offset);
        known.l4_checksum = L4Checksum::good;
    }
}

bool complete_checksum_at(rte_mbuf* frame, uint32_t start, uint32_t offset) noexcept {
    const uint64_t field_end = uint64_t{start} + offset + sizeof(net::be16_t);
    if (field_end > frame->pkt_len) return false;
    complete(frame, start, frame->pkt_len, offset);
    return true;
}

}  // namespace heddle::packet
