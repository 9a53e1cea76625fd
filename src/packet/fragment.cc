#include "packet/fragment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "net/checksum.h"
#include "net/header_at.h"
#include "net/ipv4.h"
#include "packet/checksum.h"
#include "packet/frame.h"

namespace heddle::packet {
namespace {

constexpr uint32_t kFragmentUnit = 8;
constexpr uint32_t kMaxDatagram = 65535;

struct FreeFrame {
    void operator()(rte_mbuf* frame) const noexcept { rte_pktmbuf_free(frame); }
};
using OwnedFrame = std::unique_ptr<rte_mbuf, FreeFrame>;

/// RFC 791, section 3.1.
namespace ip_option {
constexpr uint8_t kEnd = 0;
constexpr uint8_t kNoOperation = 1;
constexpr uint8_t kCopied = 0x80;
}  // namespace ip_option

/// An IPv4 header with room for any options.
class HeaderBytes {
 public:
    /// `header` is of 20 to 60 bytes.
    explicit HeaderBytes(std::span<const std::byte> header) noexcept { append(header); }

    void append(std::span<const std::byte> bytes) noexcept {
        std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
    }
    /// Zeros are "end of option list" and padding alike.
    void pad_to_words() noexcept {
        size_ = (size_ + 3) / 4 * 4;
        ip().set_header_length(static_cast<unsigned>(size_));
    }

    net::Ipv4Header& ip() noexcept {
        return *net::header_at<net::Ipv4Header>(std::span<std::byte>(bytes_), 0);
    }
    std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(size_); }
    uint32_t size() const noexcept { return static_cast<uint32_t>(size_); }

 private:
    std::array<std::byte, 60> bytes_{};
    size_t size_ = 0;
};

/// The header of later fragments; nothing if options run past its end.
std::optional<HeaderBytes> later_header(std::span<const std::byte> first) noexcept {
    HeaderBytes later(first.first(sizeof(net::Ipv4Header)));
    auto options = first.subspan(sizeof(net::Ipv4Header));
    while (!options.empty()) {
        const auto type = std::to_integer<uint8_t>(options[0]);
        if (type == ip_option::kEnd) break;
        size_t length = 1;
        if (type != ip_option::kNoOperation) {
            if (options.size() < 2) return std::nullopt;
            length = std::to_integer<size_t>(options[1]);
            if (length < 2 || length > options.size()) return std::nullopt;
            if ((type & ip_option::kCopied) != 0) later.append(options.first(length));
        }
        options = options.subspan(length);
    }
    later.pad_to_words();
    return later;
}

/// The header at l3_offset with its options, if it is sound and the frame holds all of the packet.
std::optional<std::span<const std::byte>> ipv4_header(const rte_mbuf* frame) noexcept {
    const Metadata& known = metadata(frame);
    const auto head = first_segment(frame);
    const auto* ip = net::header_at<net::Ipv4Header>(head, known.l3_offset);
    if (!known.parsed || ip == nullptr || ip->version() != net::Ipv4Header::kVersion) {
        return std::nullopt;
    }
    const uint32_t header = ip->header_length();
    const uint32_t total = ip->total_length.value();
    if (header < sizeof(net::Ipv4Header) || total < header ||
        known.l3_offset + header > head.size() || known.l3_offset + total > frame->pkt_len) {
        return std::nullopt;
    }
    return head.subspan(known.l3_offset, header);
}

/// May be cut as a matter of principle. A fragment cannot have a checksum left to be completed:
/// the rest of the sum is in other packets.
bool may_fragment(const Metadata& known, const net::Ipv4Header& ip) noexcept {
    const uint32_t payload = ip.total_length.value() - ip.header_length();
    return known.gso == Gso::none && ip.fragment_offset() + payload <= kMaxDatagram &&
           !(ip.is_fragment() && (known.l4_checksum == L4Checksum::partial ||
                                  known.inner_l4_checksum == L4Checksum::partial));
}

/// Cuts the payload of one packet into buffers and puts headers in front, from first to last.
class Fragmenter {
 public:
    /// `header` is that in the frame, of a packet longer than the MTU.
    Fragmenter(const rte_mbuf* frame, std::span<const std::byte> header, const HeaderBytes& later,
               uint16_t mtu, const Pools& pools) noexcept
        : link_header_(first_segment(frame).first(metadata(frame).l3_offset)),
          header_(header),
          later_(later),
          payload_(frame, static_cast<uint32_t>(link_header_.size() + header.size())),
          payload_left_(header_.ip().total_length.value() - header_.size()),
          offset_(header_.ip().fragment_offset()),
          last_has_more_(header_.ip().more_fragments()),
          first_payload_(room(mtu, header_)),
          later_payload_(room(mtu, later_)),
          last_payload_(mtu - std::min<uint32_t>(mtu, later_.size())),
          metadata_(metadata(frame)),
          pools_(pools) {
        metadata_.inner_l3_offset = metadata_.inner_l4_offset = metadata_.inner_payload_offset = 0;
        metadata_.l4_checksum = metadata_.inner_l4_checksum = L4Checksum::unknown;
    }

    /// Nothing if the MTU leaves no room for payload behind one of the headers.
    std::optional<size_t> count() const noexcept {
        if (first_payload_ == 0 || later_payload_ == 0) return std::nullopt;
        const uint32_t rest = payload_left_ - std::min(payload_left_, first_payload_);
        const uint32_t before_last = rest - std::min(rest, last_payload_);
        return 2 + (before_last + later_payload_ - 1) / later_payload_;
    }

    /// Makes a fresh buffer the next fragment. False if it takes more buffers and none is free.
    bool fill(rte_mbuf* fragment) noexcept {
        const uint32_t payload = next_payload();
        payload_left_ -= payload;
        fragment->data_off = kHeadroom;
        metadata(fragment) = metadata_;
        append_headers(fragment, payload);
        if (!append_from(payload_, payload, fragment, pools_)) return false;
        set_headers(metadata(fragment),
                    net::parse_ip(first_segment(fragment), link_header_.size(), fragment->pkt_len));
        offset_ += payload;
        first_ = false;
        return true;
    }

 private:
    static uint32_t room(uint16_t mtu, const HeaderBytes& header) noexcept {
        return mtu < header.size() ? 0 : (mtu - header.size()) / kFragmentUnit * kFragmentUnit;
    }

    uint32_t next_payload() const noexcept {
        if (first_) return first_payload_;
        return payload_left_ <= last_payload_ ? payload_left_ : later_payload_;
    }

    void append_headers(rte_mbuf* fragment, uint32_t payload) noexcept;

    std::span<const std::byte> link_header_;
    HeaderBytes header_;  ///< of the first fragment
    HeaderBytes later_;   ///< of all others
    ChainReader payload_;
    uint32_t payload_left_;
    uint32_t offset_;     ///< of the next fragment in the datagram, bytes
    bool last_has_more_;  ///< the packet is a fragment itself, and not the last one
    uint32_t first_payload_;
    uint32_t later_payload_;
    uint32_t last_payload_;  ///< nothing follows, so it need not end between units
    bool first_ = true;
    Metadata metadata_;  ///< what all fragments begin with
    const Pools& pools_;
};

/// Behind payload_left_ was reduced by this fragment's.
void Fragmenter::append_headers(rte_mbuf* fragment, uint32_t payload) noexcept {
    HeaderBytes& header = first_ ? header_ : later_;
    net::Ipv4Header& ip = header.ip();
    ip.total_length = net::be16_t(static_cast<uint16_t>(header.size() + payload));
    constexpr uint32_t kKeptFlags =
        0xffff & ~(net::Ipv4Header::kMoreFragments | net::Ipv4Header::kFragmentOffsetMask);
    const bool more = payload_left_ != 0 || last_has_more_;
    ip.flags_fragment = net::be16_t(static_cast<uint16_t>(
        (ip.flags_fragment.value() & kKeptFlags) | (more ? net::Ipv4Header::kMoreFragments : 0u) |
        offset_ / kFragmentUnit));
    ip.checksum = net::ipv4_header_checksum(header.bytes());

    const auto bytes = static_cast<uint16_t>(link_header_.size() + header.size());
    auto* to = reinterpret_cast<std::byte*>(rte_pktmbuf_append(fragment, bytes));
    std::memcpy(to, link_header_.data(), link_header_.size());
    std::memcpy(to + link_header_.size(), header.bytes().data(), header.size());
}

/// Completes what checksums are partial; false if the frame is shared and no buffer is free.
bool complete_checksums(OwnedFrame& frame, const Pools& pools) noexcept {
    const Metadata& known = metadata(frame.get());
    if (known.l4_checksum != L4Checksum::partial &&
        known.inner_l4_checksum != L4Checksum::partial) {
        return true;
    }
    rte_mbuf* writable = ensure_headroom(frame.get(), 0, pools);
    if (writable == nullptr) return false;
    (void)frame.release();
    frame.reset(writable);
    complete_l4_checksum(writable);
    return true;
}

}  // namespace

tl::expected<size_t, DropReason> fragment(rte_mbuf* frame, uint16_t mtu, const Pools& pools,
                                          std::span<rte_mbuf*> out) noexcept {
    OwnedFrame owned(frame);
    const auto bad = tl::unexpected(DropReason::tx_bad_segment);
    const auto no_buffer = tl::unexpected(DropReason::tx_no_buffer);
    auto header = ipv4_header(frame);
    if (!header || out.empty()) return bad;

    const auto& ip = *net::header_at<net::Ipv4Header>(*header, 0);
    if (ip.total_length.value() <= mtu) {
        out[0] = owned.release();
        return 1;
    }
    if (ip.dont_fragment()) return tl::unexpected(DropReason::tx_mtu);
    const auto later = later_header(*header);
    if (!later || !may_fragment(metadata(frame), ip) ||
        metadata(frame).l3_offset + header->size() > kSmallRoom) {
        return bad;
    }
    if (!complete_checksums(owned, pools)) return no_buffer;

    header = ipv4_header(owned.get());  // it may have moved
    Fragmenter fragmenter(owned.get(), *header, *later, mtu, pools);
    const auto count = fragmenter.count();
    if (!count || *count > out.size()) return bad;
    if (rte_pktmbuf_alloc_bulk(pools.small(), out.data(), static_cast<unsigned>(*count)) != 0) {
        return no_buffer;
    }
    for (rte_mbuf* fragment : out.first(*count)) {
        if (!fragmenter.fill(fragment)) {
            rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(*count));
            return no_buffer;
        }
    }
    return *count;
}

}  // namespace heddle::packet
