#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::HasSubstr;

class Watch : public CliTest {};

/// Output of another thread, which can be waited for line by line: `watch` flushes after each.
class SharedOutput final : public std::stringbuf {
 public:
    void wait_for_lines(int count) {
        std::unique_lock lock(mutex_);
        flushed_.wait(lock, [&] { return lines_ >= count; });
    }

 private:
    int sync() override {
        const std::lock_guard lock(mutex_);
        ++lines_;
        flushed_.notify_all();
        return 0;
    }

    std::mutex mutex_;
    std::condition_variable flushed_;
    int lines_ = 0;
};

TEST_F(Watch, ShowsEventsUntilTheDaemonEnds) {
    std::istringstream in;
    SharedOutput buffer;
    std::ostream out(&buffer);
    std::ostringstream err;
    Environment environment{in, out, err, false, {}};
    int status = 0;
    std::thread watcher([&] { status = cli::run({"--socket", socket_, "watch"}, environment); });
    controller_.wait_for_subscribers(1);

    v1::Event event;
    event.set_time_ns(1'709'226'239'123'456'789);
    event.set_kind("port");
    event.set_name("web");
    event.set_message("down: interface \"web\" disappeared");
    controller_.publish(event);
    event.set_message("\x1b[2J");
    controller_.publish(event);
    buffer.wait_for_lines(2);
    server_.reset();
    watcher.join();

    EXPECT_EQ(status, 2);
    EXPECT_THAT(buffer.str(), HasSubstr("port web: down: interface \"web\" disappeared\n"));
    EXPECT_THAT(buffer.str(), HasSubstr("port web: \\u001b[2J\n"));
    EXPECT_EQ(err.str(), "heddle: heddled ended\n");
}

}  // namespace
}  // namespace heddle::cli
