#pragma once

#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "packet/pools.h"

namespace heddle::test {

/// DPDK for tests: no hugepages, no devices, no files, no privileges, and one thread, which keeps
/// the CPUs it had. EAL can be initialised once per process; further calls do nothing.
inline void init_eal() {
    static const bool once = [] {
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof(cpus), &cpus);
        const std::string lcore = "--lcores=0@" + std::to_string(sched_getcpu());
        std::array<const char*, 9> arguments = {
            "heddle-test", "--no-huge",      "--no-shconf", "--no-pci",         "-m",
            "256",         "--no-telemetry", lcore.c_str(), "--log-level=error"};
        if (rte_eal_init(arguments.size(), const_cast<char**>(arguments.data())) < 0) {
            std::fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
            std::abort();
        }
        sched_setaffinity(0, sizeof(cpus), &cpus);
        return true;
    }();
    (void)once;
}

/// Pools enough for a burst of the largest superframes and their segments.
inline packet::Pools make_pools(const std::string& prefix = "test") {
    init_eal();
    auto pools = packet::Pools::create({.small = 8192, .large = 160}, prefix);
    if (!pools) {
        std::fprintf(stderr, "%s\n", pools.error().c_str());
        std::abort();
    }
    return std::move(*pools);
}

}  // namespace heddle::test
