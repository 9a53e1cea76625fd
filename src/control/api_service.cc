#include "control/api_service.h"

#include <utility>

#include "control/get_stream.h"
#include "control/route_stream.h"
#include "control/watch_stream.h"

namespace heddle::control {
namespace {

grpc::ServerUnaryReactor* answer(grpc::CallbackServerContext& context) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* ApiService::Apply(grpc::CallbackServerContext* context,
                                            const v1::ApplyRequest* request,
                                            v1::ApplyResponse* response) {
    *response = controller_.apply(*request);
    return answer(*context);
}

grpc::ServerUnaryReactor* ApiService::Delete(grpc::CallbackServerContext* context,
                                             const v1::DeleteRequest* request,
                                             v1::ApplyResponse* response) {
    *response = controller_.remove(*request);
    return answer(*context);
}

grpc::ServerWriteReactor<v1::GetResponse>* ApiService::Get(grpc::CallbackServerContext* /*context*/,
                                                           const v1::GetRequest* request) {
    return new GetStream(controller_, *request, answer_bytes_);  // gone after OnDone()
}

grpc::ServerUnaryReactor* ApiService::GetStatus(grpc::CallbackServerContext* context,
                                                const v1::StatusRequest* /*request*/,
                                                v1::Status* response) {
    *response = controller_.status();
    return answer(*context);
}

grpc::ServerWriteReactor<v1::Event>* ApiService::Watch(grpc::CallbackServerContext* /*context*/,
                                                       const v1::WatchRequest* /*request*/) {
    return new WatchStream(controller_, watchers_);  // gone after OnDone()
}

grpc::ServerUnaryReactor* ApiService::Lookup(grpc::CallbackServerContext* context,
                                             const v1::LookupRequest* request,
                                             v1::LookupResponse* response) {
    *response = controller_.lookup(*request);
    return answer(*context);
}

grpc::ServerReadReactor<v1::RouteUpdate>* ApiService::UpdateRoutes(
    grpc::CallbackServerContext* /*context*/, v1::UpdateRoutesResponse* response) {
    return new RouteStream(controller_, *response);  // gone after OnDone()
}

}  // namespace heddle::control
