#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "control/controller.h"
#include "control/event_bus.h"
#include "control/fabric.h"
#include "control/state_file.h"
#include "model/plan.h"
#include "packet/pools.h"
#include "port/result.h"

namespace heddle::control {

/// The daemon behind its API: keeps the desired state (in memory and on disk) and the fabric that
/// makes it true. One lock makes its methods and the maintenance thread the "control thread" of the
/// data plane.
class Daemon final : public Controller {
 public:
    struct Options {
        std::string version;
        bool hugepages = false;
    };

    Daemon(const packet::Pools& pools, StateFile& state, EventBus& events, Options options);
    ~Daemon() override;

    /// Makes true what the state file holds. A port whose device is missing stays down and is tried
    /// again.
    port::Result<void> restore();

    v1::ApplyResponse apply(const v1::ApplyRequest& request) override;
    v1::ApplyResponse remove(const v1::DeleteRequest& request) override;
    std::string get(const v1::GetRequest& request,
                    const std::function<bool(const v1::Object&)>& sink) override;
    v1::Status status() override;
    v1::LookupResponse lookup(const v1::LookupRequest& request) override;
    void update_routes(const v1::RouteUpdate& update, size_t index,
                       v1::UpdateRoutesResponse& response) override;
    uint64_t subscribe(std::function<void(const v1::Event&)> callback) override;
    void unsubscribe(uint64_t id) override;

 private:
    void maintain_until_stopped();
    v1::ApplyResponse carry_out(model::Plan plan, bool dry_run);
    void report(const std::string& kind, const std::string& name, const std::string& message);

    StateFile& state_;
    EventBus& events_;
    const Options options_;
    const std::chrono::steady_clock::time_point started_;

    std::mutex mutex_;
    v1::Topology desired_;
    Fabric fabric_;
    bool stopping_ = false;
    std::condition_variable stop_;
    std::thread maintenance_;
};

}  // namespace heddle::control
