#pragma once

#include <time.h>

namespace heddle::worker {

/// For control while it waits for workers: a round of theirs takes microseconds to a millisecond,
/// so look again soon, but do not spin beside them.
inline void pause_briefly() noexcept {
    const timespec pause{0, 20'000};
    nanosleep(&pause, nullptr);
}

}  // namespace heddle::worker
