#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "control/controller.h"

namespace heddle::control {

/// Sends events to one watcher. Events wait in a bounded queue; a watcher that does not keep up
/// loses some, gets one of kind "lost" in their place, and holds up nobody.
class WatchStream final : public grpc::ServerWriteReactor<v1::Event> {
 public:
    static constexpr size_t kQueue = 1024;
    static constexpr size_t kMaxWatchers = 64;

    /// `watchers` counts all streams; it outlives the stream.
    WatchStream(Controller& controller, std::atomic<size_t>& watchers);

    void OnWriteDone(bool ok) override;
    void OnCancel() override;
    void OnDone() override;

 private:
    void push(const v1::Event& event);
    void append_loss(uint64_t time_ns);
    void send_next();
    void finish(const grpc::Status& status);

    Controller& controller_;
    std::atomic<size_t>& watchers_;
    std::optional<uint64_t> subscription_;

    std::mutex mutex_;             // for all below
    std::deque<v1::Event> queue_;  // the first one is being written, if any is
    bool writing_ = false;
    bool finished_ = false;
    uint64_t lost_ = 0;  // since the last one that found room
};

}  // namespace heddle::control
