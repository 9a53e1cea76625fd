#pragma once

#include <array>
#include <utility>
#include <vector>

#include "support/frames.h"
#include "support/packet_model.h"

/// IP packets described by value and written byte by byte. Shares no code with src/, so that it can
/// be the oracle for it.
namespace heddle::test {

inline Bytes slice(const Bytes& bytes, size_t begin, size_t end = SIZE_MAX) {
    end = std::min(end, bytes.size());
    return {bytes.begin() + static_cast<ptrdiff_t>(begin),
            bytes.begin() + static_cast<ptrdiff_t>(end)};
}

inline Bytes joined(Bytes first, const Bytes& second) {
    append(first, second);
    return first;
}

using Mac = std::array<uint8_t, 6>;
inline constexpr Mac kBroadcastMac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

struct IpModel {
    /// An IPv6 extension header but for its next-header byte.
    struct Extension {
        uint8_t type;
        Bytes content;
    };

    bool v6 = false;
    Mac destination_mac = {2, 0, 0, 0, 0, 2};
    Mac source_mac = {2, 0, 0, 0, 0, 1};
    uint8_t tos = 0;
    uint16_t id = 0x1234;
    uint16_t flags_fragment = 0x4000;
    uint8_t ttl = 9;
    uint8_t protocol = 17;
    Bytes source = {};       ///< empty: 10.1.1.1 or 2001:db8::1
    Bytes destination = {};  ///< empty: 10.2.2.2 or 2001:db8::2
    Bytes options = {};      ///< IPv4
    std::vector<Extension> extensions = {};
    Bytes payload = {};

    Bytes from() const {
        if (!source.empty()) return source;
        return v6 ? Bytes{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}
                  : Bytes{10, 1, 1, 1};
    }
    Bytes to() const {
        if (!destination.empty()) return destination;
        return v6 ? Bytes{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}
                  : Bytes{10, 2, 2, 2};
    }
    size_t header_length() const {
        size_t length = (v6 ? 40 : 20) + options.size();
        for (const Extension& extension : extensions)
            length += 1 + extension.content.size();
        return length;
    }

    /// Makes the payload an ICMP message of the family with a right checksum.
    IpModel& icmp(uint8_t type, uint8_t code, const Bytes& rest) {
        protocol = v6 ? 58 : 1;
        payload = joined({type, code, 0, 0}, rest);
        Bytes summed = payload;
        if (summed.size() % 2 != 0) summed.push_back(0);
        if (v6) {
            append(summed, joined(from(), to()));
            append32(summed, static_cast<uint32_t>(payload.size()));
            append32(summed, 58);
        }
        store16(payload, 2, static_cast<uint16_t>(~naive_sum(summed)));
        return *this;
    }

    Bytes packet() const {
        Bytes ip;
        if (!v6) {
            append16(ip, (0x45 + static_cast<uint32_t>(options.size() / 4)) << 8 | tos);
            append16(ip, static_cast<uint32_t>(header_length() + payload.size()));
            append16(ip, id);
            append16(ip, flags_fragment);
            append16(ip, ttl << 8 | protocol);
            append16(ip, 0);
            append(ip, joined(joined(from(), to()), options));
            store16(ip, 10, static_cast<uint16_t>(~naive_sum(ip)));
            return joined(ip, payload);
        }
        append32(ip, 0x6000'0000 | static_cast<uint32_t>(tos) << 20);
        append16(ip, static_cast<uint32_t>(header_length() - 40 + payload.size()));
        ip.push_back(extensions.empty() ? protocol : extensions[0].type);
        ip.push_back(ttl);
        append(ip, joined(from(), to()));
        for (size_t i = 0; i < extensions.size(); ++i) {
            ip.push_back(i + 1 < extensions.size() ? extensions[i + 1].type : protocol);
            append(ip, extensions[i].content);
        }
        return joined(ip, payload);
    }

    Bytes frame() const {
        Bytes out(destination_mac.begin(), destination_mac.end());
        out.insert(out.end(), source_mac.begin(), source_mac.end());
        append16(out, v6 ? 0x86dd : 0x0800);
        return joined(out, packet());
    }
};

}  // namespace heddle::test
