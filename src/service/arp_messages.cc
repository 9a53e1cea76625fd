#include "service/arp_messages.h"

#include "net/arp.h"
#include "service/message.h"

namespace heddle::service {
namespace {

rte_mbuf* arp_message(const net::MacAddress& destination, const net::ArpHeader& arp,
                      const packet::Pools& pools) noexcept {
    rte_mbuf* frame = begin_message(arp.sender_mac, destination, net::ethertype::kArp, pools);
    if (frame == nullptr) return nullptr;
    append(frame, arp);
    return finish_message(frame);
}

net::ArpHeader header(uint16_t operation, const net::MacAddress& sender_mac,
                      net::Ipv4Address sender_ip, const net::MacAddress& target_mac,
                      net::Ipv4Address target_ip) noexcept {
    net::ArpHeader arp;
    arp.operation = net::be16_t(operation);
    arp.sender_mac = sender_mac;
    arp.sender_ip = sender_ip;
    arp.target_mac = target_mac;
    arp.target_ip = target_ip;
    return arp;
}

}  // namespace

rte_mbuf* arp_request(const net::MacAddress& sender_mac, net::Ipv4Address sender_ip,
                      net::Ipv4Address target_ip, const std::optional<net::MacAddress>& destination,
                      const packet::Pools& pools) noexcept {
    return arp_message(destination.value_or(net::MacAddress::broadcast()),
                       header(net::arp_operation::kRequest, sender_mac, sender_ip, {}, target_ip),
                       pools);
}

rte_mbuf* arp_reply(const net::MacAddress& sender_mac, net::Ipv4Address sender_ip,
                    const net::MacAddress& target_mac, net::Ipv4Address target_ip,
                    const packet::Pools& pools) noexcept {
    return arp_message(
        target_mac,
        header(net::arp_operation::kReply, sender_mac, sender_ip, target_mac, target_ip), pools);
}

rte_mbuf* arp_probe(const net::MacAddress& sender_mac, net::Ipv4Address target_ip,
                    const packet::Pools& pools) noexcept {
    return arp_request(sender_mac, {}, target_ip, std::nullopt, pools);
}

rte_mbuf* arp_announcement(const net::MacAddress& mac, net::Ipv4Address ip, ArpAnnouncement form,
                           const packet::Pools& pools) noexcept {
    const bool reply = form == ArpAnnouncement::reply;
    return arp_message(net::MacAddress::broadcast(),
                       header(reply ? net::arp_operation::kReply : net::arp_operation::kRequest,
                              mac, ip, reply ? mac : net::MacAddress(), ip),
                       pools);
}

}  // namespace heddle::service
