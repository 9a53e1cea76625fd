#include "model/mac_rules.h"

#include <fmt/format.h>

#include "api/quote.h"

namespace heddle::model {

std::optional<net::MacAddress> unicast_mac(std::string_view text, const std::string& path,
                                           api::ProblemList& problems) {
    const auto refuse = [&](std::string message) {
        problems.add(path, std::move(message));
        return std::nullopt;
    };
    if (text.empty()) return refuse("must be given");
    const auto mac = net::MacAddress::parse(text);
    if (!mac) {
        return refuse(fmt::format("expected a MAC address such as 02:00:00:12:34:56, got {}",
                                  api::quote_brief(text)));
    }
    if (mac->is_zero()) return refuse("the address 00:00:00:00:00:00 belongs to nobody");
    if (mac->is_broadcast()) return refuse("the broadcast address belongs to nobody");
    if (mac->is_multicast()) {
        return refuse(fmt::format("{} is a multicast address; one station's has an even first byte",
                                  mac->to_string()));
    }
    return mac;
}

}  // namespace heddle::model
