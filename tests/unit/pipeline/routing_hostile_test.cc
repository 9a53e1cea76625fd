// Frames to a router that are cut off anywhere or full of noise: nothing is read behind them (the
// address sanitizer looks), nothing is lost uncounted, no buffer leaks.
#include <gtest/gtest.h>

#include "router_rig.h"
#include "support/exact_frame.h"

namespace heddle::test {
namespace {

class HostileFrames : public RoutedNetworks {
 protected:
    void receive_exactly(const Bytes& bytes, const std::vector<size_t>& lengths = {}) {
        std::vector<FramePtr> frames;
        frames.push_back(exact_frame(pools(), bytes, lengths));
        rig.receive(1, std::move(frames));
        answers += one.sent.size();
        forwarded += two.sent.size();
        one.sent.clear();
        two.sent.clear();
    }
    /// How many kinds of trouble there were: noise that is dropped for one reason tests little.
    size_t reasons() const {
        size_t count = 0;
        for (size_t reason = 0; reason < packet::kDropReasonCount; ++reason)
            count += rig.drops(1, static_cast<packet::DropReason>(reason)) != 0 ? 1 : 0;
        return count;
    }
    uint64_t answers = 0;
    uint64_t forwarded = 0;

    /// One of each kind of frame that the router looks into.
    static std::vector<Bytes> kinds() {
        std::vector<Bytes> result;
        for (const bool v6 : {false, true}) {
            IpModel model = to_bert(v6);
            result.push_back(model.frame());
            model.ttl = 1;
            result.push_back(model.frame());
            if (!v6) model.options = {7, 7, 4, 0, 0, 0, 0, 1, 148, 4, 0, 0};
            if (v6) model.extensions = {{0, {0, 1, 4, 0, 0, 0, 0}}, {43, {0, 4, 0, 0, 0, 0, 0}}};
            model.ttl = 9;
            result.push_back(model.frame());
            IpModel echo = to(v6 ? "fd00:1::1" : "10.0.1.1");
            result.push_back(echo.icmp(v6 ? 128 : 8, 0, Bytes(50, 3)).frame());
            result.push_back(to(v6 ? "fd00:1::1" : "10.0.1.1").frame());
            result.push_back(to(v6 ? "fd00:2::77" : "10.0.2.77").frame());
            result.push_back(to(v6 ? "2001:db8::1" : "192.0.2.1").frame());
        }
        Arp arp;
        result.push_back(arp.frame());
        arp.destination = kRouter;
        result.push_back(arp.frame());
        for (const uint8_t type : {133, 135, 136}) {
            IpModel nd = to("fd00:1::1");
            nd.ttl = 255;
            Bytes rest(4);
            if (type != 133) append(rest, ip(type == 135 ? "fd00:1::1" : "fd00:1::9"));
            append(rest, {static_cast<uint8_t>(type == 136 ? 2 : 1), 1, 2, 0, 0, 0, 0, 1});
            result.push_back(nd.icmp(type, 0, rest).frame());
            nd.destination_mac = {0x33, 0x33, 0, 0, 0, 1};
            result.push_back(nd.frame());
        }
        return result;
    }
};

TEST_F(HostileFrames, CutOffAtEveryByte) {
    for (const Bytes& whole : kinds()) {
        for (size_t length = 14; length <= whole.size(); ++length) {
            const Bytes cut = slice(whole, 0, length);
            receive_exactly(cut);
            receive_exactly(cut, {14});
            if (length > 20) receive_exactly(cut, {length - 7});
        }
        rig.advance(1000);
    }
    rig.check_identity_with_waiting();
}

TEST_F(HostileFrames, SplitAtEveryByte) {
    for (const Bytes& whole : kinds()) {
        for (size_t first = 14; first < whole.size(); ++first)
            receive_exactly(whole, {first});
    }
    rig.check_identity_with_waiting();
}

TEST_F(HostileFrames, NoiseBehindTheMacAddresses) {
    std::mt19937 random(7);
    const std::vector<Bytes> all = kinds();
    for (int round = 0; round < 40'000; ++round) {
        Bytes bytes = all[random() % all.size()];
        if (random() % 4 == 0) {
            const Bytes noise = random_bytes(random, random() % 120);
            bytes.resize(14);
            append(bytes, noise);
        }
        for (unsigned flips = random() % 5; flips > 0 && bytes.size() > 14; --flips)
            bytes[14 + random() % (bytes.size() - 14)] = static_cast<uint8_t>(random());
        if (random() % 2 == 0 && bytes.size() >= 34 && bytes[12] == 8 && bytes[13] == 0) {
            // A header whose checksum is right gets further.
            const size_t length = std::min<size_t>((bytes[14] & 0xfu) * 4, bytes.size() - 14);
            store16(bytes, 24, 0);
            if (length >= 20)
                store16(bytes, 24,
                        static_cast<uint16_t>(~naive_sum(slice(bytes, 14, 14 + length))));
        }
        receive_exactly(bytes, random() % 2 == 0 ? std::vector<size_t>{14 + random() % 60}
                                                 : std::vector<size_t>{});
        if (round % 1000 == 0) {
            rig.advance(1000);
            rig.check_identity_with_waiting();
        }
    }
    EXPECT_GE(reasons(), 12u);
    EXPECT_GT(answers, 1000u);
    EXPECT_GT(forwarded, 1000u);
}

TEST_F(HostileFrames, FragmentsOfAMixture) {
    std::mt19937 random(8);
    for (int round = 0; round < 3000; ++round) {
        rig.interface(2).mtu = static_cast<uint16_t>(68 + random() % 600);
        IpModel model = to_bert();
        model.flags_fragment = static_cast<uint16_t>(random() & 0xbfff);
        model.options = Bytes(4 * (random() % 11), static_cast<uint8_t>(random() % 2));
        model.payload = random_bytes(random, random() % 1400);
        receive_exactly(model.frame(), {14 + random() % 200});
    }
    rig.check_identity_with_waiting();
    EXPECT_TRUE(two.sane);
}

}  // namespace
}  // namespace heddle::test
