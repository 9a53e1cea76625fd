#include "control/get_stream.h"

#include <string>

namespace heddle::control {

GetStream::GetStream(Controller& controller, const v1::GetRequest& request,
                     std::atomic<size_t>& answer_bytes)
    : answer_bytes_(answer_bytes) {
    const std::string problem =
        controller.get(request, [this](const v1::Object& object) { return collect(object); });
    if (!problem.empty()) {
        Finish({grpc::StatusCode::NOT_FOUND, problem});
    } else if (too_large_) {
        Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                "the answer is too large for now: ask for some objects by name, or again later"});
    } else {
        send_next();
    }
}

bool GetStream::collect(const v1::Object& object) {
    // What it takes in memory, which is several times what it takes on the wire.
    const size_t bytes = object.SpaceUsedLong();
    own_bytes_ += bytes;
    if (answer_bytes_.fetch_add(bytes) + bytes > kMaxAnswerBytes) {
        too_large_ = true;
        messages_.clear();
        return false;
    }
    if (message_bytes_ >= kMessageBytes) {
        messages_.emplace_back();
        message_bytes_ = 0;
    }
    *messages_.back().add_objects() = object;
    message_bytes_ += object.ByteSizeLong();
    return true;
}

void GetStream::send_next() {
    if (sent_ == messages_.size()) return Finish(grpc::Status::OK);
    StartWrite(&messages_[sent_++]);
}

void GetStream::OnWriteDone(bool ok) {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    send_next();
}

void GetStream::OnDone() {
    answer_bytes_ -= own_bytes_;
    delete this;
}

}  // namespace heddle::control
