#include "control/event_bus.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace heddle::control {
namespace {

TEST(EventBus, EverySubscriberGetsEveryEventInOrder) {
    EventBus bus;
    std::string first;
    std::string second;
    bus.subscribe([&](const v1::Event& event) { first += event.name(); });
    const uint64_t id = bus.subscribe([&](const v1::Event& event) { second += event.name(); });
    v1::Event event;
    for (const char* name : {"a", "b"}) {
        event.set_name(name);
        bus.publish(event);
    }
    bus.unsubscribe(id);
    event.set_name("c");
    bus.publish(event);
    EXPECT_EQ(first, "abc");
    EXPECT_EQ(second, "ab");
}

TEST(EventBus, CallbackNeverRunsAfterUnsubscribe) {
    EventBus bus;
    std::atomic<bool> stop{false};
    std::thread publisher([&] {
        while (!stop)
            bus.publish({});
    });
    for (int i = 0; i < 1000; ++i) {
        std::atomic<bool> alive{true};
        const uint64_t id = bus.subscribe([&](const v1::Event&) { EXPECT_TRUE(alive); });
        bus.unsubscribe(id);
        alive = false;
    }
    stop = true;
    publisher.join();
}

}  // namespace
}  // namespace heddle::control
