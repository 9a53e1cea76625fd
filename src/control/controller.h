#pragma once

#include <functional>

#include "api/heddle.pb.h"

namespace heddle::control {

/// What the API server needs of the daemon. Any thread may call; a call returns when it is done.
class Controller {
 public:
    virtual ~Controller() = default;

    /// Validates the document as a whole; with any problem nothing is applied.
    virtual v1::ApplyResponse apply(const v1::ApplyRequest& request) = 0;
    virtual v1::ApplyResponse remove(const v1::DeleteRequest& request) = 0;

    /// Calls `sink` for each object until it returns false. Problem: a name that does not exist;
    /// then the answer is its description and nothing was emitted.
    virtual std::string get(const v1::GetRequest& request,
                            const std::function<bool(const v1::Object&)>& sink) = 0;

    virtual v1::Status status() = 0;
    virtual v1::LookupResponse lookup(const v1::LookupRequest& request) = 0;

    /// Applies one update of a stream; adds to `response`. `index`: its place in the stream.
    virtual void update_routes(const v1::RouteUpdate& update, size_t index,
                               v1::UpdateRoutesResponse& response) = 0;

    /// Registers for events from now on; the callback must not block. Returns the id to
    /// unsubscribe.
    virtual uint64_t subscribe(std::function<void(const v1::Event&)> callback) = 0;
    virtual void unsubscribe(uint64_t id) = 0;
};

}  // namespace heddle::control
