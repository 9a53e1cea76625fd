#include "bridge_model.h"

namespace heddle::test {
namespace {

using packet::DropReason;

uint16_t word(const Bytes& frame, size_t offset) {
    return static_cast<uint16_t>(frame[offset] << 8 | frame[offset + 1]);
}
bool is_tag(uint16_t type) {
    return type == 0x8100 || type == 0x88a8;
}
bool is_group(const Address& address) {
    return (address[0] & 1) != 0;
}
Address address_at(const Bytes& frame, size_t offset) {
    Address address;
    for (size_t i = 0; i < address.size(); ++i)
        address[i] = frame[offset + i];
    return address;
}

/// Table 8-1: addresses a bridge never relays.
bool is_reserved(const Address& address) {
    return address[0] == 0x01 && address[1] == 0x80 && address[2] == 0xc2 && address[3] == 0 &&
           address[4] == 0 && address[5] < 16;
}

/// Bytes of what the MTU of IEEE 802.3 counts: without addresses, type and up to three tags.
size_t l3_bytes(const Bytes& frame) {
    size_t at = 12;
    for (int tags = 0; tags < 3 && at + 6 <= frame.size() && is_tag(word(frame, at)); ++tags)
        at += 4;
    return frame.size() - at - 2;
}

}  // namespace

uint32_t ModelNetwork::learned() const {
    uint32_t count = 0;
    for (const auto& [address, location] : fdb)
        count += !location.is_static;
    return count;
}

std::optional<BridgeModel::Ingress> BridgeModel::as_member(uint16_t port, uint16_t vlan,
                                                           uint16_t network,
                                                           uint8_t priority) const {
    const auto& members = networks.at(network).members;
    for (size_t i = 0; i < members.size(); ++i) {
        if (members[i].port == port && members[i].vlan == vlan)
            return Ingress{network, i, priority};
    }
    return std::nullopt;
}

std::optional<BridgeModel::Ingress> BridgeModel::classify(uint16_t port, Bytes& frame) {
    const ModelPort& at = ports[port];
    const bool attached = at.untagged.has_value() || !at.tagged.empty();
    const DropReason unknown =
        attached ? DropReason::vlan_not_allowed : DropReason::port_not_attached;
    if (!is_tag(word(frame, 12))) {
        if (at.untagged) return as_member(port, 0, *at.untagged, 0);
        drop(port, unknown);
        return std::nullopt;
    }
    if (frame.size() < 18) {
        drop(port, DropReason::bad_vlan_tag);
        return std::nullopt;
    }
    const uint16_t tci = word(frame, 14);
    const uint16_t vid = tci & 0xfff;
    if (word(frame, 12) == 0x8100) {
        if (vid == 0xfff) {
            drop(port, DropReason::bad_vlan_tag);
            return std::nullopt;
        }
        std::optional<uint16_t> network = at.untagged;
        if (vid != 0) {
            network.reset();
            if (at.tagged.contains(vid)) network = at.tagged.at(vid);
        }
        if (network) {
            if (is_tag(word(frame, 16)) && !networks[*network].transparent) {
                drop(port, DropReason::bad_vlan_tag);
                return std::nullopt;
            }
            frame.erase(frame.begin() + 12, frame.begin() + 16);
            return as_member(port, vid, *network, static_cast<uint8_t>(tci >> 12));
        }
    }
    if (at.untagged && networks[*at.untagged].transparent)
        return as_member(port, 0, *at.untagged, 0);
    drop(port, unknown);
    return std::nullopt;
}

void BridgeModel::receive(uint16_t port, Bytes frame) {
    if (frame.size() < 14) return drop(port, DropReason::rx_runt);
    const auto ingress = classify(port, frame);
    if (!ingress) return;
    const Address destination = address_at(frame, 0);
    const Address source = address_at(frame, 6);
    if (is_group(source) || source == Address{}) return drop(port, DropReason::bad_source_mac);

    ModelNetwork& network = networks[ingress->network];
    if (const auto known = network.fdb.find(source); known != network.fdb.end()) {
        if (!known->second.is_static) known->second.member = ingress->member;
    } else if (network.learned() < network.fdb_limit) {
        network.fdb[source] = {ingress->member, false};
    }

    if (is_group(destination)) {
        if (is_reserved(destination) && (network.group_forward_mask >> destination[5] & 1) == 0)
            return drop(port, DropReason::link_local_group);
        return flood(port, *ingress, frame);
    }
    const auto found = network.fdb.find(destination);
    if (found == network.fdb.end()) return flood(port, *ingress, frame);
    const ModelMember& to = network.members[found->second.member];
    if (found->second.member == ingress->member) return drop(port, DropReason::same_port);
    if (to.isolated && network.members[ingress->member].isolated)
        return drop(port, DropReason::port_isolated);
    send(to, ingress->priority, frame);
}

void BridgeModel::flood(uint16_t port, const Ingress& ingress, const Bytes& frame) {
    if (auto& tokens = ports[port].storm_tokens) {
        if (*tokens <= 0) return drop(port, DropReason::storm_limit);
        --*tokens;
    }
    const ModelNetwork& network = networks[ingress.network];
    bool any = false;
    for (size_t i = 0; i < network.members.size(); ++i) {
        if (i == ingress.member) continue;
        if (network.members[i].isolated && network.members[ingress.member].isolated) continue;
        send(network.members[i], ingress.priority, frame);
        any = true;
    }
    if (!any) drop(port, DropReason::no_destination);
}

void BridgeModel::send(const ModelMember& to, uint8_t priority, Bytes frame) {
    if (to.vlan != 0) {
        const uint16_t tci = static_cast<uint16_t>(priority << 12 | to.vlan);
        const Bytes tag = {0x81, 0, static_cast<uint8_t>(tci >> 8), static_cast<uint8_t>(tci)};
        frame.insert(frame.begin() + 12, tag.begin(), tag.end());
    }
    ModelPort& port = ports[to.port];
    if (!port.published) return drop(to.port, DropReason::port_gone);
    if (!port.up) return drop(to.port, DropReason::port_down);
    if (l3_bytes(frame) > port.mtu) return drop(to.port, DropReason::tx_mtu);
    port.sent.push_back(std::move(frame));
}

}  // namespace heddle::test
