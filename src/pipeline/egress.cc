#include "pipeline/egress.h"

#include <algorithm>
#include <span>

#include "net/ethernet.h"
#include "packet/checksum.h"
#include "packet/frame.h"

namespace heddle::pipeline {
namespace {

using forwarding::PortEntry;
using packet::DropReason;
using packet::Gso;
using packet::L4Checksum;
using packet::Metadata;

/// A network's own tag in front of a tenant's two. More are part of what the MTU limits: otherwise
/// a frame that is nothing but tags had no limit.
constexpr unsigned kMostTags = 3;

/// Bytes of link layer in front of the L3 packet, VLAN tags included.
uint32_t link_layer_bytes(const rte_mbuf* frame) noexcept {
    uint32_t bytes = sizeof(net::EthernetHeader);
    const auto* header = rte_pktmbuf_mtod(frame, const net::EthernetHeader*);
    uint16_t type = header->ethertype.value();
    for (unsigned tags = 0; tags < kMostTags && net::is_vlan_tag(type) &&
                            bytes + sizeof(net::VlanTag) <= frame->data_len;
         ++tags) {
        type = rte_pktmbuf_mtod_offset(frame, const net::VlanTag*, bytes)->ethertype.value();
        bytes += sizeof(net::VlanTag);
    }
    return bytes;
}

/// A superframe fits if its segments do: what counts is gso_size, never the length of the frame.
bool fits_mtu(const rte_mbuf* frame, uint16_t mtu) noexcept {
    if (packet::metadata(frame).gso != Gso::none) return packet::longest_segment(frame) <= mtu;
    return frame->pkt_len <= sizeof(net::EthernetHeader) + mtu ||
           frame->pkt_len - link_layer_bytes(frame) <= mtu;
}

/// No port is asked to cut a packet inside a tunnel.
bool can_segment(const port::Capabilities& capabilities, const Metadata& meta) noexcept {
    if (meta.inner_l4_offset != 0) return false;
    switch (meta.gso) {
        case Gso::none:
            return true;
        case Gso::tcp4:
            return capabilities.tso4;
        case Gso::tcp6:
            return capabilities.tso6;
        case Gso::udp4:
            return capabilities.uso4;
        case Gso::udp6:
            return capabilities.uso6;
    }
    return false;
}

}  // namespace

Egress::Egress(forwarding::Tables& tables, const packet::Pools& pools, port::ReceiveArena& arena,
               uint16_t worker)
    : tables_(tables),
      pools_(pools),
      arena_(arena),
      worker_(worker),
      buffers_(forwarding::kMaxPorts) {}

void Egress::flush_port(forwarding::PortId id, Buffer& buffer) noexcept {
    const std::span<rte_mbuf*> frames(buffer.frames, buffer.count);
    buffer.count = 0;
    packet::PortCounters& counters = tables_.counters(id, worker_);
    const PortEntry* entry = tables_.port(id);
    if (entry == nullptr || entry->device == nullptr || !entry->device->up()) [[unlikely]] {
        counters.drop(entry == nullptr ? DropReason::port_gone : DropReason::port_down,
                      frames.size());
        rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
        return;
    }

    port::Port& device = *entry->device;
    const port::Capabilities& capabilities = device.capabilities();
    port::IoContext io{pools_, arena_, counters, worker_};
    // Frames that are ready are moved to the front; what has to be segmented interrupts the run.
    size_t ready = 0;
    auto send_ready = [&] {
        if (ready != 0) device.transmit(io, frames.first(ready));
        ready = 0;
    };
    for (rte_mbuf* frame : frames) {
        const Metadata& meta = packet::metadata(frame);
        if (!fits_mtu(frame, entry->mtu)) [[unlikely]] {
            counters.drop(DropReason::tx_mtu);
            tables_.last_oversize_from(id).store(meta.ingress_port, std::memory_order_relaxed);
            rte_pktmbuf_free(frame);
            continue;
        }
        if (meta.gso != Gso::none) {
            if (!can_segment(capabilities, meta)) {
                send_ready();
                transmit_segmented(device, io, frame);
                continue;
            }
        } else if ((meta.l4_checksum == L4Checksum::partial ||
                    meta.inner_l4_checksum == L4Checksum::partial) &&
                   !capabilities.l4_checksum) {
            packet::complete_l4_checksum(frame);
        }
        frames[ready++] = frame;
    }
    send_ready();
}

void Egress::transmit_segmented(port::Port& device, port::IoContext& io, rte_mbuf* frame) noexcept {
    const auto count =
        packet::segment(frame, pools_, !device.capabilities().l4_checksum, segments_);
    if (!count) {
        io.counters.drop(count.error());
        return;
    }
    io.counters.replicated.add(*count - 1);
    const std::span<rte_mbuf*> segments(segments_.data(), *count);
    for (size_t sent = 0; sent < segments.size(); sent += port::kBurst) {
        device.transmit(
            io, segments.subspan(sent, std::min<size_t>(port::kBurst, segments.size() - sent)));
    }
}

}  // namespace heddle::pipeline
