#include "control/watch_stream.h"

#include <fmt/format.h>

namespace heddle::control {

WatchStream::WatchStream(Controller& controller, std::atomic<size_t>& watchers)
    : controller_(controller), watchers_(watchers) {
    if (watchers_.fetch_add(1) >= kMaxWatchers) {
        finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                fmt::format("{} others watch already", kMaxWatchers)});
        return;
    }
    subscription_ = controller_.subscribe([this](const v1::Event& event) { push(event); });
    StartSendInitialMetadata();  // tells the client that it misses nothing from here on
}

void WatchStream::push(const v1::Event& event) {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    // Room for the note and the event, so that a loss never takes the place of what came after it.
    if (queue_.size() + 2 > kQueue) {
        ++lost_;
        return;
    }
    if (lost_ > 0) append_loss(event.time_ns());
    queue_.push_back(event);
    send_next();
}

void WatchStream::append_loss(uint64_t time_ns) {
    v1::Event& note = queue_.emplace_back();
    note.set_time_ns(time_ns);
    note.set_kind("lost");
    note.set_message(fmt::format("{} events: the watcher was too slow", lost_));
    lost_ = 0;
}

void WatchStream::send_next() {
    if (writing_ || finished_ || queue_.empty()) return;
    writing_ = true;
    StartWrite(&queue_.front());
}

void WatchStream::OnWriteDone(bool ok) {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    const uint64_t time_ns = queue_.front().time_ns();
    queue_.pop_front();
    if (!ok) return finish(grpc::Status::CANCELLED);
    if (queue_.empty() && lost_ > 0) append_loss(time_ns);
    send_next();
}

void WatchStream::OnCancel() {
    const std::lock_guard lock(mutex_);
    finish(grpc::Status::CANCELLED);
}

/// Both the end of a write and a cancellation may come first.
void WatchStream::finish(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    Finish(status);
}

void WatchStream::OnDone() {
    // Not under the lock: push() takes it while the bus waits for push().
    if (subscription_) controller_.unsubscribe(*subscription_);
    --watchers_;
    delete this;
}

}  // namespace heddle::control
