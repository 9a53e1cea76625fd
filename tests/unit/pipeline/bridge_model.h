#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "packet/drop.h"
#include "support/frames.h"

/// A VLAN bridge as IEEE 802.1Q-2018 describes it, in maps of bytes, for comparison. It shares
/// nothing with src/ but the names of drop reasons.
namespace heddle::test {

using Address = std::array<uint8_t, 6>;

struct ModelMember {
    uint16_t port = 0;
    uint16_t vlan = 0;  ///< 0: untagged (the PVID and an untagged egress set, 6.9.2 and 8.8.2)
    bool isolated = false;
};

struct ModelNetwork {
    bool transparent = false;
    uint16_t group_forward_mask = 0;
    uint32_t fdb_limit = 1000;
    std::vector<ModelMember> members;

    struct Location {
        size_t member;
        bool is_static;
    };
    std::map<Address, Location> fdb;
    uint32_t learned() const;
};

struct ModelPort {
    bool published = true;
    bool up = true;
    uint32_t mtu = 1500;
    std::optional<uint16_t> untagged;     ///< network
    std::map<uint16_t, uint16_t> tagged;  ///< network by VLAN id
    std::optional<int64_t> storm_tokens;  ///< floods still admitted
    std::vector<Bytes> sent;
    std::map<packet::DropReason, uint64_t> drops;
};

class BridgeModel {
 public:
    std::map<uint16_t, ModelNetwork> networks;
    std::map<uint16_t, ModelPort> ports;

    void receive(uint16_t port, Bytes frame);

 private:
    struct Ingress {
        uint16_t network;
        size_t member;
        uint8_t priority;  ///< PCP and DEI, to be put into a tag at egress (6.9.3)
    };
    std::optional<Ingress> classify(uint16_t port, Bytes& frame);
    std::optional<Ingress> as_member(uint16_t port, uint16_t vlan, uint16_t network,
                                     uint8_t priority) const;
    void flood(uint16_t port, const Ingress& ingress, const Bytes& frame);
    void send(const ModelMember& to, uint8_t priority, Bytes frame);
    void drop(uint16_t port, packet::DropReason reason) { ++ports[port].drops[reason]; }
};

}  // namespace heddle::test
