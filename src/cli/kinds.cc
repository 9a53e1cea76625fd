#include "cli/kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quote.h"
#include "api/suggest.h"

namespace heddle::cli {

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all = {
        {"ports", {"port", "p"}, v1::GetRequest::PORTS, "port", true},
        {"networks", {"network", "net", "n"}, v1::GetRequest::NETWORKS, "network", true},
        {"fdb", {"mac", "macs"}, v1::GetRequest::FDB, "", true},
        {"routers", {"router", "r"}, v1::GetRequest::ROUTERS, "router", true},
        {"routes", {"route"}, v1::GetRequest::ROUTES, "", true},
        {"neighbors", {"neighbor", "arp", "nd"}, v1::GetRequest::NEIGHBORS, "", true},
        {"next-hops", {"next-hop", "nexthops"}, v1::GetRequest::NEXT_HOPS, "", true},
        {"workers", {"worker", "w"}, v1::GetRequest::WORKERS, "", false},
        {"topology", {"topo", "t"}, v1::GetRequest::TOPOLOGY, "", false},
    };
    return all;
}

Result<const Kind*> find_kind(std::string_view text, bool deletable) {
    std::vector<std::string_view> names;
    for (const Kind& kind : kinds()) {
        if (deletable && kind.desired.empty()) continue;
        names.push_back(kind.name);
        const auto& aliases = kind.aliases;
        if (kind.name == text || std::find(aliases.begin(), aliases.end(), text) != aliases.end()) {
            return &kind;
        }
    }
    return unable(fmt::format("unknown kind {}{} (kinds: {})", api::quote_brief(text),
                              api::did_you_mean(text, names), fmt::join(names, ", ")));
}

}  // namespace heddle::cli
