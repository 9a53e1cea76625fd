#include "model/static_fdb_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/mac_rules.h"
#include "net/format.h"

namespace heddle::model {
namespace {

/// The tags, or kUntagged, under which a port carries a network.
std::vector<uint16_t> tags_of(const std::string& network, const Port& port) {
    std::vector<uint16_t> tags;
    if (port.network == network) tags.push_back(kUntagged);
    for (const TrunkVlan& trunk : port.vlans) {
        if (trunk.network == network) tags.push_back(trunk.vlan);
    }
    return tags;
}

std::string say(uint16_t vlan) {
    return vlan == kUntagged ? "untagged" : fmt::format("VLAN {}", vlan);
}

/// The tag an entry means; kUntagged after a problem.
uint16_t resolve_vlan(const v1::StaticFdbEntry& entry, const std::string& network, const Port& port,
                      const std::string& path, api::ProblemList& problems) {
    const std::vector<uint16_t> tags = tags_of(network, port);
    const auto refuse = [&](const char* field, std::string message) {
        problems.add(api::member(path, field), std::move(message));
        return kUntagged;
    };
    if (tags.empty()) {
        return refuse("port",
                      fmt::format("port \"{}\" does not carry network \"{}\"", port.name, network));
    }
    std::vector<std::string> said;
    std::transform(tags.begin(), tags.end(), std::back_inserter(said), say);
    if (entry.has_vlan()) {
        const auto found = std::find(tags.begin(), tags.end(), entry.vlan());
        if (found != tags.end()) return *found;
        return refuse("vlan",
                      fmt::format("port \"{}\" does not carry network \"{}\" under VLAN {}, "
                                  "but: {}",
                                  port.name, network, entry.vlan(), fmt::join(said, ", ")));
    }
    if (tags.size() > 1) {
        return refuse("vlan",
                      fmt::format("must be given: port \"{}\" carries network \"{}\" more than "
                                  "once: {}",
                                  port.name, network, fmt::join(said, ", ")));
    }
    return tags.front();
}

}  // namespace

std::vector<StaticFdbEntry> validate_static_fdb(const v1::Network& network,
                                                const FindPort& find_port, const std::string& path,
                                                api::ProblemList& problems) {
    std::vector<StaticFdbEntry> entries;
    std::set<net::MacAddress> seen;
    for (int i = 0; i < network.static_fdb_size(); ++i) {
        const v1::StaticFdbEntry& given = network.static_fdb(i);
        const std::string where = api::element(path, static_cast<size_t>(i));
        const auto mac = unicast_mac(given.mac(), api::member(where, "mac"), problems);
        if (mac && !seen.insert(*mac).second) {
            problems.add(api::member(where, "mac"), fmt::format("{} is given twice", *mac));
        }
        if (given.port().empty()) problems.add(api::member(where, "port"), "must be given");
        const Port* const port = find_port(given.port());
        if (port == nullptr) continue;
        const uint16_t vlan = resolve_vlan(given, network.name(), *port, where, problems);
        if (mac) entries.push_back({*mac, port->name, vlan});
    }
    return entries;
}

}  // namespace heddle::model
