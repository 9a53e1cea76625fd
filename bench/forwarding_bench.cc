// What switching costs without drivers: the FDB by itself, and a burst from switch_burst() to the
// transmit() of a port that does nothing. Counters: TSC cycles and nanoseconds per frame or lookup.
//
//     forwarding_bench --benchmark_filter=Switch
#include <benchmark/benchmark.h>
#include <rte_cycles.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "forwarding/tables.h"
#include "pipeline/switching.h"
#include "support/dpdk.h"

namespace heddle {
namespace {

using forwarding::Fdb;
using packet::metadata;

/// Measures bursts one by one and reports the median per item, which neighbours on the machine and
/// interrupts leave alone.
class Bursts {
 public:
    void begin() { start_ = rte_rdtsc_precise(); }
    void end(uint64_t items) {
        const uint64_t cycles = rte_rdtsc_precise() - start_;
        if (samples_.size() < kMost) {
            samples_.push_back(static_cast<double>(cycles) / static_cast<double>(items));
        }
        items_ += items;
    }
    void report(benchmark::State& state) {
        if (samples_.empty()) return;
        const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2);
        std::nth_element(samples_.begin(), middle, samples_.end());
        state.counters["cycles"] = *middle;
        state.counters["ns"] = *middle * 1e9 / static_cast<double>(rte_get_tsc_hz());
    }
    uint64_t items() const { return items_; }

 private:
    static constexpr size_t kMost = 1 << 20;
    uint64_t start_ = 0;
    uint64_t items_ = 0;
    std::vector<double> samples_;
};

std::vector<Fdb::Key> random_keys(size_t count) {
    std::mt19937_64 random(1);
    std::vector<Fdb::Key> keys;
    for (size_t i = 0; i < count; ++i)
        keys.emplace_back(forwarding::BridgeId{1}, random() & 0xffff'ffff'fffe);
    return keys;
}

/// A table with these keys in it, and a random order to ask for them.
struct Filled {
    explicit Filled(size_t entries) : keys(random_keys(entries)) {
        for (const Fdb::Key key : keys)
            fdb.learn(key, fdb.hash(key), 1, 0, [] { return true; });
        std::mt19937_64 random(2);
        for (size_t i = 0; i < 1 << 16; ++i)
            order.push_back(keys[random() % entries]);
    }
    Fdb fdb;
    std::vector<Fdb::Key> keys;
    std::vector<Fdb::Key> order;
};

constexpr size_t kBurst = port::kBurst;

void prefetch(const Fdb& fdb, const Fdb::Key* burst, uint64_t (&hashes)[kBurst]) {
    for (size_t i = 0; i < kBurst; ++i) {
        hashes[i] = fdb.hash(burst[i]);
        fdb.prefetch(hashes[i]);
    }
}

/// As the pipeline does: prefetch a burst, then look it up.
void FdbFind(benchmark::State& state) {
    Filled filled(static_cast<size_t>(state.range(0)));
    Bursts bursts;
    size_t next = 0;
    for ([[maybe_unused]] const auto unused : state) {
        uint64_t hashes[kBurst];
        const Fdb::Key* burst = &filled.order[next];
        next = (next + kBurst) % filled.order.size();
        bursts.begin();
        prefetch(filled.fdb, burst, hashes);
        for (size_t i = 0; i < kBurst; ++i)
            benchmark::DoNotOptimize(filled.fdb.find(burst[i], hashes[i]));
        bursts.end(kBurst);
    }
    bursts.report(state);
}
BENCHMARK(FdbFind)->Arg(1)->Arg(1000)->Arg(10'000)->Arg(100'000);

/// Known addresses in the second of their last stamp: what most frames are.
void FdbLearnKnown(benchmark::State& state) {
    Filled filled(static_cast<size_t>(state.range(0)));
    Bursts bursts;
    size_t next = 0;
    for ([[maybe_unused]] const auto unused : state) {
        uint64_t hashes[kBurst];
        const Fdb::Key* burst = &filled.order[next];
        next = (next + kBurst) % filled.order.size();
        bursts.begin();
        prefetch(filled.fdb, burst, hashes);
        for (size_t i = 0; i < kBurst; ++i) {
            benchmark::DoNotOptimize(
                filled.fdb.learn(burst[i], hashes[i], 1, 0, [] { return true; }));
        }
        bursts.end(kBurst);
    }
    bursts.report(state);
}
BENCHMARK(FdbLearnKnown)->Arg(1)->Arg(1000)->Arg(10'000)->Arg(100'000);

/// New addresses into an empty table.
void FdbLearnNew(benchmark::State& state) {
    const auto keys = random_keys(100'000);
    Fdb fdb;
    Bursts bursts;
    for ([[maybe_unused]] const auto unused : state) {
        bursts.begin();
        for (const Fdb::Key key : keys)
            fdb.learn(key, fdb.hash(key), 1, 0, [] { return true; });
        bursts.end(keys.size());
        fdb.retire_if([](const Fdb::Entry&) { return true; });
        fdb.release();
    }
    bursts.report(state);
}
BENCHMARK(FdbLearnNew);

/// Keeps the frames it is given to send, so that they can be received again.
class NullPort : public port::Port {
 public:
    uint16_t receive(uint16_t, port::IoContext&, std::span<rte_mbuf*>) noexcept override {
        return 0;
    }
    void transmit(port::IoContext& io, std::span<rte_mbuf* const> frames) noexcept override {
        io.counters.tx_frames.add(frames.size());
        sent += frames.size();
    }
    int wakeup_fd(uint16_t) const noexcept override { return -1; }
    uint16_t queue_count() const noexcept override { return 1; }
    void refresh() noexcept override {}
    std::string down_reason() const override { return {}; }
    port::Result<void> set_mtu(uint16_t) override { return {}; }
    const char* driver() const noexcept override { return "null"; }
    uint64_t sent = 0;
};

/// Frames of 60 bytes of so many pairs of addresses, from one port to another. The frames are few
/// enough to stay in the cache, as a driver leaves them; addresses are written anew for each burst,
/// which is not counted.
void Switch(benchmark::State& state) {
    const auto pairs = static_cast<size_t>(state.range(0));
    static const packet::Pools pools = test::make_pools("bench");
    auto tables = std::make_unique<forwarding::Tables>();
    NullPort sink;
    forwarding::Bridge bridge;
    bridge.id = 1;
    bridge.fdb_limit = 1'000'000;
    bridge.flood = {1, 2};
    tables->publish(forwarding::BridgeId{1}, &bridge);
    forwarding::PortEntry entries[2];
    for (forwarding::PortId id = 1; id <= 2; ++id) {
        forwarding::PortEntry& entry = entries[id - 1];
        entry.id = id;
        entry.device = &sink;
        entry.counters = &tables->counters(id, 0);
        entry.untagged = id;
        tables->publish(forwarding::BridgePortId{id}, forwarding::BridgePort{id, 1, 0, false});
        tables->publish(id, &entry);
    }
    const auto addresses = random_keys(2 * pairs);
    for (size_t i = 0; i < pairs; ++i) {
        const Fdb::Key destination = addresses[2 * i + 1];
        tables->fdb.learn(destination, tables->fdb.hash(destination), 2, 0, [] { return true; });
    }
    port::ReceiveArena arena(pools);
    auto context = std::make_unique<pipeline::Context>(*tables, pools, arena, uint16_t{0});

    rte_mbuf* frames[kBurst];
    rte_pktmbuf_alloc_bulk(pools.small(), frames, kBurst);
    std::mt19937_64 random(3);
    std::vector<uint32_t> order(1 << 14);
    for (uint32_t& pair : order)
        pair = static_cast<uint32_t>(random() % pairs);

    Bursts bursts;
    size_t next = 0;
    for ([[maybe_unused]] const auto unused : state) {
        for (rte_mbuf* frame : frames) {
            rte_pktmbuf_reset(frame);
            frame->data_off = packet::kHeadroom;
            frame->data_len = 60;
            frame->pkt_len = 60;
            metadata(frame).clear();
            const uint32_t pair = order[next++ % order.size()];
            auto* bytes = rte_pktmbuf_mtod(frame, char*);
            const uint64_t destination = addresses[2 * pair + 1].mac();
            const uint64_t source = addresses[2 * pair].mac();
            std::memcpy(bytes, &destination, 6);
            std::memcpy(bytes + 6, &source, 6);
            bytes[12] = 8;
            bytes[13] = 0;
        }
        rte_mbuf* burst[kBurst];
        std::memcpy(burst, frames, sizeof(burst));
        bursts.begin();
        pipeline::switch_burst(*context, entries[0], burst);
        context->egress.flush();
        bursts.end(kBurst);
    }
    bursts.report(state);
    if (sink.sent != bursts.items()) state.SkipWithError("frames were flooded or lost");
    rte_pktmbuf_free_bulk(frames, kBurst);
}
BENCHMARK(Switch)->Arg(1)->Arg(1000)->Arg(10'000);

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
    heddle::test::init_eal();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
