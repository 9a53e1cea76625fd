#include <sanitizer/asan_interface.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "../unit/support/dpdk.h"
#include "../unit/support/frames.h"
#include "net/header_at.h"
#include "net/l4_checksum.h"
#include "net/tunnel.h"
#include "packet/checksum.h"
#include "packet/frame.h"
#include "packet/segment.h"
#include "port/vnet_header.h"

// Input: a virtio_net_hdr (10 bytes), a byte whose lowest bit says that a VLAN tag was reinserted,
// a byte that counts segments, as many bytes of their lengths, and the frame. An accepted frame
// goes all the way to an egress without offloads.

namespace heddle {
namespace {

using packet::L4Checksum;
using packet::metadata;
using packet::Metadata;
using port::VnetHeader;
using test::Bytes;
using test::bytes_of;
using test::FramePtr;

const packet::Pools* pools = nullptr;

void require(bool condition) {
    if (!condition) std::abort();
}

bool equal(const Metadata& a, const Metadata& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

std::span<const std::byte> as_span(const Bytes& bytes) {
    return std::as_bytes(std::span(bytes));
}

/// While it lives, reading or writing behind the bytes of a frame's segments is an error to
/// AddressSanitizer, which otherwise sees nothing of what happens inside a mempool. Behind the
/// first segment of several there is room for pull().
class Guard {
 public:
    explicit Guard(const rte_mbuf* frame) {
        for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
            if (segment != frame || frame->next == nullptr) {
                rooms_.emplace_back(rte_pktmbuf_mtod_offset(segment, char*, segment->data_len),
                                    rte_pktmbuf_tailroom(segment));
            }
        }
        for (const auto& room : rooms_)
            ASAN_POISON_MEMORY_REGION(room.data(), room.size());
    }
    ~Guard() {
        for (const auto& room : rooms_)
            ASAN_UNPOISON_MEMORY_REGION(room.data(), room.size());
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

 private:
    std::vector<std::span<char>> rooms_;
};

/// The sender kept its part of the contract: the field holds the sum of the pseudo header.
bool has_honest_partial(const Bytes& frame, const net::ParsedHeaders& headers) {
    const auto begun = net::begin_l4_checksum(as_span(frame), headers);
    return begun && begun->sum() ==
                        *net::header_at<net::be16_t>(
                            as_span(frame), headers.l4_offset + *net::l4_checksum_offset(headers));
}

bool has_honest_partial(const Bytes& frame) {
    return has_honest_partial(frame, net::parse_frame(as_span(frame), frame.size()));
}

/// The inner packet of a frame that is one: found where its metadata says.
net::ParsedHeaders inner_headers(const Bytes& frame, const Metadata& known) {
    const auto outer = net::parse_frame(as_span(frame), frame.size());
    require(outer.malformed == net::Malformed::none && outer.l4_offset == known.l4_offset);
    const auto inner = net::parse_tunnelled_ip(as_span(frame), outer, frame.size());
    require(inner && inner->malformed == net::Malformed::none);
    require(inner->l3_offset == known.inner_l3_offset);
    require(inner->l4_offset == known.inner_l4_offset);
    require(inner->payload_offset == known.inner_payload_offset);
    return *inner;
}

/// The outer checksum is right even if the sender lied about the inner one.
void check_tunnelled_segment(const rte_mbuf* frame, bool honest) {
    require(test::is_sane(frame));
    const Metadata& known = metadata(frame);
    require(known.gso == packet::Gso::none && known.inner_l4_checksum == L4Checksum::good);
    const Bytes bytes = bytes_of(frame);
    const auto outer = net::parse_frame(as_span(bytes), bytes.size());
    require(outer.l3_offset + outer.l3_length == bytes.size());
    require((net::verify_l4_checksum(as_span(bytes), outer) == net::L4ChecksumState::good) ==
            (known.l4_checksum == L4Checksum::good));
    require(outer.is_ipv4 || known.ip_protocol != 17 || known.l4_checksum == L4Checksum::good);
    const auto inner = inner_headers(bytes, known);
    if (honest) {
        require(net::verify_l4_checksum(as_span(bytes), inner) == net::L4ChecksumState::good);
    }
}

void check_complete(const rte_mbuf* frame, bool honest) {
    require(test::is_sane(frame));
    require(metadata(frame).l4_checksum == L4Checksum::good);
    require(metadata(frame).gso == packet::Gso::none);
    const Bytes bytes = bytes_of(frame);
    const auto headers = net::parse_frame(as_span(bytes), bytes.size());
    require(headers.malformed == net::Malformed::none);
    require(headers.l4_offset == metadata(frame).l4_offset);
    require(headers.payload_offset == metadata(frame).payload_offset);
    if (honest) {
        require(net::verify_l4_checksum(as_span(bytes), headers) == net::L4ChecksumState::good);
    }
}

void check_segments(FramePtr frame) {
    static const auto storage = std::make_unique<rte_mbuf*[]>(packet::kMaxSegments);
    const Metadata super = metadata(frame.get());
    const Bytes bytes = bytes_of(frame.get());
    const bool tunnelled = super.inner_l4_offset != 0;
    const bool honest = tunnelled ? has_honest_partial(bytes, inner_headers(bytes, super))
                                  : has_honest_partial(bytes);
    const uint32_t expected = packet::segment_count(frame.get());
    require(expected > 1 || tunnelled);

    const auto count = [&] {
        const Guard guard(frame.get());
        return packet::segment(frame.release(), *pools, true,
                               {storage.get(), packet::kMaxSegments});
    }();
    require(count && *count == expected);
    const uint16_t payload_offset = super.gso_payload_offset();
    Bytes payload;
    for (uint32_t i = 0; i < *count; ++i) {
        const FramePtr segment(storage[i]);
        tunnelled ? check_tunnelled_segment(segment.get(), honest)
                  : check_complete(segment.get(), honest);
        const Bytes part = bytes_of(segment.get());
        require(part.size() > payload_offset || bytes.size() == payload_offset);
        require(part.size() <= size_t{payload_offset} + super.gso_size);
        payload.insert(payload.end(), part.begin() + payload_offset, part.end());
    }
    require(
        std::equal(payload.begin(), payload.end(), bytes.begin() + payload_offset, bytes.end()));
}

void check_accepted(FramePtr frame) {
    const Metadata known = metadata(frame.get());
    if (known.inner_l4_offset != 0) {
        require(known.parsed && known.gso != packet::Gso::none);
        require(known.l4_checksum == L4Checksum::unknown);
        require(known.l3_offset < known.l4_offset && known.l4_offset <= known.inner_l3_offset);
        require(known.inner_payload_offset <= frame->data_len);
        return check_segments(std::move(frame));
    }
    const VnetHeader said = port::to_vnet_header(frame.get());
    if (known.l4_checksum != L4Checksum::partial) {
        require(known.gso == packet::Gso::none && said.gso_type == VnetHeader::kGsoNone);
        return;
    }
    require(known.parsed && known.l3_offset < known.l4_offset);
    require(known.l4_offset < known.payload_offset && known.payload_offset <= frame->data_len);
    require(said.csum_start + said.csum_offset + 2 <= known.payload_offset);

    // Said again, it is understood the same way.
    metadata(frame.get()).clear();
    require(port::from_vnet_header(said, frame.get()).has_value());
    require(equal(metadata(frame.get()), known));

    if (known.gso != packet::Gso::none) return check_segments(std::move(frame));
    const bool honest = has_honest_partial(bytes_of(frame.get()));
    {
        const Guard guard(frame.get());
        packet::complete_l4_checksum(frame.get());
    }
    check_complete(frame.get(), honest);
}

void run(const uint8_t* data, size_t size) {
    VnetHeader header;
    if (size < sizeof(header) + 2) return;
    std::memcpy(&header, data, sizeof(header));
    const uint16_t vlan_bytes = (data[sizeof(header)] & 1) * 4;
    const size_t cuts = data[sizeof(header) + 1];
    const uint8_t* const lengths = data + sizeof(header) + 2;
    const uint8_t* const end = data + size;
    if (static_cast<size_t>(end - lengths) < cuts || end - lengths > 65535) return;
    const Bytes bytes(lengths + cuts, end);

    FramePtr frame = test::make_frame(*pools, bytes, {lengths, lengths + cuts});
    const auto verdict = [&] {
        const Guard guard(frame.get());
        return port::from_vnet_header(header, frame.get(), vlan_bytes);
    }();
    require(test::is_sane(frame.get()));
    require(frame->pkt_len == bytes.size());
    if (verdict) return check_accepted(std::move(frame));
    require(bytes_of(frame.get()) == bytes);
    require(equal(metadata(frame.get()), Metadata{}));
}

}  // namespace
}  // namespace heddle

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    static const heddle::packet::Pools pools = heddle::test::make_pools("fuzz");
    heddle::pools = &pools;
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const uint32_t in_use = heddle::pools->in_use();
    heddle::run(data, size);
    heddle::require(heddle::pools->in_use() == in_use);
    return 0;
}
