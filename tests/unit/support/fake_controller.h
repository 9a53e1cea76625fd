#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/controller.h"
#include "control/event_bus.h"

namespace heddle::control {

/// A daemon without a data plane: desired state by the real planning and validation, observed state
/// as the test sets it.
class FakeController final : public Controller {
 public:
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

    void publish(const v1::Event& event) { bus_.publish(event); }

    /// Waits until so many are subscribed.
    void wait_for_subscribers(size_t count);

    v1::Topology desired;
    std::vector<v1::Object> observed;
    v1::Status observed_status;
    v1::LookupResponse lookup_response;
    std::vector<v1::RouteUpdate> updates;
    std::vector<v1::Problem> warnings;  ///< of every apply
    std::function<void()> before_status = [] {};

 private:
    template <typename Plan>
    v1::ApplyResponse carry_out(Plan plan, bool dry_run);

    EventBus bus_;
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t subscribers_ = 0;
};

}  // namespace heddle::control
