#include "model/network_rules.h"

#include <fmt/format.h>

#include "model/checks.h"
#include "model/names.h"

namespace heddle::model {
namespace {

constexpr uint32_t kGroupAddresses = 0xffff;  // 01:80:c2:00:00:00 to 0f
constexpr uint32_t kNeverForwarded = 0x0007;  // spanning tree, pause, LACP

uint16_t group_forward_mask(uint32_t mask, const std::string& path, api::ProblemList& problems) {
    if ((mask & ~kGroupAddresses) != 0) {
        problems.add(path, fmt::format("must be at most {:#x}, is {:#x}", kGroupAddresses, mask));
    }
    if ((mask & kNeverForwarded) != 0) {
        problems.add(path, "bits 0 (spanning tree), 1 (pause) and 2 (LACP) cannot be set");
    }
    return static_cast<uint16_t>(mask & kGroupAddresses & ~kNeverForwarded);
}

}  // namespace

Network validate_network(const v1::Network& network, const std::string& path,
                         api::ProblemList& problems) {
    Network result;
    result.name = network.name();
    check(object_name_problem(network.name()), api::member(path, "name"), problems);
    result.ageing_time =
        checked<uint32_t>(network.has_ageing_time() ? network.ageing_time() : kDefaultAgeingTime,
                          kAgeingTime, api::member(path, "ageing_time"), problems);
    result.fdb_limit =
        checked<uint32_t>(network.has_fdb_limit() ? network.fdb_limit() : kDefaultFdbLimit,
                          kFdbLimit, api::member(path, "fdb_limit"), problems);
    result.vlan_transparent = network.vlan_transparent();
    result.group_forward_mask = group_forward_mask(
        network.group_forward_mask(), api::member(path, "group_forward_mask"), problems);
    result.mtu = checked<uint16_t>(network.has_mtu() ? network.mtu() : kDefaultMtu, kMtu,
                                   api::member(path, "mtu"), problems);
    result.proxy_arp = network.proxy_arp();
    return result;
}

}  // namespace heddle::model
