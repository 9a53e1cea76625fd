#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "worker/command.h"

namespace heddle::worker {
namespace {

/// Which command this is: the queue pointer is opaque to the mailbox.
RxQueue* label(uintptr_t sender, uintptr_t number) {
    return reinterpret_cast<RxQueue*>(sender << 32 | number << 4);
}

TEST(Mailbox, EmptyMailboxGivesNothing) {
    Mailbox mailbox;
    EXPECT_TRUE(mailbox.empty());
    EXPECT_EQ(mailbox.take_all(), nullptr);
}

TEST(Mailbox, CommandsComeOutOldestFirst) {
    Mailbox mailbox;
    std::array<Command, 5> commands;
    for (Command& command : commands)
        mailbox.post(command);
    EXPECT_FALSE(mailbox.empty());
    Command* taken = mailbox.take_all();
    for (Command& command : commands) {
        ASSERT_EQ(taken, &command);
        taken = taken->link;
    }
    EXPECT_EQ(taken, nullptr);
    EXPECT_TRUE(mailbox.empty());
}

TEST(Mailbox, CommandsOfManySendersArriveOnceAndInEachSendersOrder) {
    constexpr unsigned kSenders = 3;
    constexpr uintptr_t kCommands = 20'000;
    Mailbox mailbox;
    std::vector<std::thread> senders;
    for (uintptr_t sender = 1; sender <= kSenders; ++sender) {
        senders.emplace_back([&, sender] {
            for (uintptr_t number = 1; number <= kCommands; ++number) {
                auto* command = new Command;  // its receiver deletes it
                command->queue = label(sender, number);
                mailbox.post(*command);
            }
        });
    }
    uintptr_t last[kSenders + 1] = {};
    uintptr_t received = 0;
    while (received < kSenders * kCommands) {
        for (Command* command = mailbox.take_all(); command != nullptr;) {
            const std::unique_ptr<Command> owned(command);
            command = command->link;
            const auto value = reinterpret_cast<uintptr_t>(owned->queue);
            const uintptr_t sender = value >> 32;
            ASSERT_EQ((value & 0xffff'ffff) >> 4, last[sender] + 1);
            ++last[sender];
            ++received;
        }
    }
    for (std::thread& sender : senders)
        sender.join();
    EXPECT_TRUE(mailbox.empty());
}

}  // namespace
}  // namespace heddle::worker
