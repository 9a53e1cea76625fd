#include "control/device.h"

#include "port/ethdev.h"
#include "port/netdev.h"
#include "port/tap.h"

namespace heddle::control {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

using OpenResult = port::Result<std::unique_ptr<port::Port>>;

/// Of the drivers' unique pointers makes one to the interface.
template <typename Driver>
OpenResult as_port(port::Result<std::unique_ptr<Driver>> opened) {
    if (!opened) return tl::unexpected(std::move(opened.error()));
    return OpenResult(std::move(*opened));
}

std::string namespace_text(const std::string& netns) {
    constexpr std::string_view kNamed = "/run/netns/";
    return netns.starts_with(kNamed) ? netns.substr(kNamed.size()) : netns;
}

}  // namespace

OpenResult open_device(const model::Port& wanted, const packet::Pools& pools) {
    return std::visit(
        Overloaded{
            [&](const model::Tap& tap) {
                return as_port(port::Tap::open({.interface = tap.interface,
                                                .network_namespace = tap.netns,
                                                .mac = tap.mac,
                                                .addresses = tap.addresses,
                                                .gateways = tap.gateways,
                                                .mtu = *wanted.mtu,
                                                .queues = wanted.queues,
                                                .persistent = tap.persistent}));
            },
            [&](const model::Netdev& netdev) {
                return as_port(port::Netdev::open(
                    {.interface = netdev.interface, .mtu = wanted.mtu, .queues = wanted.queues}));
            },
            [&](const model::Ethdev& ethdev) {
                return as_port(port::Ethdev::open(
                    {.devargs = ethdev.devargs, .mtu = *wanted.mtu, .queues = wanted.queues},
                    pools));
            }},
        wanted.device);
}

std::string device_identity(const model::Device& device) {
    return std::visit(
        Overloaded{[](const model::Tap& tap) { return "if:" + tap.netns + "/" + tap.interface; },
                   [](const model::Netdev& netdev) { return "if:/" + netdev.interface; },
                   [](const model::Ethdev& ethdev) {
                       return "dpdk:" + ethdev.devargs.substr(0, ethdev.devargs.find(','));
                   }},
        device);
}

bool continues(const model::Device& from, const model::Device& to) {
    const auto* tap = std::get_if<model::Tap>(&to);
    return tap != nullptr && tap->persistent && device_identity(from) == device_identity(to);
}

std::string device_name(const model::Device& device) {
    return std::visit(Overloaded{[](const model::Tap& tap) {
                                     return tap.netns.empty() ? tap.interface
                                                : tap.interface + " in " + namespace_text(tap.netns);
                                 },
                                 [](const model::Netdev& netdev) { return netdev.interface; },
                                 [](const model::Ethdev& ethdev) {
                                     return ethdev.devargs.substr(0, ethdev.devargs.find(','));
                                 }},
                      device);
}

std::string interface_of(const model::Device& device) {
    return std::visit(Overloaded{[](const model::Tap& tap) {
                                     return tap.netns.empty() ? tap.interface : std::string();
                                 },
                                 [](const model::Netdev& netdev) { return netdev.interface; },
                                 [](const model::Ethdev&) { return std::string(); }},
                      device);
}

bool needs_reopening(const model::Port& from, const model::Port& to) {
    return from.device != to.device || from.queues != to.queues;
}

uint16_t effective_mtu(const model::Port& wanted, const port::Port& device) {
    if (wanted.mtu) return *wanted.mtu;
    return static_cast<const port::Netdev&>(device).mtu();  // only a netdev may leave it open
}

}  // namespace heddle::control
