// Software segmentation and checksum completion of one 64 KB superframe, laid out as a receive
// arena does it. Besides what src/packet does stands the way it does not: payload attached instead
// of copied.
//
// "hot" cuts the same superframe again and again, as if it had just been read from the kernel on
// this core; "cold" takes turns among 128 of them (8 MB).

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "packet/checksum.h"
#include "packet/frame.h"
#include "packet/segment.h"
#include "support/dpdk.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::packet {
namespace {

using test::ChecksumField;
using test::PacketModel;

const Pools& pools() {
    static const Pools pools = test::make_pools("bench");
    return pools;
}

constexpr size_t kHot = 1;
constexpr size_t kCold = 128;

enum class Kind { tcp4, tcp6, udp4 };
constexpr const char* name_of(Kind kind) {
    return kind == Kind::tcp4 ? "tcp4" : kind == Kind::tcp6 ? "tcp6" : "udp4";
}

/// Superframes that survive being freed once per take().
class Superframes {
 public:
    Superframes(Kind kind, uint16_t gso_size, size_t count) {
        PacketModel model{.v6 = kind == Kind::tcp6, .udp = kind == Kind::udp4};
        if (!model.udp) model.tcp_options = test::tcp_timestamps();
        std::mt19937 random(1);
        model.payload = test::random_bytes(random, 65000);
        bytes_ = model.payload.size();
        for (size_t i = 0; i < count; ++i) {
            frames_.push_back(test::make_frame(pools(), model.bytes(ChecksumField::partial),
                                               test::arena_split()));
            metadata(frames_.back().get()) = model.metadata(L4Checksum::partial, gso_size);
        }
    }

    rte_mbuf* take() {
        rte_mbuf* frame = frames_[next_].get();
        next_ = next_ + 1 == frames_.size() ? 0 : next_ + 1;
        for (rte_mbuf* s = frame; s != nullptr; s = s->next)
            rte_mbuf_refcnt_update(s, 1);
        return frame;
    }
    int64_t payload() const { return static_cast<int64_t>(bytes_); }

 private:
    std::vector<test::FramePtr> frames_;
    size_t next_ = 0;
    size_t bytes_ = 0;
};

using Cutter = uint32_t (*)(rte_mbuf*, std::span<rte_mbuf*>);

template <bool kComplete>
uint32_t copy(rte_mbuf* frame, std::span<rte_mbuf*> out) {
    return segment(frame, pools(), kComplete, out).value_or(0);
}

/// Not used by Heddle: segments of a header buffer and references to the superframe's payload,
/// header edits left out. Nobody reads the payload, so this is what it would cost at best, towards
/// an egress that completes checksums.
uint32_t attach(rte_mbuf* frame, std::span<rte_mbuf*> out) {
    const Metadata& known = metadata(frame);
    const uint32_t count = segment_count(frame);
    if (rte_pktmbuf_alloc_bulk(pools().small(), out.data(), count) != 0) return 0;
    rte_mbuf* from = frame;
    uint32_t offset = known.payload_offset;
    for (rte_mbuf* head : out.first(count)) {
        head->data_off = kHeadroom;
        metadata(head) = known;
        std::memcpy(rte_pktmbuf_append(head, known.payload_offset), rte_pktmbuf_mtod(frame, void*),
                    known.payload_offset);
        rte_mbuf* tail = head;
        for (uint32_t left = known.gso_size; left != 0 && from != nullptr;) {
            rte_mbuf* part = rte_pktmbuf_alloc(pools().small());
            rte_pktmbuf_attach(part, from);
            const auto bytes =
                static_cast<uint16_t>(std::min<uint32_t>(left, from->data_len - offset));
            part->data_off = static_cast<uint16_t>(from->data_off + offset);
            part->data_len = bytes;
            tail->next = part;
            tail = part;
            ++head->nb_segs;
            head->pkt_len += bytes;
            left -= bytes;
            offset += bytes;
            if (offset == from->data_len) {
                from = from->next;
                offset = 0;
            }
        }
    }
    rte_pktmbuf_free(frame);
    return count;
}

void cut(benchmark::State& state, Cutter cutter, Kind kind, uint16_t gso_size, size_t frames) {
    Superframes superframes(kind, gso_size, frames);
    auto storage = std::make_unique<rte_mbuf*[]>(kMaxSegments);
    const std::span out(storage.get(), kMaxSegments);
    uint32_t count = 0;
    for ([[maybe_unused]] auto _ : state) {
        count = cutter(superframes.take(), out);
        benchmark::DoNotOptimize(out.data());
        rte_pktmbuf_free_bulk(out.data(), count);
    }
    if (count == 0) state.SkipWithError("not segmented");
    state.counters["segments"] = count;
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * superframes.payload());
}

void complete(benchmark::State& state, size_t frames) {
    Superframes superframes(Kind::tcp4, 0, frames);
    for ([[maybe_unused]] auto _ : state) {
        rte_mbuf* frame = superframes.take();
        metadata(frame).l4_checksum = L4Checksum::partial;
        complete_l4_checksum(frame);
        rte_pktmbuf_free(frame);
    }
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * superframes.payload());
}

void register_all() {
    struct Way {
        const char* name;
        Cutter cutter;
        std::vector<Kind> kinds;
    };
    for (const Way& way :
         {Way{"copy_and_complete", copy<true>, {Kind::tcp4, Kind::tcp6, Kind::udp4}},
          Way{"copy_partial", copy<false>, {Kind::tcp4, Kind::tcp6, Kind::udp4}},
          Way{"attach", attach, {Kind::tcp4}}}) {
        for (const Kind kind : way.kinds) {
            for (const uint16_t gso_size : {1448, 8948}) {
                for (const size_t frames : {kHot, kCold}) {
                    const std::string name = std::string("segment/") + way.name + "/" +
                                             name_of(kind) + "/" + std::to_string(gso_size) +
                                             (frames == kHot ? "/hot" : "/cold");
                    benchmark::RegisterBenchmark(name.c_str(), cut, way.cutter, kind, gso_size,
                                                 frames);
                }
            }
        }
    }
    benchmark::RegisterBenchmark("complete_l4_checksum/hot", complete, kHot);
    benchmark::RegisterBenchmark("complete_l4_checksum/cold", complete, kCold);
}

}  // namespace
}  // namespace heddle::packet

int main(int argc, char** argv) {
    heddle::packet::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
