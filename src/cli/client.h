#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/heddle.grpc.pb.h"
#include "cli/failure.h"

namespace heddle::cli {

/// The daemon, as far as a command is concerned: calls give an answer or a failure that can be
/// shown as it is.
class Client {
 public:
    /// Fails if nobody serves the socket.
    static Result<Client> connect(const std::string& socket);

    Result<v1::ApplyResponse> apply(const v1::ApplyRequest& request) const;
    Result<v1::ApplyResponse> remove(const v1::DeleteRequest& request) const;
    Result<std::vector<v1::Object>> get(
        const v1::GetRequest& request,
        std::chrono::milliseconds patience = std::chrono::seconds(60)) const;
    Result<v1::Status> status() const;
    Result<v1::LookupResponse> lookup(const v1::LookupRequest& request) const;

    /// Sends the updates that `next` answers, until it answers none.
    Result<v1::UpdateRoutesResponse> update_routes(
        const std::function<const v1::RouteUpdate*()>& next) const;

    /// Calls `show` for each event; returns when the daemon ends.
    Failure watch(const std::function<void(const v1::Event&)>& show) const;

 private:
    explicit Client(const std::string& socket);

    std::unique_ptr<v1::Heddle::Stub> stub_;
};

}  // namespace heddle::cli
