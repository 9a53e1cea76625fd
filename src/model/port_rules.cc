#include "model/port_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/address_rules.h"
#include "model/checks.h"
#include "model/mac_rules.h"
#include "model/names.h"
#include "model/tap_rules.h"

namespace heddle::model {
namespace {

constexpr size_t kMaxDeviceName = 63;  // RTE_DEV_NAME_MAX_LEN - 1
constexpr size_t kMaxDevargs = 1023;

/// Name of the Linux interface, which is the port's unless given.
std::string interface_name(const std::string& given, const std::string& port_name,
                           const std::string& device_path, api::ProblemList& problems) {
    const std::string& name = given.empty() ? port_name : given;
    // What is wrong with an object's name is said there.
    if (given.empty() && object_name_problem(port_name)) return name;
    if (const auto problem = interface_name_problem(name)) {
        problems.add(api::member(device_path, "interface"),
                     given.empty()
                         ? fmt::format("must be given, since the port's name is {}", *problem)
                         : *problem);
    }
    return name;
}

std::string_view device_name(std::string_view devargs) {
    return devargs.substr(0, devargs.find(','));
}

Ethdev validate_ethdev(const v1::Ethdev& ethdev, const std::string& path,
                       api::ProblemList& problems) {
    const std::string& devargs = ethdev.devargs();
    const auto printable = [](char c) { return c >= ' ' && c < '\x7f'; };
    const size_t name_length = device_name(devargs).size();
    const std::string where = api::member(path, "devargs");
    if (devargs.empty()) {
        problems.add(where, "must be given");
    } else if (!std::all_of(devargs.begin(), devargs.end(), printable)) {
        problems.add(where, "may only have printable ASCII characters");
    } else if (name_length == 0 || name_length > kMaxDeviceName || devargs.size() > kMaxDevargs) {
        problems.add(where,
                     fmt::format("must begin with the name of a device, 1 to {} characters, and "
                                 "have at most {}",
                                 kMaxDeviceName, kMaxDevargs));
    }
    return {devargs};
}

Device validate_device(const v1::Port& port, uint32_t mtu, const std::string& path,
                       api::ProblemList& problems) {
    switch (port.device_case()) {
        case v1::Port::kTap: {
            const std::string where = api::member(path, "tap");
            Tap tap = validate_tap(port.tap(), mtu, where, problems);
            tap.interface = interface_name(port.tap().interface(), port.name(), where, problems);
            return tap;
        }
        case v1::Port::kNetdev:
            return Netdev{interface_name(port.netdev().interface(), port.name(),
                                         api::member(path, "netdev"), problems)};
        case v1::Port::kEthdev:
            return validate_ethdev(port.ethdev(), api::member(path, "ethdev"), problems);
        case v1::Port::DEVICE_NOT_SET:
            break;
    }
    problems.add(path, "a port needs a device: one of tap, netdev, ethdev");
    return {};
}

std::vector<TrunkVlan> validate_vlans(const v1::Port& port, const std::string& path,
                                      api::ProblemList& problems) {
    std::vector<TrunkVlan> vlans;
    std::set<uint16_t> seen;
    for (int i = 0; i < port.vlans_size(); ++i) {
        const v1::TrunkVlan& given = port.vlans(i);
        const std::string where = api::element(path, static_cast<size_t>(i));
        if (given.network().empty()) problems.add(api::member(where, "network"), "must be given");
        if (given.vlan() < kVlan.least || given.vlan() > kVlan.most) {
            problems.add(
                api::member(where, "vlan"),
                fmt::format("must be {} to {}, is {}", kVlan.least, kVlan.most, given.vlan()));
            continue;
        }
        const auto vlan = static_cast<uint16_t>(given.vlan());
        if (!seen.insert(vlan).second) {
            problems.add(api::member(where, "vlan"), fmt::format("{} is given twice", vlan));
            continue;
        }
        vlans.push_back({vlan, given.network()});
    }
    return vlans;
}

/// The host behind the port: as stated, or as a tap device is set up.
void validate_host(const v1::Port& given, const std::string& path, Port& port,
                   api::ProblemList& problems) {
    const std::string where = api::member(path, "addresses");
    if (!given.mac().empty()) {
        port.mac = unicast_mac(given.mac(), api::member(path, "mac"), problems);
    } else if (!given.addresses().empty()) {
        problems.add(api::member(path, "mac"), "must be given with addresses");
    } else if (const auto* tap = std::get_if<Tap>(&port.device); tap != nullptr && tap->mac) {
        port.mac = tap->mac;
        for (const net::IpPrefix& address : tap->addresses)
            port.addresses.push_back(address.address());
    }
    if (static_cast<size_t>(given.addresses_size()) > kMaxAddresses) {
        problems.add(
            where, fmt::format("{} addresses, at most {}", given.addresses_size(), kMaxAddresses));
        return;
    }
    for (int i = 0; i < given.addresses_size(); ++i) {
        const std::string element = api::element(where, static_cast<size_t>(i));
        const auto address = host_address(given.addresses(i), element, problems);
        if (!address) continue;
        if (std::find(port.addresses.begin(), port.addresses.end(), *address) !=
            port.addresses.end()) {
            problems.add(element, fmt::format("{} is given twice", address->to_string()));
            continue;
        }
        port.addresses.push_back(*address);
    }
}

}  // namespace

Port validate_port(const v1::Port& port, const std::string& path, api::ProblemList& problems) {
    Port result;
    result.name = port.name();
    check(object_name_problem(port.name()), api::member(path, "name"), problems);
    if (port.has_mtu()) {
        result.mtu = checked<uint16_t>(port.mtu(), kMtu, api::member(path, "mtu"), problems);
    } else if (!port.has_netdev()) {
        result.mtu = kDefaultMtu;
    }
    result.device = validate_device(port, result.mtu.value_or(kDefaultMtu), path, problems);
    if (port.has_queues()) {
        result.queues =
            checked<uint16_t>(port.queues(), kQueues, api::member(path, "queues"), problems);
    }
    result.network = port.network();
    result.vlans = validate_vlans(port, api::member(path, "vlans"), problems);
    result.isolated = port.isolated();
    validate_host(port, path, result, problems);
    result.storm_limit_pps =
        port.has_storm_limit_pps() ? port.storm_limit_pps() : kDefaultStormLimit;
    return result;
}

std::string device_identity(const Device& device) {
    const auto interface = [](const std::string& name, const std::string& netns) {
        return fmt::format("interface {}{}{}", name, netns.empty() ? "" : " in ", netns);
    };
    if (const auto* tap = std::get_if<Tap>(&device)) return interface(tap->interface, tap->netns);
    if (const auto* netdev = std::get_if<Netdev>(&device)) return interface(netdev->interface, "");

    // DPDK takes a PCI address with and without bus and domain: pci:0000:3b:00.0, 3b:00.0.
    std::string name(device_name(std::get<Ethdev>(device).devargs));
    if (name.starts_with("pci:")) name.erase(0, 4);
    const bool short_pci = std::count(name.begin(), name.end(), ':') == 1 &&
                           std::count(name.begin(), name.end(), '.') == 1;
    if (short_pci) name.insert(0, "0000:");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return "device " + name;
}

}  // namespace heddle::model
