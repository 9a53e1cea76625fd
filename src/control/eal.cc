#include "control/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>

#include <fstream>
#include <vector>

namespace heddle::control {
namespace {

/// Free 2 MiB hugepages, from the kernel's own count.
unsigned long free_hugepages() {
    std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
    unsigned long pages = 0;
    file >> pages;
    return pages;
}

}  // namespace

tl::expected<Eal, std::string> Eal::init(const Options& options) {
    const bool hugepages = options.hugepages_wanted && free_hugepages() * 2 >= options.memory_mib;
    std::vector<std::string> arguments{
        "heddled",
        "--no-telemetry",  // Heddle has its own API
        // An allow list that no device is on: probing takes what a port names, and only that.
        "--allow=0000:00:00.0", "--log-level=lib.eal:warning",
        "--lcores=0",  // workers are ordinary threads that register themselves
    };
    // Either way no files: daemons do not meet, and nothing is left behind.
    if (hugepages) {
        arguments.emplace_back("--in-memory");
    } else {
        const std::string memory = std::to_string(options.memory_mib);
        arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "-m", memory});
    }
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (std::string& argument : arguments)
        argv.push_back(argument.data());

    // rte_eal_init() pins the calling thread to the first lcore's CPU, and threads inherit that.
    cpu_set_t affinity;
    const bool known = sched_getaffinity(0, sizeof(affinity), &affinity) == 0;
    const int result = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    if (known) sched_setaffinity(0, sizeof(affinity), &affinity);
    if (result < 0) {
        return tl::unexpected(std::string("DPDK did not start: ") + rte_strerror(rte_errno) +
                              (hugepages ? "" : " (is there memory for its buffers?)"));
    }
    return Eal(hugepages);
}

Eal::~Eal() {
    if (initialized_) rte_eal_cleanup();
}

}  // namespace heddle::control
