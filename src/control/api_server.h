#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "control/controller.h"
#include "control/socket_claim.h"
#include "port/result.h"

namespace heddle::control {

class ApiService;

/// Serves the API over a UNIX socket until it is destroyed, which ends calls that still run. Who
/// may write to the socket may change the network: its mode is 0660.
///
/// Calls run in a few threads of gRPC's own (2 to 16, half of the CPUs); slow clients hold none of
/// them.
class ApiServer {
 public:
    /// `group` may use the socket besides the daemon's own user; where it does not exist, a warning
    /// is logged. The controller must outlive the server.
    static port::Result<std::unique_ptr<ApiServer>> start(Controller& controller, SocketClaim claim,
                                                          const std::string& group);

    ApiServer(const ApiServer&) = delete;
    ApiServer& operator=(const ApiServer&) = delete;
    ~ApiServer();

 private:
    ApiServer(Controller& controller, SocketClaim claim);

    SocketClaim claim_;
    std::unique_ptr<ApiService> service_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace heddle::control
