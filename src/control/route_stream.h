#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstddef>

#include "control/controller.h"

namespace heddle::control {

/// Takes the updates of one UpdateRoutes call. Deletes itself when the call is over.
class RouteStream final : public grpc::ServerReadReactor<v1::RouteUpdate> {
 public:
    RouteStream(Controller& controller, v1::UpdateRoutesResponse& response);

    void OnReadDone(bool ok) override;
    void OnDone() override;

 private:
    Controller& controller_;
    v1::UpdateRoutesResponse& response_;
    v1::RouteUpdate update_;
    size_t index_ = 0;
};

}  // namespace heddle::control
