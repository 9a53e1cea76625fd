#include "reference_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace heddle::net {
namespace {

class Walk {
 public:
    explicit Walk(std::span<const std::byte> frame) : frame_(frame) { run(); }

    ParsedHeaders seen_with(size_t head_length) const {
        ParsedHeaders state;
        for (const auto& [needed, after] : states_) {
            if (needed > head_length) {
                state.incomplete = true;
                break;
            }
            state = after;
        }
        return state;
    }

 private:
    unsigned u8(size_t i) const { return std::to_integer<unsigned>(frame_[i]); }
    unsigned u16(size_t i) const { return u8(i) * 256 + u8(i + 1); }

    /// The state now_ is reached by who has seen `bytes` bytes.
    void reached(size_t bytes) { states_.emplace_back(bytes, now_); }
    void bad(Malformed why, size_t bytes) {
        now_.malformed = why;
        reached(bytes);
    }

    void run() {
        if (frame_.size() < 14) return bad(Malformed::ethernet_truncated, 0);
        size_t at = 14;
        now_.ethertype = static_cast<uint16_t>(u16(12));
        for (int tags = 0; tags < 2; ++tags) {
            if (now_.ethertype != 0x8100 && now_.ethertype != 0x88a8) break;
            reached(at);
            if (frame_.size() < at + 4) return bad(Malformed::vlan_truncated, at);
            if (tags == 0) now_.vlan_tci = static_cast<uint16_t>(u16(at));
            now_.vlan_count++;
            now_.ethertype = static_cast<uint16_t>(u16(at + 2));
            at += 4;
        }
        now_.l3_offset = static_cast<uint16_t>(at);
        reached(at);
        if (now_.ethertype == 0x0800) ipv4(at);
        if (now_.ethertype == 0x86dd) ipv6(at);
    }

    void ipv4(size_t at) {
        if (frame_.size() < at + 20) return bad(Malformed::ip_truncated, at);
        const size_t ihl = (u8(at) & 15) * 4;
        const size_t total = u16(at + 2);
        if (u8(at) / 16 != 4) return bad(Malformed::ip_bad_version, at + 20);
        if (ihl < 20) return bad(Malformed::ip_bad_header_length, at + 20);
        if (total < ihl) return bad(Malformed::ip_bad_length, at + 20);
        if (at + total > frame_.size()) return bad(Malformed::ip_bad_length, at + 20);
        now_.is_ipv4 = true;
        now_.l3_length = static_cast<uint32_t>(total);
        now_.has_ip_options = ihl != 20;
        now_.has_ip_protocol = true;
        now_.ip_protocol = static_cast<uint8_t>(u8(at + 9));
        const unsigned offset_field = u16(at + 6) % 8192;
        const bool more = (u16(at + 6) / 8192) % 2 == 1;
        now_.is_fragment = more || offset_field > 0;
        now_.fragment_offset = static_cast<uint16_t>(offset_field * 8);
        reached(at + 20);
        if (offset_field > 0) {
            now_.payload_offset = static_cast<uint16_t>(at + ihl);
            return reached(at + ihl);
        }
        upper(now_.ip_protocol, at + ihl, at + total, 1);
    }

    void ipv6(size_t at) {
        if (frame_.size() < at + 40) return bad(Malformed::ip_truncated, at);
        const size_t payload = u16(at + 4);
        unsigned next = u8(at + 6);
        if (u8(at) / 16 != 6) return bad(Malformed::ip_bad_version, at + 40);
        if (at + 40 + payload > frame_.size()) return bad(Malformed::ip_bad_length, at + 40);
        if (payload == 0 && next != 59) return bad(Malformed::ip_bad_length, at + 40);
        now_.is_ipv6 = true;
        now_.l3_length = static_cast<uint32_t>(40 + payload);
        const size_t end = at + 40 + payload;
        at += 40;

        std::vector<unsigned> chain;
        while (next == 0 || next == 43 || next == 44 || next == 51 || next == 60) {
            now_.has_ip_options = true;
            reached(at);
            if (chain.size() == 8) return bad(Malformed::extension_header_chain_too_long, at);
            if (at + 8 > end) return bad(Malformed::extension_header_truncated, at);
            if (next == 0 && !chain.empty()) {
                return bad(Malformed::extension_header_misplaced, at + 8);
            }
            if (next == 44 && std::count(chain.begin(), chain.end(), 44u) > 0) {
                return bad(Malformed::extension_header_misplaced, at + 8);
            }
            size_t length = (u8(at + 1) + 1) * 8;
            if (next == 51) length = (u8(at + 1) + 2) * 4;
            if (next == 44) length = 8;
            if (next == 43 && u8(at + 3) > 0) now_.has_segments_left = true;
            if (next == 44) {
                const unsigned offset = u16(at + 2) / 8 * 8;
                now_.fragment_offset = static_cast<uint16_t>(offset);
                now_.is_fragment = offset > 0 || u16(at + 2) % 2 == 1;
                if (offset > 0) {
                    const unsigned protocol = u8(at);
                    now_.ip_protocol = static_cast<uint8_t>(protocol);
                    now_.has_ip_protocol = protocol != 0 && protocol != 43 && protocol != 44 &&
                                           protocol != 51 && protocol != 60;
                    now_.payload_offset = static_cast<uint16_t>(at + 8);
                    return reached(at + 8);
                }
            }
            reached(at + 8);
            if (next == 51 && length < 12)
                return bad(Malformed::extension_header_truncated, at + 8);
            if (at + length > end) return bad(Malformed::extension_header_truncated, at + 8);
            chain.push_back(next);
            next = u8(at);
            at += length;
        }
        now_.ip_protocol = static_cast<uint8_t>(next);
        now_.has_ip_protocol = true;
        upper(next, at, end, 58);
    }

    void upper(unsigned protocol, size_t at, size_t end, unsigned icmp) {
        reached(at);
        size_t header = 0;
        if (protocol == 6) header = 20;
        if (protocol == 17 || protocol == icmp) header = 8;
        if (icmp == 58 && protocol == 59) return;
        if (at + header > end) return bad(Malformed::l4_truncated, at);
        size_t length = end - at;
        if (protocol == 6) {
            header = u8(at + 12) / 16 * 4;
            if (header < 20) return bad(Malformed::l4_bad_length, at + 20);
            if (at + header > end) return bad(Malformed::l4_truncated, at + 20);
            if (header > 20) reached(at + 20);
            now_.tcp_flags = static_cast<uint8_t>(u8(at + 13));
        }
        if (protocol == 17) {
            const size_t field = u16(at + 4);
            if (field < 8) return bad(Malformed::l4_bad_length, at + 8);
            if (!now_.is_fragment && field > length) return bad(Malformed::l4_bad_length, at + 8);
            if (!now_.is_fragment) length = field;
        }
        now_.l4_offset = static_cast<uint16_t>(at);
        now_.l4_length = static_cast<uint16_t>(length);
        if (header > 0) now_.payload_offset = static_cast<uint16_t>(at + header);
        reached(at + header);
    }

    std::span<const std::byte> frame_;
    ParsedHeaders now_;
    std::vector<std::pair<size_t, ParsedHeaders>> states_;
};

}  // namespace

ParsedHeaders reference_parse(std::span<const std::byte> frame, size_t head_length) {
    return Walk(frame).seen_with(head_length);
}

std::string describe(const ParsedHeaders& p) {
    return fmt::format(
        "ethertype {:04x} vlans {} tci {:04x} l3 {}+{} l4 {}+{} payload {} protocol {}{} tcp "
        "{:02x} "
        "{}{}{}{}{}{}at {} {}",
        p.ethertype, p.vlan_count, p.vlan_tci, p.l3_offset, p.l3_length, p.l4_offset, p.l4_length,
        p.payload_offset, p.ip_protocol, p.has_ip_protocol ? "" : "?", p.tcp_flags,
        p.is_ipv4 ? "ipv4 " : "", p.is_ipv6 ? "ipv6 " : "", p.has_ip_options ? "options " : "",
        p.has_segments_left ? "segments-left " : "", p.incomplete ? "incomplete " : "",
        p.is_fragment ? "fragment " : "", p.fragment_offset, name(p.malformed));
}

}  // namespace heddle::net
