#include "fake_controller.h"

#include <algorithm>

#include "model/plan.h"
#include "model/validate.h"

namespace heddle::control {
namespace {

v1::ApplyResponse refused(const api::Problems& problems) {
    v1::ApplyResponse response;
    for (const v1::Problem& problem : problems)
        *response.add_problems() = problem;
    return response;
}

std::string name_of(const v1::Object& object) {
    switch (object.object_case()) {
        case v1::Object::kPort:
            return object.port().name();
        case v1::Object::kNetwork:
            return object.network().name();
        case v1::Object::kFdbEntry:
            return object.fdb_entry().network();
        case v1::Object::kWorker:
            return std::to_string(object.worker().worker());
        default:
            return "";
    }
}

bool is_of(v1::GetRequest::Kind kind, const v1::Object& object) {
    switch (kind) {
        case v1::GetRequest::PORTS:
            return object.has_port();
        case v1::GetRequest::NETWORKS:
            return object.has_network();
        case v1::GetRequest::FDB:
            return object.has_fdb_entry();
        case v1::GetRequest::WORKERS:
            return object.has_worker();
        case v1::GetRequest::DROPS:
            return object.has_port() && object.port().drops_size() > 0;
        default:
            return false;
    }
}

}  // namespace

template <typename Plan>
v1::ApplyResponse FakeController::carry_out(Plan plan, bool dry_run) {
    const auto validated = model::validate(plan.topology, plan.paths);
    if (!validated) return refused(validated.error());
    v1::ApplyResponse response;
    for (const v1::Change& change : plan.changes)
        *response.add_changes() = change;
    if (dry_run) return response;
    for (const v1::Problem& warning : warnings)
        *response.add_warnings() = warning;
    desired = plan.topology;
    return response;
}

v1::ApplyResponse FakeController::apply(const v1::ApplyRequest& request) {
    const std::lock_guard lock(mutex_);
    return carry_out(model::plan_apply(desired, request.topology(), request.replace()),
                     request.dry_run());
}

v1::ApplyResponse FakeController::remove(const v1::DeleteRequest& request) {
    const std::lock_guard lock(mutex_);
    auto plan = model::plan_delete(desired, request);
    return plan ? carry_out(*plan, request.dry_run()) : refused(plan.error());
}

std::string FakeController::get(const v1::GetRequest& request,
                                const std::function<bool(const v1::Object&)>& sink) {
    const std::lock_guard lock(mutex_);
    if (request.kind() == v1::GetRequest::TOPOLOGY) {
        v1::Object object;
        *object.mutable_topology() = desired;
        sink(object);
        return "";
    }
    std::vector<const v1::Object*> selected;
    for (const v1::Object& object : observed) {
        const auto& names = request.names();
        const bool named =
            names.empty() || std::find(names.begin(), names.end(), name_of(object)) != names.end();
        if (named && is_of(request.kind(), object)) selected.push_back(&object);
    }
    if (selected.empty() && !request.names().empty())
        return "nothing is named \"" + request.names(0) + "\"";
    for (const v1::Object* object : selected) {
        if (!sink(*object)) break;
    }
    return "";
}

v1::Status FakeController::status() {
    before_status();
    return observed_status;
}

v1::LookupResponse FakeController::lookup(const v1::LookupRequest& /*request*/) {
    return lookup_response;
}

void FakeController::update_routes(const v1::RouteUpdate& update, size_t /*index*/,
                                   v1::UpdateRoutesResponse& response) {
    updates.push_back(update);
    response.set_added(response.added() + static_cast<uint64_t>(update.routes_size()));
}

uint64_t FakeController::subscribe(std::function<void(const v1::Event&)> callback) {
    const uint64_t id = bus_.subscribe(std::move(callback));
    const std::lock_guard lock(mutex_);
    ++subscribers_;
    changed_.notify_all();
    return id;
}

void FakeController::unsubscribe(uint64_t id) {
    bus_.unsubscribe(id);
    const std::lock_guard lock(mutex_);
    --subscribers_;
    changed_.notify_all();
}

void FakeController::wait_for_subscribers(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return subscribers_ == count; });
}

}  // namespace heddle::control
