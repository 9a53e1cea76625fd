#include "service/answerable.h"

#include "net/checksum.h"
#include "net/header_at.h"
#include "net/ipv4.h"

namespace heddle::service {

bool is_well_formed(std::span<const std::byte> head, const net::ParsedHeaders& parsed) noexcept {
    if (!parsed.is_ip() || parsed.malformed != net::Malformed::none || parsed.incomplete) {
        return false;
    }
    if (parsed.is_ipv6) return true;
    const auto& ip = *net::header_at<net::Ipv4Header>(head, parsed.l3_offset);
    return net::ipv4_header_checksum_ok(head.subspan(parsed.l3_offset, ip.header_length()));
}

}  // namespace heddle::service
