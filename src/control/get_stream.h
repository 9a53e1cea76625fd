#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "control/controller.h"

namespace heddle::control {

/// Answers one Get: takes all objects from the controller at once, so that no slow reader holds it
/// up, and sends them in messages of about kMessageBytes. The answers of all streams together are
/// bounded.
class GetStream final : public grpc::ServerWriteReactor<v1::GetResponse> {
 public:
    static constexpr size_t kMessageBytes = 32U << 10U;
    static constexpr size_t kMaxAnswerBytes = 128U << 20U;  ///< of all streams

    /// `answer_bytes` is what all streams hold; it outlives the stream.
    GetStream(Controller& controller, const v1::GetRequest& request,
              std::atomic<size_t>& answer_bytes);

    void OnWriteDone(bool ok) override;
    void OnDone() override;

 private:
    bool collect(const v1::Object& object);
    void send_next();

    std::atomic<size_t>& answer_bytes_;
    size_t own_bytes_ = 0;
    bool too_large_ = false;
    std::vector<v1::GetResponse> messages_;
    size_t message_bytes_ = kMessageBytes;  // of the last one; the first object opens a message
    size_t sent_ = 0;
};

}  // namespace heddle::control
