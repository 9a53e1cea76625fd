// What a longest-prefix match costs, without packets: bursts of 64 addresses, at random among so
// many destinations that have a route. Counters: TSC cycles per address (the median of the
// bursts); bytes: of the arena per prefix; held: with its gaps.
//
//     lpm_bench --benchmark_filter=Bulk
#include <benchmark/benchmark.h>
#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "forwarding/lpm.h"

namespace heddle {
namespace {

using forwarding::Lpm;
using forwarding::LpmArena;
using forwarding::NextHopId;
using net::Ipv4Address;
using net::Ipv4Prefix;
using net::Ipv6Address;
using net::Ipv6Prefix;

using Random = std::mt19937_64;

Ipv4Prefix ipv4(uint64_t bits, unsigned length) {
    return Ipv4Prefix(Ipv4Address(net::be32_t(static_cast<uint32_t>(bits))), length).network();
}

Ipv6Address ipv6(uint64_t high, uint64_t low) {
    const std::array<uint64_t, 2> halves = {__builtin_bswap64(high), __builtin_bswap64(low)};
    return Ipv6Address(std::bit_cast<std::array<uint8_t, 16>>(halves));
}

// ---- Routes

/// Lengths as in a full Internet table of IPv4: 60 % /24, the rest /23 and shorter, few longer.
/// Addresses up to 223.255.255.255; half of them lie close together, as allocations do.
Ipv4Prefix internet4(Random& random) {
    static const std::array<unsigned, 34> kWeights = {
        0,  0,   0,   0,   0,   0,    0,    0,    1,  1,  1,  1,  3,  6,  12, 20, 130,
        80, 140, 250, 430, 500, 1000, 1000, 6100, 30, 30, 30, 30, 50, 50, 5,  50, 0};
    static std::discrete_distribution<unsigned> lengths(kWeights.begin(), kWeights.end());
    const uint64_t dense = (1 + random() % 223) << 24 | (random() % 256 * 37 % 64) << 18;
    const uint64_t bits = random() % 2 == 0 ? random() % 0xe0000000 : dense | random() % (1 << 18);
    return ipv4(bits, lengths(random));
}

Ipv4Prefix random24(Random& random) {
    return ipv4(random(), 24);
}

/// /32 to /64 anywhere in 2000::/3.
Ipv6Prefix random6(Random& random) {
    const auto length = static_cast<unsigned>(32 + random() % 33);
    return Ipv6Prefix(ipv6((random() >> 3) | uint64_t{1} << 61, 0), length).network();
}

/// As registries and sites give them out: /32 in few /12, /48 in those, /64 in those.
Ipv6Prefix allocated6(Random& random) {
    static constexpr std::array<uint64_t, 6> kRegions = {0x200, 0x240, 0x260, 0x280, 0x2a0, 0x2c0};
    const uint64_t region = kRegions[random() % kRegions.size()] << 52;
    const uint64_t provider = (random() % 3000 * 8) << 32;
    const uint64_t site = (random() % 2000) << 16;
    static constexpr std::array<unsigned, 8> kLengths = {32, 48, 48, 48, 40, 44, 64, 56};
    const unsigned length = kLengths[random() % kLengths.size()];
    return Ipv6Prefix(ipv6(region | provider | site | (random() & 0xff), 0), length).network();
}

template <typename Address>
using Make = net::Prefix<Address> (*)(Random&);

template <typename Address>
std::vector<net::Prefix<Address>> prefixes(size_t count, Make<Address> make) {
    Random random(1);
    std::map<net::Prefix<Address>, bool> known;
    std::vector<net::Prefix<Address>> result;
    while (result.size() < count) {
        const auto prefix = make(random);
        if (known.emplace(prefix, true).second) result.push_back(prefix);
    }
    return result;
}

template <typename Address>
void load(Lpm<Address>& table, LpmArena& arena, const std::vector<net::Prefix<Address>>& routes) {
    NextHopId next_hop = 0;
    for (const auto& prefix : routes) {
        table.set(prefix, ++next_hop);
        if (arena.retired_bytes() > 4'000'000) arena.reclaim();
    }
    arena.reclaim();
}

/// Tables of a million routes take a while to make: each is made once.
template <typename Address>
struct Filled {
    Filled(size_t count, Make<Address> make) : routes(prefixes<Address>(count, make)) {
        load(table, arena, routes);
    }
    LpmArena arena;
    Lpm<Address> table{arena};
    std::vector<net::Prefix<Address>> routes;
};

template <typename Address>
const Filled<Address>& filled(size_t count, Make<Address> make) {
    static std::map<std::pair<size_t, Make<Address>>, std::unique_ptr<Filled<Address>>> known;
    auto& entry = known[{count, make}];
    if (!entry) entry = std::make_unique<Filled<Address>>(count, make);
    return *entry;
}

// ---- Destinations

Ipv4Address host_in(const Ipv4Prefix& prefix, Random& random) {
    const uint64_t hosts = (uint64_t{1} << (32 - prefix.length())) - 1;
    return Ipv4Address(
        net::be32_t(prefix.address().value() | static_cast<uint32_t>(random() & hosts)));
}

Ipv6Address host_in(const Ipv6Prefix& prefix, Random& random) {
    const uint64_t high = __builtin_bswap64(prefix.address().half(0));
    const uint64_t hosts = prefix.length() >= 64 ? 0 : ~uint64_t{0} >> prefix.length();
    return ipv6(high | (random() & hosts), random());
}

/// So many distinct addresses below random routes, asked for in random order.
template <typename Address>
std::vector<Address> destinations(const std::vector<net::Prefix<Address>>& routes, size_t count) {
    Random random(2);
    std::vector<Address> hosts;
    for (size_t i = 0; i < count; ++i)
        hosts.push_back(host_in(routes[random() % routes.size()], random));
    std::vector<Address> order;
    for (size_t i = 0; i < 1 << 16; ++i)
        order.push_back(hosts[random() % count]);
    return order;
}

// ---- Measuring

/// Measures piece by piece and reports the median per item, which neighbours on the machine and
/// interrupts leave alone.
class Pieces {
 public:
    void begin() { start_ = rte_rdtsc_precise(); }
    void end(size_t items) {
        const uint64_t cycles = rte_rdtsc_precise() - start_;
        if (samples_.size() < kMost) {
            samples_.push_back(static_cast<double>(cycles) / static_cast<double>(items));
        }
    }
    void report(benchmark::State& state) {
        if (samples_.empty()) return;
        const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2);
        std::nth_element(samples_.begin(), middle, samples_.end());
        state.counters["cycles"] = *middle;
    }

 private:
    static constexpr size_t kMost = 1 << 20;
    uint64_t start_ = 0;
    std::vector<double> samples_;
};

template <typename Address>
void report_memory(benchmark::State& state, const Filled<Address>& routes) {
    const auto count = static_cast<double>(routes.table.size());
    state.counters["bytes"] = static_cast<double>(routes.arena.bytes_in_use()) / count;
    state.counters["held"] = static_cast<double>(routes.arena.bytes_held()) / count;
}

/// Arguments: routes, destinations.
template <typename Address>
void Bulk(benchmark::State& state, Make<Address> make) {
    constexpr size_t kBurst = Lpm<Address>::kBurst;
    const auto& routes = filled<Address>(static_cast<size_t>(state.range(0)), make);
    const auto order = destinations<Address>(routes.routes, static_cast<size_t>(state.range(1)));
    std::array<NextHopId, kBurst> out;
    Pieces bursts;
    size_t next = 0;
    uint64_t missed = 0;
    for (auto _ : state) {
        const std::span<const Address> burst(&order[next], kBurst);
        next = (next + kBurst) % order.size();
        bursts.begin();
        routes.table.lookup(burst, out);
        benchmark::DoNotOptimize(out);
        benchmark::ClobberMemory();
        bursts.end(kBurst);
        missed += out[0] == forwarding::kNoNextHop;
    }
    bursts.report(state);
    report_memory(state, routes);
    if (missed != 0) state.SkipWithError("an address with a route found none");
}

/// One after the other.
template <typename Address>
void Single(benchmark::State& state, Make<Address> make) {
    constexpr size_t kBurst = Lpm<Address>::kBurst;
    const auto& routes = filled<Address>(static_cast<size_t>(state.range(0)), make);
    const auto order = destinations<Address>(routes.routes, static_cast<size_t>(state.range(1)));
    Pieces pieces;
    size_t next = 0;
    for (auto _ : state) {
        const Address* burst = &order[next];
        next = (next + kBurst) % order.size();
        pieces.begin();
        for (size_t i = 0; i < kBurst; ++i)
            benchmark::DoNotOptimize(routes.table.lookup(burst[i]));
        pieces.end(kBurst);
    }
    pieces.report(state);
}

/// Nothing but a default route.
template <typename Address>
void OneRoute(benchmark::State& state) {
    LpmArena arena;
    Lpm<Address> table(arena);
    table.set({}, 1);
    Random random(3);
    std::array<Address, Lpm<Address>::kBurst> burst;
    for (Address& address : burst)
        address = host_in(net::Prefix<Address>(), random);
    std::array<NextHopId, Lpm<Address>::kBurst> out;
    Pieces bursts;
    for (auto _ : state) {
        bursts.begin();
        table.lookup(burst, out);
        benchmark::DoNotOptimize(out);
        benchmark::ClobberMemory();
        bursts.end(burst.size());
    }
    bursts.report(state);
}

/// Cycles per route to add them all to an empty table, and to take them all away.
template <typename Address>
void Load(benchmark::State& state, Make<Address> make) {
    const auto& routes = filled<Address>(static_cast<size_t>(state.range(0)), make).routes;
    for (auto _ : state) {
        LpmArena arena;
        Lpm<Address> table(arena);
        const uint64_t start = rte_rdtsc_precise();
        load(table, arena, routes);
        const uint64_t added = rte_rdtsc_precise();
        for (const auto& prefix : routes) {
            table.erase(prefix);
            if (arena.retired_bytes() > 4'000'000) arena.reclaim();
        }
        const uint64_t erased = rte_rdtsc_precise();
        const auto count = static_cast<double>(routes.size());
        state.counters["set"] = static_cast<double>(added - start) / count;
        state.counters["erase"] = static_cast<double>(erased - added) / count;
    }
}

/// Cycles to add and to replace the default route of a table: it reaches every slot of the root.
void DefaultRoute(benchmark::State& state) {
    LpmArena arena;
    Lpm<Ipv4Address> table(arena);
    load(table, arena, prefixes<Ipv4Address>(static_cast<size_t>(state.range(0)), internet4));
    Pieces pieces;
    NextHopId next_hop = 0;
    for (auto _ : state) {
        pieces.begin();
        table.set({}, ++next_hop);
        pieces.end(1);
    }
    pieces.report(state);
}

const std::vector<std::vector<int64_t>> kTables = {{10, 1000, 10'000, 100'000, 1'000'000},
                                                   {1000, 10'000}};

BENCHMARK(OneRoute<Ipv4Address>);
BENCHMARK(OneRoute<Ipv6Address>);
BENCHMARK_CAPTURE(Bulk, ipv4_internet, internet4)->ArgsProduct(kTables);
BENCHMARK_CAPTURE(Bulk, ipv4_24, random24)->Args({1'000'000, 10'000});
BENCHMARK_CAPTURE(Bulk, ipv6_random, random6)->ArgsProduct(kTables);
BENCHMARK_CAPTURE(Bulk, ipv6_allocated, allocated6)->ArgsProduct(kTables);
BENCHMARK_CAPTURE(Single, ipv4_internet, internet4)->ArgsProduct(kTables);
BENCHMARK_CAPTURE(Single, ipv6_allocated, allocated6)->ArgsProduct(kTables);
BENCHMARK_CAPTURE(Load, ipv4_internet, internet4)->Arg(1'000'000)->Iterations(1);
BENCHMARK_CAPTURE(Load, ipv6_random, random6)->Arg(1'000'000)->Iterations(1);
BENCHMARK_CAPTURE(Load, ipv6_allocated, allocated6)->Arg(1'000'000)->Iterations(1);
BENCHMARK(DefaultRoute)->Arg(1000)->Arg(10'000);

}  // namespace
}  // namespace heddle

BENCHMARK_MAIN();
