#pragma once

#include <atomic>
#include <cstddef>

#include "api/heddle.grpc.pb.h"
#include "control/controller.h"

namespace heddle::control {

/// The calls of the schema's service, passed on to the controller. Any thread.
class ApiService final : public v1::Heddle::CallbackService {
 public:
    explicit ApiService(Controller& controller) : controller_(controller) {}

    grpc::ServerUnaryReactor* Apply(grpc::CallbackServerContext* context,
                                    const v1::ApplyRequest* request,
                                    v1::ApplyResponse* response) override;
    grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context,
                                     const v1::DeleteRequest* request,
                                     v1::ApplyResponse* response) override;
    grpc::ServerWriteReactor<v1::GetResponse>* Get(grpc::CallbackServerContext* context,
                                                   const v1::GetRequest* request) override;
    grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                        const v1::StatusRequest* request,
                                        v1::Status* response) override;
    grpc::ServerWriteReactor<v1::Event>* Watch(grpc::CallbackServerContext* context,
                                               const v1::WatchRequest* request) override;

    grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                     const v1::LookupRequest* request,
                                     v1::LookupResponse* response) override;
    grpc::ServerReadReactor<v1::RouteUpdate>* UpdateRoutes(
        grpc::CallbackServerContext* context, v1::UpdateRoutesResponse* response) override;

 private:
    Controller& controller_;
    std::atomic<size_t> answer_bytes_{0};  // that GetStreams hold
    std::atomic<size_t> watchers_{0};
};

}  // namespace heddle::control
