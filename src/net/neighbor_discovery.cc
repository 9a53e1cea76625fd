#include "net/neighbor_discovery.h"

#include "net/checksum.h"
#include "net/header_at.h"
#include "net/ip_protocol.h"

namespace heddle::net {
namespace {

bool checksum_ok(const Ipv6Header& ip, std::span<const std::byte> message) noexcept {
    auto sum = pseudo_header(ip.source, ip.destination, ip_protocol::kIcmpv6,
                             static_cast<uint32_t>(message.size()));
    return sum.add(message).is_valid();
}

/// What all messages have in common: everything but addresses, flags and options.
NdDefect check_fixed_part(const Ipv6Header& ip, std::span<const std::byte> message, uint8_t type,
                          size_t fixed_length, NdChecksum checksum) noexcept {
    if (ip.hop_limit != kNdHopLimit) return NdDefect::bad_hop_limit;
    if (message.size() < fixed_length) return NdDefect::truncated;
    const auto& icmp = *header_at<NdRouterSolicitation>(message, 0);  // the shortest of them
    if (icmp.type != type) return NdDefect::wrong_type;
    if (icmp.code != 0) return NdDefect::bad_code;
    if (checksum == NdChecksum::verify && !checksum_ok(ip, message)) return NdDefect::bad_checksum;
    if (ip.source.is_multicast()) return NdDefect::bad_source;
    return NdDefect::none;
}

/// Walks all options and takes the link-layer address of `type` out of them, if there is one.
NdDefect read_options(std::span<const std::byte> options, uint8_t type,
                      std::optional<MacAddress>& mac) noexcept {
    while (!options.empty()) {
        const auto* option = header_at<NdOption>(options, 0);
        if (option == nullptr || option->length() == 0 || option->length() > options.size()) {
            return NdDefect::bad_option_length;
        }
        if (option->type == type) {
            const auto& address = *header_at<NdLinkLayerAddressOption>(options, 0);
            if (option->length() != sizeof(address) || address.mac.is_multicast() ||
                address.mac.is_zero()) {
                return NdDefect::bad_link_layer_address;
            }
            if (!mac) mac = address.mac;
        }
        options = options.subspan(option->length());
    }
    return NdDefect::none;
}

/// Of a solicitation: whoever has no address yet must not be entered into a cache.
NdDefect read_source_options(const Ipv6Header& ip, std::span<const std::byte> options,
                             std::optional<MacAddress>& mac) noexcept {
    const NdDefect defect = read_options(options, nd_option::kSourceLinkLayerAddress, mac);
    if (defect != NdDefect::none) return defect;
    return ip.source.is_unspecified() && mac ? NdDefect::unexpected_link_layer_address
                                             : NdDefect::none;
}

}  // namespace

NdParsed<RouterSolicitation> parse_router_solicitation(const Ipv6Header& ip,
                                                       std::span<const std::byte> message,
                                                       NdChecksum checksum) noexcept {
    constexpr size_t kFixed = sizeof(NdRouterSolicitation);
    NdParsed<RouterSolicitation> parsed;
    parsed.defect =
        check_fixed_part(ip, message, icmpv6_type::kRouterSolicitation, kFixed, checksum);
    if (!parsed) return parsed;
    parsed.message.source = ip.source;
    parsed.defect = read_source_options(ip, message.subspan(kFixed), parsed.message.source_mac);
    return parsed;
}

NdParsed<NeighborSolicitation> parse_neighbor_solicitation(const Ipv6Header& ip,
                                                           std::span<const std::byte> message,
                                                           NdChecksum checksum) noexcept {
    constexpr size_t kFixed = sizeof(NdNeighborSolicitation);
    NdParsed<NeighborSolicitation> parsed;
    parsed.defect =
        check_fixed_part(ip, message, icmpv6_type::kNeighborSolicitation, kFixed, checksum);
    if (!parsed) return parsed;

    const auto& solicitation = *header_at<NdNeighborSolicitation>(message, 0);
    parsed.message.source = ip.source;
    parsed.message.destination = ip.destination;
    parsed.message.target = solicitation.target;
    if (solicitation.target.is_multicast()) {
        parsed.defect = NdDefect::bad_target;
    } else if (ip.source.is_unspecified() && !is_solicited_node_multicast(ip.destination)) {
        parsed.defect = NdDefect::bad_destination;
    } else {
        parsed.defect = read_source_options(ip, message.subspan(kFixed), parsed.message.source_mac);
    }
    return parsed;
}

NdParsed<NeighborAdvertisement> parse_neighbor_advertisement(const Ipv6Header& ip,
                                                             std::span<const std::byte> message,
                                                             NdChecksum checksum) noexcept {
    constexpr size_t kFixed = sizeof(NdNeighborAdvertisement);
    NdParsed<NeighborAdvertisement> parsed;
    parsed.defect =
        check_fixed_part(ip, message, icmpv6_type::kNeighborAdvertisement, kFixed, checksum);
    if (!parsed) return parsed;

    const auto& advertisement = *header_at<NdNeighborAdvertisement>(message, 0);
    parsed.message = {.source = ip.source,
                      .destination = ip.destination,
                      .target = advertisement.target,
                      .target_mac = {},
                      .router = advertisement.has(NdNeighborAdvertisement::kRouter),
                      .solicited = advertisement.has(NdNeighborAdvertisement::kSolicited),
                      .override_cached = advertisement.has(NdNeighborAdvertisement::kOverride)};
    if (advertisement.target.is_multicast()) {
        parsed.defect = NdDefect::bad_target;
    } else if (ip.destination.is_multicast() && parsed.message.solicited) {
        parsed.defect = NdDefect::solicited_multicast;
    } else {
        parsed.defect = read_options(message.subspan(kFixed), nd_option::kTargetLinkLayerAddress,
                                     parsed.message.target_mac);
    }
    return parsed;
}

}  // namespace heddle::net
