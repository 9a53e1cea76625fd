#pragma once

#include <cstddef>
#include <cstdint>

/// Ranges of the schema's values, as the comments of api/heddle.proto state them.
namespace heddle::model {

struct Range {
    uint32_t least;
    uint32_t most;
};

inline constexpr Range kWorkers{1, 64};
inline constexpr Range kAgeingTime{10, 1'000'000};  ///< seconds
inline constexpr Range kFdbLimit{0, 131'072};
inline constexpr Range kMtu{68, 65521};
inline constexpr Range kQueues{1, 64};
inline constexpr Range kVlan{1, 4094};

inline constexpr Range kDistance{1, 255};
inline constexpr Range kWeight{1, 255};
inline constexpr Range kAdvertisementInterval{4, 1800};  ///< seconds; RFC 4861, section 6.2.1
inline constexpr uint32_t kLongestRouterLifetime = 9000;

inline constexpr uint32_t kDefaultAdvertisementInterval = 200;
inline constexpr uint32_t kDefaultAgeingTime = 300;
inline constexpr uint32_t kDefaultFdbLimit = 16384;
inline constexpr uint16_t kDefaultMtu = 1500;
inline constexpr uint32_t kDefaultStormLimit = 25000;  ///< frames per second

inline constexpr uint32_t kLeastIpv6Mtu = 1280;  ///< RFC 8200, section 5

/// How many objects there can be: what the forwarding tables have room for.
inline constexpr size_t kMaxNetworks = 65535;
inline constexpr size_t kMaxPorts = 4095;
inline constexpr size_t kMaxStaticEntries = 65536;  ///< of all networks together
inline constexpr size_t kMaxAddresses = 64;         ///< of one interface
inline constexpr size_t kMaxRouters = 16383;
inline constexpr size_t kMaxInterfaces = 65535;             ///< of all routers together
inline constexpr size_t kMaxRoutes = 100'000;               ///< of all routers together
inline constexpr size_t kMaxNextHops = 64;                  ///< of one route
inline constexpr size_t kMaxAttachments = (1U << 18U) - 1;  ///< of ports to networks, all together

}  // namespace heddle::model
