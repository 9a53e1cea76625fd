#include "control/daemon.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "api/change_text.h"
#include "control/log.h"
#include "control/observe.h"
#include "model/plan.h"
#include "model/validate.h"
#include "port/link_monitor.h"

namespace heddle::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

v1::ApplyResponse refused(api::Problems problems) {
    v1::ApplyResponse response;
    for (v1::Problem& problem : problems)
        *response.add_problems() = std::move(problem);
    return response;
}

}  // namespace

Daemon::Daemon(const packet::Pools& pools, StateFile& state, EventBus& events, Options options)
    : state_(state),
      events_(events),
      options_(std::move(options)),
      started_(steady_clock::now()),
      fabric_(pools, [this](const auto& kind, const auto& name, const auto& message) {
          report(kind, name, message);
      }) {
    maintenance_ = std::thread([this] { maintain_until_stopped(); });
}

Daemon::~Daemon() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    stop_.notify_all();
    maintenance_.join();
}

port::Result<void> Daemon::restore() {
    auto loaded = state_.load();
    if (!loaded) return tl::unexpected(loaded.error());
    const std::lock_guard lock(mutex_);
    const v1::Topology topology = loaded->value_or(v1::Topology());
    const auto validated = model::validate(topology);
    if (!validated) {
        std::string text = "the saved state is not valid:";
        for (const v1::Problem& problem : validated.error()) {
            text += "\n  " + problem.path() + ": " + problem.message();
        }
        return tl::unexpected(text);
    }
    const auto outcome = fabric_.apply(
        *validated, [&](size_t index) { return topology.ports(static_cast<int>(index)).name(); },
        true);
    for (const v1::Problem& problem : outcome.problems) {
        log_warning("restore", {{"path", problem.path()}, {"problem", problem.message()}});
    }
    for (const v1::Problem& warning : outcome.warnings) {
        log_warning("restore", {{"port", warning.path()}, {"problem", warning.message()}});
    }
    desired_ = topology;
    return {};
}

// ---- Changes

v1::ApplyResponse Daemon::apply(const v1::ApplyRequest& request) {
    const std::lock_guard lock(mutex_);
    return carry_out(model::plan_apply(desired_, request.topology(), request.replace()),
                     request.dry_run());
}

v1::ApplyResponse Daemon::remove(const v1::DeleteRequest& request) {
    const std::lock_guard lock(mutex_);
    auto plan = model::plan_delete(desired_, request);
    if (!plan) return refused(std::move(plan.error()));
    return carry_out(std::move(*plan), request.dry_run());
}

v1::ApplyResponse Daemon::carry_out(model::Plan plan, bool dry_run) {
    auto validated = model::validate(plan.topology, plan.paths);
    if (!validated) return refused(std::move(validated.error()));
    v1::ApplyResponse response;
    for (v1::Change& change : plan.changes)
        *response.add_changes() = std::move(change);
    if (dry_run) return response;

    Fabric::Outcome outcome = fabric_.apply(
        *validated, [&](size_t index) { return plan.paths.of("ports", index); }, false);
    if (!outcome.problems.empty()) return refused(std::move(outcome.problems));
    for (v1::Problem& warning : outcome.warnings)
        *response.add_warnings() = std::move(warning);
    desired_ = std::move(plan.topology);
    if (auto saved = state_.save(desired_); !saved) {
        v1::Problem& warning = *response.add_warnings();
        warning.set_message("applied, but lost at the next restart: " + saved.error());
        log_error("save", {{"problem", saved.error()}});
    }
    for (const v1::Change& change : response.changes()) {
        if (change.action() == v1::Change::UNCHANGED) continue;
        report(change.kind(), change.name(), api::describe(change));
    }
    return response;
}

// ---- Reports

std::string Daemon::get(const v1::GetRequest& request,
                        const std::function<bool(const v1::Object&)>& sink) {
    std::vector<v1::Object> objects;
    {
        const std::lock_guard lock(mutex_);
        if (request.kind() == v1::GetRequest::TOPOLOGY) {
            *objects.emplace_back().mutable_topology() = desired_;
        } else {
            auto observed = observe(fabric_, request);
            if (!observed) return observed.error();
            objects = std::move(*observed);
        }
    }
    for (const v1::Object& object : objects) {
        if (!sink(object)) break;
    }
    return {};
}

v1::Status Daemon::status() {
    const std::lock_guard lock(mutex_);
    v1::Status status = observe_status(fabric_);
    status.set_version(options_.version);
    status.set_pid(getpid());
    status.set_hugepages(options_.hugepages);
    status.set_uptime_seconds(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - started_).count()));
    return status;
}

v1::LookupResponse Daemon::lookup(const v1::LookupRequest& request) {
    const std::lock_guard lock(mutex_);
    return fabric_.routing().lookup(request);
}

void Daemon::update_routes(const v1::RouteUpdate& update, size_t index,
                           v1::UpdateRoutesResponse& response) {
    const std::lock_guard lock(mutex_);
    Routing::Updated updated = fabric_.update_routes(update, api::element("updates", index));
    response.set_added(response.added() + updated.added);
    response.set_withdrawn(response.withdrawn() + updated.withdrawn);
    for (v1::Problem& problem : updated.problems) {
        if (static_cast<size_t>(response.problems_size()) >= api::ProblemList::kMax) break;
        *response.add_problems() = std::move(problem);
    }
}

uint64_t Daemon::subscribe(std::function<void(const v1::Event&)> callback) {
    return events_.subscribe(std::move(callback));
}

void Daemon::unsubscribe(uint64_t id) {
    events_.unsubscribe(id);
}

void Daemon::report(const std::string& kind, const std::string& name, const std::string& message) {
    log_info("event", {{"kind", kind}, {"name", name}, {"message", message}});
    v1::Event event;
    event.set_time_ns(static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()));
    event.set_kind(kind);
    event.set_name(name);
    event.set_message(message);
    events_.publish(event);
}

// ---- Maintenance

void Daemon::maintain_until_stopped() {
    constexpr milliseconds kBalance{worker::Scheduler::kIntervalMs};
    constexpr milliseconds kMaintain{1000};
    auto links = port::LinkMonitor::open();
    if (!links) log_warning("link-monitor", {{"problem", links.error()}});

    auto next_maintenance = steady_clock::now() + kMaintain;
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, kBalance, [this] { return stopping_; })) {
        fabric_.balance();
        if (links) {
            const port::LinkMonitor::Changes changes = links->drain();
            for (const port::LinkEvent& event : changes.events) {
                fabric_.interface_changed(event.interface);
            }
            if (changes.lost) next_maintenance = steady_clock::now();
        }
        if (steady_clock::now() < next_maintenance) continue;
        next_maintenance += kMaintain;
        fabric_.maintain();
    }
}

}  // namespace heddle::control
