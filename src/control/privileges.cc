#include "control/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace heddle::control {
namespace {

struct Need {
    unsigned capability;
    const char* name;
    const char* purpose;
};

constexpr std::array kNeeds{
    Need{CAP_NET_ADMIN, "CAP_NET_ADMIN", "make and configure network devices"},
    Need{CAP_NET_RAW, "CAP_NET_RAW", "open packet sockets on them"},
    Need{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "enter network namespaces"},
};

/// Effective capabilities of the process; capget(2) rather than libcap for two words.
uint64_t effective_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (syscall(SYS_capget, &header, data.data()) != 0) return 0;
    return uint64_t{data[1].effective} << 32 | data[0].effective;
}

}  // namespace

std::string missing_privileges() {
    const uint64_t have = effective_capabilities();
    std::string missing;
    for (const Need& need : kNeeds) {
        if ((have >> need.capability & 1) != 0) continue;
        missing += (missing.empty() ? "heddled lacks " : ", ") + std::string(need.name) + " (to " +
                   need.purpose + ")";
    }
    if (!missing.empty()) missing += ". Run it as root or by its systemd unit, heddled.service";
    return missing;
}

}  // namespace heddle::control
