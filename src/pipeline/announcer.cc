#include "pipeline/announcer.h"

#include <algorithm>

#include "net/neighbor_discovery.h"
#include "pipeline/routing.h"
#include "service/arp_messages.h"
#include "service/nd_messages.h"

namespace heddle::pipeline {
namespace {

using forwarding::RouterInterface;

/// Hosts and switches miss one announcement now and then (field case 4.6): several, apart.
constexpr uint8_t kAnnouncements = 3;
constexpr uint64_t kAnnouncementMs = 1000;

// RFC 4861, section 10: MAX_INITIAL_RTR_ADVERTISEMENTS, MAX_INITIAL_RTR_ADVERT_INTERVAL,
// MIN_DELAY_BETWEEN_RAS.
constexpr uint8_t kInitialAdvertisements = 3;
constexpr uint64_t kInitialAdvertisementMs = 16'000;
constexpr uint64_t kAdvertisementGapMs = 3000;

void send(Context& context, const RouterInterface& interface, rte_mbuf* frame) noexcept {
    if (frame != nullptr) originate_on_bridge(context, interface.bridge, frame);
}

}  // namespace

Announcer::Announcer() : defended_at_(forwarding::kMaxInterfaces) {
    entries_.reserve(forwarding::kMaxInterfaces);
}

void Announcer::add(Context& context, forwarding::InterfaceId interface) noexcept {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.interface == interface; });
    if (entries_.size() == entries_.capacity()) return;
    entries_.push_back(
        {interface, kAnnouncements, kInitialAdvertisements, context.now, context.now, 0});
}

uint64_t Announcer::tick(Context& context) noexcept {
    uint64_t next = UINT64_MAX;
    std::erase_if(entries_, [&](Entry& entry) {
        const RouterInterface* interface = context.tables.interface(entry.interface);
        if (interface == nullptr) return true;
        if (entry.announcements != 0) {
            if (context.now >= entry.announce_at) {
                announce(context, *interface);
                --entry.announcements;
                entry.announce_at = context.now + milliseconds(kAnnouncementMs);
            }
            if (entry.announcements != 0) next = std::min(next, entry.announce_at);
        }
        if (interface->advertises) {
            if (context.now >= entry.advertise_at) {
                advertise(context, *interface, service::multicast_receiver(net::kAllNodes));
                entry.advertised_at = context.now;
                uint64_t pause = interface->advertisement.interval * uint64_t{1000};
                if (entry.advertisements != 0) {
                    --entry.advertisements;
                    pause = std::min(pause, kInitialAdvertisementMs);
                }
                entry.advertise_at = context.now + milliseconds(pause);
            }
            next = std::min(next, entry.advertise_at);
        }
        return entry.announcements == 0 && !interface->advertises;
    });
    return next;
}

void Announcer::announce(Context& context, const RouterInterface& interface) noexcept {
    for (const net::Ipv4Prefix& own : interface.addresses4) {
        for (const auto form :
             {service::ArpAnnouncement::request, service::ArpAnnouncement::reply}) {
            send(context, interface,
                 service::arp_announcement(interface.mac, own.address(), form, context.pools));
        }
    }
    const auto announce_ipv6 = [&](const net::Ipv6Address& own) {
        service::NeighborAdvertisementMessage message;
        message.source_mac = interface.mac;
        message.source = own;
        message.receiver = service::multicast_receiver(net::kAllNodes);
        message.target = own;
        message.target_mac = interface.mac;
        message.router = true;
        message.override_cached = true;
        send(context, interface, service::neighbor_advertisement(message, context.pools));
    };
    if (interface.addresses6.empty()) return;
    announce_ipv6(interface.link_local);
    for (const net::Ipv6Prefix& own : interface.addresses6)
        announce_ipv6(own.address());
}

void Announcer::advertise(Context& context, const RouterInterface& interface,
                          const service::Ipv6Receiver& receiver) noexcept {
    service::RouterAdvertisement message;
    message.source_mac = interface.mac;
    message.source = interface.link_local;
    message.managed = interface.advertisement.managed;
    message.other_config = interface.advertisement.other_config;
    message.router_lifetime = interface.advertisement.lifetime;
    message.mtu = interface.mtu;
    std::array<service::AdvertisedPrefix, service::kMaxAdvertisedPrefixes> prefixes;
    size_t count = 0;
    for (const net::Ipv6Prefix& own : interface.addresses6) {
        const net::Ipv6Prefix subnet = own.network();
        const auto same = [&](const service::AdvertisedPrefix& each) {
            return each.prefix == subnet;
        };
        if (count == prefixes.size()) break;
        if (std::any_of(prefixes.begin(), prefixes.begin() + count, same)) continue;
        prefixes[count].prefix = subnet;
        // An interface identifier has 64 bits (RFC 4862, section 5.5.3, d).
        prefixes[count].autonomous = interface.advertisement.autonomous && subnet.length() == 64;
        ++count;
    }
    message.prefixes = std::span<const service::AdvertisedPrefix>(prefixes.data(), count);
    send(context, interface, service::router_advertisement(message, receiver, context.pools));
}

void Announcer::solicited(Context& context, const RouterInterface& interface,
                          const net::Ipv6Address& host, const net::MacAddress& mac) noexcept {
    const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
        return each.interface == interface.id;
    });
    if (entry == entries_.end()) return;
    const bool recent = entry->advertised_at != 0 &&
                        context.now - entry->advertised_at < milliseconds(kAdvertisementGapMs);
    if (recent && host.is_unspecified()) {  // it cannot be told alone, and hears the next one
        entry->advertise_at =
            std::min(entry->advertise_at, entry->advertised_at + milliseconds(kAdvertisementGapMs));
        return;
    }
    if (recent) {
        advertise(context, interface, {host, mac});
        return;
    }
    advertise(context, interface, service::multicast_receiver(net::kAllNodes));
    entry->advertised_at = context.now;
}

void Announcer::defend(Context& context, const RouterInterface& interface) noexcept {
    uint64_t& defended_at = defended_at_[interface.id];
    if (defended_at != 0 && context.now - defended_at < milliseconds(kAnnouncementMs)) return;
    defended_at = context.now;
    announce(context, interface);
}

}  // namespace heddle::pipeline
