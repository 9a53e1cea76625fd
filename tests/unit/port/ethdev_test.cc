#include "port/ethdev.h"

#include <rte_ethdev.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "port_fixture.h"

namespace heddle::port {
namespace {

using packet::DropReason;
using packet::L4Checksum;
using test::Bytes;
using test::FramePtr;
using testing::HasSubstr;

/// A capture file in the classic format: https://www.tcpdump.org/manpages/pcap-savefile.5.html
void write_pcap(const std::string& path, const std::vector<Bytes>& frames) {
    std::ofstream file(path, std::ios::binary);
    const auto put = [&file](uint32_t value) {
        file.write(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const uint32_t field : {0xa1b2c3d4u, 0x0004'0002u, 0u, 0u, 262144u, 1u})
        put(field);
    for (const Bytes& frame : frames) {
        const auto length = static_cast<uint32_t>(frame.size());
        for (const uint32_t field : {0u, 0u, length, length})
            put(field);
        file.write(reinterpret_cast<const char*>(frame.data()), length);
    }
}

std::vector<Bytes> read_pcap(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(24);
    std::vector<Bytes> frames;
    std::array<uint32_t, 4> record;
    while (file.read(reinterpret_cast<char*>(record.data()), sizeof(record))) {
        frames.emplace_back(record[2]);
        file.read(reinterpret_cast<char*>(frames.back().data()), record[2]);
    }
    return frames;
}

/// An IPv4-looking frame that begins with `number`.
Bytes numbered(size_t length, uint8_t number) {
    Bytes frame(length, number);
    frame[12] = 0x08;
    frame[13] = 0x00;
    return frame;
}

class EthdevTest : public test::PortTest {
 protected:
    static std::unique_ptr<Ethdev> open(const std::string& devargs, EthdevConfig config = {}) {
        config.devargs = devargs;
        auto port = Ethdev::open(config, pools());
        EXPECT_TRUE(port) << port.error();
        return port ? std::move(*port) : nullptr;
    }
    static std::string refusal(const std::string& devargs, EthdevConfig config = {}) {
        config.devargs = devargs;
        auto port = Ethdev::open(config, pools());
        return port ? "it was opened" : port.error();
    }

    void SetUp() override { std::filesystem::create_directories(directory_); }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::string path(const std::string& name) const { return directory_ + "/" + name; }

 private:
    const std::string directory_ =
        std::filesystem::temp_directory_path() / ("ethdev_test." + std::to_string(getpid()));
};

TEST_F(EthdevTest, FramesOfACaptureFileArriveInOrderAndLeaveIntoAnother) {
    std::vector<Bytes> frames;
    for (uint8_t i = 0; i < 100; ++i)
        frames.push_back(numbered(60 + i * 14, i));
    write_pcap(path("in"), frames);
    {
        auto port = open("net_pcap0,rx_pcap=" + path("in") + ",tx_pcap=" + path("out"));
        ASSERT_NE(port, nullptr);
        EXPECT_TRUE(port->up()) << port->down_reason();
        size_t next = 0;
        while (next < frames.size()) {
            auto received = receive(*port);
            ASSERT_FALSE(received.empty());
            for (FramePtr& frame : received) {
                EXPECT_EQ(test::bytes_of(frame.get()), frames[next++]);
                EXPECT_EQ(packet::metadata(frame.get()).l4_checksum, L4Checksum::unknown);
                transmit(*port, std::move(frame));
            }
        }
        EXPECT_TRUE(receive(*port).empty());
    }
    EXPECT_EQ(read_pcap(path("out")), frames);
    uint64_t bytes = 0;
    for (const Bytes& frame : frames)
        bytes += frame.size();
    EXPECT_EQ(counters_.rx_frames.read(), 100);
    EXPECT_EQ(counters_.rx_bytes.read(), bytes);
    EXPECT_EQ(counters_.tx_frames.read(), 100);
    EXPECT_EQ(counters_.tx_bytes.read(), bytes);
    EXPECT_EQ(counters_.tx_packets.read(), 100);
}

TEST_F(EthdevTest, JumboFramesOfACaptureFileArriveAsChainsAndLeaveWhole) {
    const Bytes jumbo = numbered(9014, 7);
    write_pcap(path("in"), {jumbo});
    {
        auto port =
            open("net_pcap0,rx_pcap=" + path("in") + ",tx_pcap=" + path("out"), {.mtu = 9000});
        ASSERT_NE(port, nullptr);
        auto received = receive(*port);
        ASSERT_EQ(received.size(), 1);
        EXPECT_GT(received[0]->nb_segs, 1);
        transmit(*port, std::move(received[0]));
    }
    EXPECT_THAT(read_pcap(path("out")), testing::ElementsAre(jumbo));
}

TEST_F(EthdevTest, MetadataOfAnEarlierUseOfTheBufferIsGone) {
    write_pcap(path("in"), {numbered(60, 1)});
    auto port = open("net_pcap0,rx_pcap=" + path("in") + ",infinite_rx=1,tx_pcap=" + path("out"));
    ASSERT_NE(port, nullptr);
    for (int round = 0; round < 2; ++round) {
        for (FramePtr& frame : receive(*port)) {
            packet::Metadata& known = packet::metadata(frame.get());
            const packet::Metadata clear{};
            EXPECT_EQ(std::memcmp(&known, &clear, sizeof(known)), 0);
            std::memset(static_cast<void*>(&known), 0xff, sizeof(known));
        }
    }
}

TEST_F(EthdevTest, RuntsAreDroppedAndCounted) {
    write_pcap(path("in"), {Bytes(13, 1), numbered(60, 2)});
    auto port = open("net_pcap0,rx_pcap=" + path("in") + ",tx_pcap=" + path("out"));
    ASSERT_NE(port, nullptr);
    EXPECT_EQ(receive(*port).size(), 1);
    EXPECT_EQ(counters_.rx_frames.read(), 2);
    EXPECT_EQ(drops(DropReason::rx_runt), 1);
}

TEST_F(EthdevTest, NullDeviceReceivesFramesOfItsSizeAndSwallowsWhatIsSent) {
    auto port = open("net_null0,size=128");
    ASSERT_NE(port, nullptr);
    auto received = receive(*port);
    ASSERT_EQ(received.size(), kBurst);
    EXPECT_EQ(received[0]->pkt_len, 128);
    for (FramePtr& frame : received)
        transmit(*port, std::move(frame));
    EXPECT_EQ(counters_.tx_frames.read(), kBurst);
    EXPECT_EQ(counters_.tx_bytes.read(), kBurst * 128);
    EXPECT_FALSE(port->capabilities().l4_checksum);
    EXPECT_FALSE(port->capabilities().tso4);
    EXPECT_EQ(port->wakeup_fd(0), -1);
}

TEST_F(EthdevTest, RingGivesBackWhatWasSentWithoutTheSendersFlags) {
    auto port = open("net_ring0");
    ASSERT_NE(port, nullptr);
    FramePtr frame = test::make_frame(pools(), numbered(100, 3));
    frame->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    packet::metadata(frame.get()).ingress_port = 17;
    transmit(*port, std::move(frame));
    auto received = receive(*port);
    ASSERT_EQ(received.size(), 1);
    EXPECT_EQ(test::bytes_of(received[0].get()), numbered(100, 3));
    EXPECT_EQ(received[0]->ol_flags, 0);
    EXPECT_EQ(packet::metadata(received[0].get()).l4_checksum, L4Checksum::good);
    EXPECT_EQ(packet::metadata(received[0].get()).ingress_port, 0);
}

TEST_F(EthdevTest, WhatAFullRingDoesNotTakeIsDroppedAndNothingElse) {
    auto port = open("net_ring0");
    ASSERT_NE(port, nullptr);
    constexpr unsigned kFrames = 3000;  // the device's ring holds fewer
    for (unsigned i = 0; i < kFrames; ++i) {
        transmit(*port, test::make_frame(pools(), numbered(60, 1)));
    }
    EXPECT_GT(drops(DropReason::tx_full), 0);
    EXPECT_EQ(counters_.tx_frames.read() + drops(DropReason::tx_full), kFrames);
    EXPECT_EQ(counters_.tx_bytes.read(), counters_.tx_frames.read() * 60);
    uint64_t received = 0;
    for (auto frames = receive(*port); !frames.empty(); frames = receive(*port)) {
        received += frames.size();
    }
    EXPECT_EQ(received, counters_.tx_frames.read());
}

TEST_F(EthdevTest, WorkersBeyondTheTransmitQueuesShareThem) {
    write_pcap(path("in"), {numbered(60, 1)});
    {
        // net_pcap has one transmit queue.
        auto port =
            open("net_pcap0,rx_pcap=" + path("in") + ",tx_pcap=" + path("out"), {.workers = 3});
        ASSERT_NE(port, nullptr);
        for (uint16_t worker = 0; worker < 3; ++worker) {
            transmit(*port, test::make_frame(pools(), numbered(60, uint8_t(worker))), worker);
        }
    }
    EXPECT_EQ(read_pcap(path("out")).size(), 3);
}

TEST_F(EthdevTest, ReceiveQueuesAreAsManyAsTheDeviceHas) {
    write_pcap(path("in"), {numbered(60, 1)});
    auto one = open("net_pcap0,rx_pcap=" + path("in") + ",tx_pcap=" + path("out"), {.queues = 4});
    auto four = open("net_null0", {.queues = 4});
    ASSERT_TRUE(one && four);
    EXPECT_EQ(one->queue_count(), 1);
    EXPECT_EQ(four->queue_count(), 4);
}

TEST_F(EthdevTest, DeviceThatIsAPortAlreadyIsRefused) {
    auto port = open("net_null7");
    EXPECT_THAT(refusal("net_null7,size=64"), HasSubstr("is a port already"));
    port.reset();
    EXPECT_NE(open("net_null7,size=64"), nullptr) << "it is free again";
}

TEST_F(EthdevTest, UnknownDeviceIsRefusedByName) {
    EXPECT_THAT(refusal("net_nonsense0"), HasSubstr("net_nonsense0"));
    EXPECT_THAT(refusal("0000:ff:1f.7"), HasSubstr("0000:ff:1f.7"));
    EXPECT_THAT(refusal(""), HasSubstr("DPDK knows no such device"));
    EXPECT_THAT(refusal("net_pcap0,rx_pcap=/nonexistent,tx_pcap=/nonexistent"),
                HasSubstr("cannot open the device"));
}

TEST_F(EthdevTest, MoreDevicesThanDpdkHasRoomForAreRefusedClearly) {
    std::vector<std::unique_ptr<Ethdev>> ports;
    for (int i = 0; i < RTE_MAX_ETHPORTS; ++i) {
        ports.push_back(open("net_null" + std::to_string(i)));
        ASSERT_NE(ports.back(), nullptr);
    }
    EXPECT_THAT(refusal("net_null999"), HasSubstr("takes 32 devices"));
    ports.pop_back();
    EXPECT_NE(open("net_null999"), nullptr);
}

TEST_F(EthdevTest, DevicesGoWithTheirPort) {
    for (int i = 0; i < 3 * RTE_MAX_ETHPORTS; ++i)
        ASSERT_NE(open("net_null0"), nullptr);
    EXPECT_EQ(rte_eth_dev_count_total(), 0);
}

}  // namespace
}  // namespace heddle::port
