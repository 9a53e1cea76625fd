#pragma once

#include <sched.h>

#include <algorithm>

namespace heddle::control {

/// CPUs this process may run on.
inline unsigned usable_cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set))
                                                        : 1;
}

/// Half of the CPUs, so that those who send and receive the packets have the others; more than
/// eight workers are for who measured that they help.
inline unsigned default_workers() {
    return std::clamp(usable_cpus() / 2, 1u, 8u);
}

}  // namespace heddle::control
