#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "control/fabric.h"

namespace heddle::control {

/// One Fabric::apply(): brings the runtime from what is in force to what is wanted, in an order in
/// which no frame ever takes a way that neither state allows:
///   1. open devices that nobody has (the only step that may refuse)
///   2. unpublish what goes, take queues away
///   3. publish the new memberships, ports, bridges and routers
///   4. after a grace period forget addresses behind memberships that ended, then reuse their ids
///   5. publish static addresses, open devices that another port had until now, start polling
class Transaction {
 public:
    Transaction(Fabric& fabric, const model::Topology& wanted,
                const Fabric::PathOfPort& path_of_port, bool tolerant);

    Fabric::Outcome run();

 private:
    void open_free_devices();
    void apply_settings();
    void close_departing();
    void update_networks();
    void update_ports();
    void update_memberships(Fabric::PortRuntime& port);
    void update_routers();
    void forget_ended();
    void update_static_entries();
    void start_devices();

    Fabric& fabric_;
    const model::Topology& wanted_;
    const Fabric::PathOfPort& path_of_port_;
    const bool tolerant_;
    Fabric::Outcome outcome_;

    std::map<std::string, size_t> index_of_port_;  ///< in wanted_
    std::map<std::string, std::unique_ptr<port::Port>> opened_;
    std::map<std::string, std::string> open_errors_;
    std::vector<std::unique_ptr<Fabric::PortRuntime>> departing_;
    std::set<std::string> needs_device_;
    std::set<forwarding::BridgePortId> ended_memberships_;
    std::set<forwarding::BridgeId> ended_bridges_;
};

}  // namespace heddle::control
