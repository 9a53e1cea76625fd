#include "control/route_stream.h"

namespace heddle::control {

RouteStream::RouteStream(Controller& controller, v1::UpdateRoutesResponse& response)
    : controller_(controller), response_(response) {
    StartRead(&update_);
}

void RouteStream::OnReadDone(bool ok) {
    if (!ok) return Finish(grpc::Status::OK);
    controller_.update_routes(update_, index_++, response_);
    StartRead(&update_);
}

void RouteStream::OnDone() {
    delete this;
}

}  // namespace heddle::control
