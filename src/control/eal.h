#pragma once

#include <string>
#include <tl/expected.hpp>

namespace heddle::control {

/// DPDK's environment abstraction layer, set up so that the daemon needs nothing prepared: memory
/// from hugepages where the machine has free ones, from ordinary pages elsewhere; nothing on disk;
/// no PCI device touched until a port names it; no thread pinned.
class Eal {
 public:
    struct Options {
        unsigned memory_mib =
            512;  ///< address space for packet buffers when there are no hugepages
        bool hugepages_wanted = true;  ///< use them if there are enough
    };

    static tl::expected<Eal, std::string> init(const Options& options);

    Eal(Eal&& other) noexcept : initialized_(other.initialized_), hugepages_(other.hugepages_) {
        other.initialized_ = false;
    }
    Eal& operator=(Eal&&) = delete;
    ~Eal();

    bool hugepages() const noexcept { return hugepages_; }

 private:
    explicit Eal(bool hugepages) : initialized_(true), hugepages_(hugepages) {}
    bool initialized_;
    bool hugepages_;
};

}  // namespace heddle::control
